/// Reports messages of one kind on a loop: at most ten every ten seconds, followed by the number of unreported
/// messages. While a flood of messages continues, it causes only one line every ten seconds.
///
/// ```swift
/// let refusals = ReportLimit("refused devices", on: loop) { print($0) }
/// refusals.report("refused process 4711 of user 1001: …")     // after ten of them, ten seconds later:
///                                                             // "and 1,240 more refused devices in the last 10 s"
/// ```
///
/// Invariant: the timer is armed only while some messages have been counted but not reported.
package final class ReportLimit {
  /// The period over which messages are counted.
  static let period = Duration.seconds(10)
  package static let most = 10

  private let what: String
  private let loop: any EventLoop
  private let log: (String) -> Void
  /// When the current period ends.
  private var end = Instant.origin
  private var reported = 0
  /// How many messages in this period were counted but not reported, and when the first of them came.
  private var held = 0
  private var heldSince = Instant.origin
  private var timer: LoopTimer?

  /// Creates a limit for one kind of message; `what` is the plural noun that follows the count, as in "12 more refused
  /// devices".
  package init(_ what: String, on loop: any EventLoop, log: @escaping (String) -> Void) {
    self.what = what
    self.loop = loop
    self.log = log
  }

  deinit { timer?.cancel() }

  package func report(_ text: @autoclosure () -> String) {
    if held == 0, loop.now >= end { (end, reported) = (loop.now + Self.period, 0) }
    if reported < Self.most {
      reported += 1
      return log(text())
    }
    if held == 0 {
      heldSince = loop.now
      let timer = timer ?? loop.makeTimer { [unowned self] in reportCount() }
      self.timer = timer
      timer.arm(at: end)
    }
    held += 1
  }

  /// Reports the count immediately, because the source of the messages has ended.
  package func flush() {
    timer?.cancel()
    reportCount()
  }

  /// Reports the count and starts the next period, which reports no individual messages if there was a count.
  private func reportCount() {
    defer { (end, held) = (loop.now + Self.period, 0) }
    if held == 0 { return }
    let seconds = max(1, Int((loop.now - heldSince).inSeconds.rounded(.up)))
    log("and \(held.groupedDigits) more \(what) in the last \(seconds) s")
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
