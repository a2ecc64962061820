import AccessoryCore

/// Answers that are due, in the order of their requests.
///
/// An answer goes out when its delay is over and every answer before it has gone: a short delay never overtakes a long
/// one, as in an accessory that works on one request at a time: only the first answer is ever looked at.
struct AnswerQueue {
  /// With so many answers, or bytes of them, no more requests are read: a device that asks for ever and waits for
  /// nothing is held back by its own session.
  static let mostAnswers = 4_096
  static let mostBytes = 1_048_576

  private struct Answer {
    var bytes: ArraySlice<UInt8>
    var due: Instant
  }

  private var answers: [Answer] = []
  private var first = 0
  private var byteCount = 0

  /// Whether requests should be left unread for now.
  var isFull: Bool { count >= Self.mostAnswers || byteCount >= Self.mostBytes }

  /// How many answers wait.
  var count: Int { answers.count - first }

  /// When the next answer goes out; nil when none waits.
  var deadline: Instant? { count == 0 ? nil : answers[first].due }

  /// Adds an answer to a request that came `now`.
  mutating func add(_ bytes: [UInt8], delay: Duration, now: Instant) {
    guard !bytes.isEmpty else { return }
    answers.append(Answer(bytes: bytes[...], due: now + delay))
    byteCount += bytes.count
  }

  /// What is left of the first answer, when its time has come.
  func due(at now: Instant) -> ArraySlice<UInt8>? {
    count > 0 && answers[first].due <= now ? answers[first].bytes : nil
  }

  /// `count` bytes of the first answer are sent.
  mutating func took(_ count: Int) {
    byteCount -= count
    answers[first].bytes = answers[first].bytes.dropFirst(count)
    if answers[first].bytes.isEmpty { dropFirst() }
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
