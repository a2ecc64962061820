import AccessoryCore
import AccessorySessions
import AccessorySimulator

/// The record of one world: broken rules, corners reached, and the hash of everything that happened.
final class SoakRecord {
  /// More would explain nothing further.
  private static let most = 20

  private(set) var violations: [SoakViolation] = []
  var coverage = SoakCoverage()
  var hash = RunningHash()
  var leaks = LeakWatch()
  /// Where the bytes of the streams are made.
  let scratch = UniqueScratch()
  /// What plays an echo; a test has others, which must be found out.
  var echo: any AccessoryBehavior = EchoBehavior()
  private(set) var publications = PublicationWatch()
  /// How often a link went down at either end, including resets by the device.
  private(set) var linkDowns = 0

  /// Whether there was an event since this was last reset.
  var hasNews = false

  /// A rule was broken.
  func violation(_ rule: SoakRule, _ text: @autoclosure () -> String, at time: Instant) {
    if violations.count < Self.most { violations.append(SoakViolation(rule: rule, time: time, text: text())) }
  }

  func saw(_ event: TimelineEvent) {
    hasNews = true
    hash.add(UInt64(bitPattern: event.time.nanoseconds))
    hash.add(event.kind.name)
    hash.add(UInt64(truncatingIfNeeded: event.subject?.connectionID ?? 0))
    if let wrong = publications.saw(event) { violation(wrong.rule, wrong.text, at: event.time) }
    switch (event.side, event.kind) {
    case (_, .link(isUp: false, _)), (.device, .fault): linkDowns += 1
    default: break
    }
    guard event.side == .device else { return }
    switch event.kind {
    case .connect: coverage[event.subject?.protocols.isEmpty == true ? .emptyConnect : .connect] += 1
    case .sessionOpen: coverage[.sessionOpened] += 1
    default: break
    }
  }
}
