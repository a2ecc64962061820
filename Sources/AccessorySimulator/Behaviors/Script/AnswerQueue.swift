import AccessoryCore
import AccessoryProfiles

enum ScriptStep: Equatable {
  case send(ArraySlice<UInt8>)
  /// Performs an action other than sending bytes in the script's own session. Indirect because actions are large and
  /// rare.
  indirect case act(ScriptAction)
}

/// An action in a script, other than sending bytes in the script's own session.
enum ScriptAction: Equatable {
  /// Sends bytes in the sessions of a protocol. Each session's script frames the bytes, unless `isUnframed` is set.
  case forward(to: String, [UInt8], isUnframed: Bool)
  case enter(String)
  case close(String)
  case accessory(AccessoryAction)
}

/// Holds answers until they are due, in the order of their requests.
///
/// An answer is sent once its delay has passed and all earlier answers have been sent, as if the accessory handled one
/// request at a time. An answer with a short delay therefore never overtakes an earlier answer, and only the first
/// answer needs to be checked.
struct AnswerQueue {
  /// When this many answers are waiting, no more requests are read. A device that does not read answers therefore
  /// blocks only its own session.
  static let mostAnswers = 4_096
  static let mostBytes = 1_048_576

  private struct Entry {
    var step: ScriptStep
    var due: Instant
  }

  private var answers: [Entry] = []
  private var first = 0
  private var byteCount = 0

  var isFull: Bool { count >= Self.mostAnswers || byteCount >= Self.mostBytes }

  var count: Int { answers.count - first }

  var deadline: Instant? { count == 0 ? nil : answers[first].due }

  mutating func add(_ bytes: [UInt8], at due: Instant) {
    guard !bytes.isEmpty else { return }
    answers.append(Entry(step: .send(bytes[...]), due: due))
    byteCount += bytes.count
  }

  mutating func add(_ action: ScriptAction, at due: Instant) {
    answers.append(Entry(step: .act(action), due: due))
    if case .forward(_, let bytes, _) = action { byteCount += bytes.count }
  }

  func due(at now: Instant) -> ScriptStep? {
    count > 0 && answers[first].due <= now ? answers[first].step : nil
  }

  mutating func took(_ count: Int) {
    guard case .send(var rest) = answers[first].step else { return }
    byteCount -= count
    rest = rest.dropFirst(count)
    answers[first].step = .send(rest)
    if rest.isEmpty { dropFirst() }
  }

  mutating func didAct() {
    if case .act(.forward(_, let bytes, _)) = answers[first].step { byteCount -= bytes.count }
    dropFirst()
  }

  private mutating func dropFirst() {
    first += 1
    if first == answers.count {
      answers.removeAll(keepingCapacity: true)
      first = 0
    } else if first >= 64, first * 2 > answers.count {
      answers.removeFirst(first)
      first = 0
    }
  }
}
