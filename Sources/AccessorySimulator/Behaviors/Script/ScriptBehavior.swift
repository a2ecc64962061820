import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import IAP2

/// Answers requests by rules: ``RequestMatcher`` finds the rule, ``AnswerQueue`` keeps the order and the delays.
///
/// A request that no rule has gets the default answer. Without one it gets none, and the timeline says so; so it does of
/// a request without an end, which counts as unknown.
public struct ScriptBehavior: AccessoryBehavior {
  private let script: Script

  /// A script.
  public init(_ script: Script) {
    self.script = script
  }

  /// A handler that answers.
  public func makeHandler(for session: Session, in context: BehaviorContext) -> any SessionHandler {
    Answerer(script, session, context)
  }

  private final class Answerer: SessionHandler {
    /// How many unanswered requests are reported one by one; further ones are only counted.
    private static let mostTold = 10

    private let script: Script
    private unowned let session: Session
    private let context: BehaviorContext
    private var matcher: RequestMatcher
    private var answers = AnswerQueue()
    private var timer: LoopTimer?
    private let sending = OneAtATime()
    private var unanswered = 0

    init(_ script: Script, _ session: Session, _ context: BehaviorContext) {
      self.script = script
      self.session = session
      self.context = context
      matcher = RequestMatcher(script)
      timer = context.loop.makeTimer { [unowned self] in send() }
    }

    func sessionIsReadable(_ session: Session) {
      read()
      send()
    }

    func sessionIsWritable(_ session: Session) { send() }

    private func read() {
      let now = context.loop.now
      // Until nothing is left: unread bytes are offered first, alone, and newer ones in the next round.
      while !answers.isFull, session.read({ answerRequests(in: $0, now) }) > 0 {}
    }

    /// Returns how many bytes were handled; when the answer queue is full, the rest stays unread.
    private func answerRequests(in bytes: RawSpan, _ now: Instant) -> Int {
      var offset = 0
      while !answers.isFull, let request = matcher.next(in: bytes, at: &offset) { answer(request, now) }
      return offset
    }

    private func answer(_ request: RequestMatcher.Request, _ now: Instant) {
      switch request {
      case .known(let rule):
        answers.add(script.rules[rule].response, delay: script.rules[rule].delay, now: now)
      case .unknown(let first, let count):
        if script.otherwise == nil { tellUnanswered(first, count) }
        answers.add(script.otherwise ?? [], delay: .zero, now: now)
      case .endless:
        context.warn(
          "a request passed \(RequestMatcher.longestRequest) bytes without its delimiter: "
            + "cut off, and dropped up to the next one")
        answers.add(script.otherwise ?? [], delay: .zero, now: now)
      }
    }

    private func send() {
      sending.run { sendWhatIsDue() }
    }

    private func sendWhatIsDue() {
      let wasFull = answers.isFull
      while let answer = answers.due(at: context.loop.now) {
        let taken = session.write(answer.span.bytes)
        answers.took(taken)
        // This answer and all later ones wait for room.
        if taken < answer.count { return }
      }
      // Requests that were left unread are not announced again.
      if wasFull, !answers.isFull { read() }
      if session.isOpen, let deadline = answers.deadline { timer?.arm(at: max(deadline, context.loop.now)) }
    }

    private func tellUnanswered(_ first: [UInt8], _ count: Int) {
      unanswered += 1
      guard unanswered <= Self.mostTold else { return }
      let more = count > first.count ? " …" : ""
      context.note("no rule answers the \(count)-byte request \(Hex.spaced(first))\(more)")
      if unanswered == Self.mostTold { context.note("further requests without an answer are only counted") }
    }

    func session(_ session: Session, endedWith end: SessionEnd) {
      timer?.cancel()
      if unanswered > Self.mostTold { context.note("\(unanswered) requests were not answered by any rule") }
      if answers.count > 0 { context.note("\(answers.count) answers were not sent any more") }
    }
  }
}

/// Answers waiting for their time, in the order of their requests.
///
/// An answer is sent when its delay is over and all earlier answers were sent, as in an accessory that works on one
/// request at a time. So a short delay does not overtake a long one, and only the first answer is looked at.
struct AnswerQueue {
  /// With this many answers, or bytes of answers, no more requests are read: a device that sends requests without
  /// reading the answers is stopped by its own session.
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

  /// The rest of the first answer, when its time has come.
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
