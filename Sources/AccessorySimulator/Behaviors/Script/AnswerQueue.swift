import AccessoryCore
import AccessoryProfiles

/// A due step of a script.
enum ScriptStep: Equatable {
  /// Sends these bytes.
  case send(ArraySlice<UInt8>)
  /// Performs an action other than sending in its own session. Stored separately, because it is large and rare.
  indirect case act(ScriptAction)
}

/// An action of a script other than sending in its own session.
enum ScriptAction: Equatable {
  /// Sends in the sessions of a protocol, whose scripts put it into their own frames unless it is sent unframed.
  case forward(to: String, [UInt8], isUnframed: Bool)
  /// Enters a state.
  case enter(String)
  /// Closes the session.
  case close(String)
  /// Makes the accessory perform an action.
  case accessory(AccessoryAction)
}

/// Answers waiting for their time, in the order of their requests.
///
/// An answer is sent when its delay has passed and all earlier answers are sent, as in an accessory that works on one
/// request at a time. A short delay therefore does not overtake a long one, and only the first answer needs to be
/// checked.
struct AnswerQueue {
  /// At this many answers, or bytes of answers, reading of requests stops: a device that sends requests without reading
  /// the answers blocks only its own session.
  static let mostAnswers = 4_096
  static let mostBytes = 1_048_576

  private struct Entry {
    var step: ScriptStep
    var due: Instant
  }

  private var answers: [Entry] = []
  private var first = 0
  private var byteCount = 0

  /// Whether requests should stay unread for now.
  var isFull: Bool { count >= Self.mostAnswers || byteCount >= Self.mostBytes }

  /// How many answers are waiting.
  var count: Int { answers.count - first }

  /// When the next answer is sent; nil if none is waiting.
  var deadline: Instant? { count == 0 ? nil : answers[first].due }

  /// Adds an answer that is sent at `due`.
  mutating func add(_ bytes: [UInt8], at due: Instant) {
    guard !bytes.isEmpty else { return }
    answers.append(Entry(step: .send(bytes[...]), due: due))
    byteCount += bytes.count
  }

  /// Adds an action that is performed at `due`.
  mutating func add(_ action: ScriptAction, at due: Instant) {
    answers.append(Entry(step: .act(action), due: due))
    if case .forward(_, let bytes, _) = action { byteCount += bytes.count }
  }

  /// The rest of the first answer, once its time has come.
  func due(at now: Instant) -> ScriptStep? {
    count > 0 && answers[first].due <= now ? answers[first].step : nil
  }

  /// Notes that `count` bytes of the first answer were sent.
  mutating func took(_ count: Int) {
    guard case .send(var rest) = answers[first].step else { return }
    byteCount -= count
    rest = rest.dropFirst(count)
    answers[first].step = .send(rest)
    if rest.isEmpty { dropFirst() }
  }

  /// Removes the first answer, an action that has been performed.
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
