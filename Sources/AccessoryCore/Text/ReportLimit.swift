/// Limits how many messages of one kind are reported: only the first few in each period of ten seconds. Further
/// messages are only counted.
///
/// ```
///   quiet ── message ──▶ counting: reports until ``most``, then counts ── 10 s later ──▶ quiet, or reports the count
/// ```
///
/// Invariant: there is a deadline only while some messages have been counted but not reported.
package struct MessageRate: Equatable, Sendable {
  /// The period over which messages are counted.
  package static let period = Duration.seconds(10)
  package static let most = 10

  private var start: Instant?
  private var reported = 0
  /// How many messages in this period were counted but not reported.
  package private(set) var held = 0

  package init() {}

  /// The time at which to call ``handleTimeout(now:)``.
  package var deadline: Instant? { held > 0 ? start.map { $0 + Self.period } : nil }

  /// Counts a message. Returns true if the message should be reported.
  package mutating func note(now: Instant) -> Bool {
    if held == 0, start.map({ $0 + Self.period <= now }) ?? true { (start, reported) = (now, 0) }
    if reported < Self.most {
      reported += 1
      return true
    }
    held += 1
    return false
  }

  /// Call this method at ``deadline``; it returns the number of unreported messages. If any messages were unreported,
  /// the next period starts immediately and reports no individual messages, so that a flood causes only one line every
  /// ten seconds.
  package mutating func handleTimeout(now: Instant) -> Int {
    guard let deadline, deadline <= now else { return 0 }
    return take(startingAgainAt: now)
  }

  /// Returns the number of unreported messages, even before the period ends.
  package mutating func take(startingAgainAt now: Instant) -> Int {
    defer { (start, held) = (now, 0) }
    return held
  }
}

/// Reports messages of one kind on a loop: at most ten every ten seconds, followed by the number of unreported
/// messages.
///
/// ```swift
/// let refusals = ReportLimit("refused devices", on: loop) { print($0) }
/// refusals.report("refused process 4711 of user 1001: …")     // after ten of them, ten seconds later:
///                                                             // "and 1,240 more refused devices in the last 10 s"
/// ```
package final class ReportLimit {
  private let what: String
  private let loop: any EventLoop
  private let log: (String) -> Void
  private var rate = MessageRate()
  private var timer: LoopTimer?
  private var countedSince: Instant?

  /// Creates a limit for one kind of message; `what` is the plural noun that follows the count, as in "12 more refused
  /// devices".
  package init(_ what: String, on loop: any EventLoop, log: @escaping (String) -> Void) {
    self.what = what
    self.loop = loop
    self.log = log
  }

  deinit { timer?.cancel() }

  package func report(_ text: @autoclosure () -> String) {
    if rate.note(now: loop.now) { return log(text()) }
    if countedSince == nil { countedSince = loop.now }
    armTimer()
  }

  /// Reports the count immediately, because the source of the messages has ended.
  package func flush() {
    timer?.cancel()
    reportCount(rate.take(startingAgainAt: loop.now))
  }

  private func armTimer() {
    guard let deadline = rate.deadline else { return }
    let timer = timer ?? loop.makeTimer { [unowned self] in timeCame() }
    self.timer = timer
    timer.arm(at: deadline)
  }

  private func timeCame() {
    reportCount(rate.handleTimeout(now: loop.now))
    armTimer()
  }

  private func reportCount(_ count: Int) {
    guard count > 0, let since = countedSince else { return }
    countedSince = nil
    let seconds = max(1, Int((loop.now - since).inSeconds.rounded(.up)))
    log("and \(count.groupedDigits) more \(what) in the last \(seconds) s")
  }
}

/// Keeps the first thousand sentences in order and only counts later ones, because a mistake may be repeated endlessly.
package struct BoundedLog: Sendable {
  static let most = 1_000

  private var first: [String] = []
  private var furtherCount = 0

  package init() {}

  /// The sentences that were kept, followed by one that gives the number of dropped sentences.
  package var texts: [String] {
    furtherCount == 0 ? first : first + ["and \(furtherCount) more, which were not kept"]
  }

  package mutating func add(_ text: String) {
    if first.count < Self.most { first.append(text) } else { furtherCount += 1 }
  }
}
