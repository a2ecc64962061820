import AccessoryCore
import Glibc
import TestSupport

final class Soaker {
  struct Options {
    var minutes = 0.0
    var seed: UInt64 = 1
    var easim = ""
    var isJSON = false
    var keeps = false
    var media = Medium.allCases
  }

  private let options: Options
  private let folder = TemporaryFolder()
  private var couples: [Couple] = []
  private let begin = Soaker.now

  init(_ options: Options) throws {
    self.options = options
    folder.isKept = true
    // The retransmission timeout is short, so that a lost packet does not block traffic for long.
    for (name, behavior) in [("echo", "'echo'"), ("sink", "{ type: 'sink', check: true }")] {
      folder.write(
        """
        { version: 1, extends: '\(name)', behavior: \(behavior),
          link: { retransmissionTimeout: '200ms', cumulativeAcknowledgementTimeout: '20ms' } }
        """, to: "\(name).json5")
    }
    let setting = Couple.Setting(
      easim: options.easim, folder: folder.path, seed: options.seed, limit: "\(Int(options.minutes) + 10)m")
    for medium in options.media {
      for kind in Couple.Kind.allCases { couples.append(try Couple(medium, kind, setting, now: Self.now)) }
    }
  }

  func run(isStopped: () -> Bool, progress: (String) -> Void) throws -> Report {
    let end = begin + options.minutes * 60
    var nextSample = begin
    while Self.now < end, !isStopped() {
      let now = Self.now
      for couple in couples { try couple.tick(now: now) }
      if now >= nextSample {
        nextSample = now + 1
        for couple in couples { couple.sample() }
        progress(line(now))
      }
      Self.pause(milliseconds: 50)
    }
    leave()
    let report = Report(rows: couples, seconds: Self.now - begin, seed: options.seed, stopped: Self.now < end)
    // If there is a failure, the output is kept so that it can be examined.
    folder.isKept = options.keeps || !report.passed
    return report
  }

  var keptFolder: String? { folder.isKept ? folder.path : nil }

  private func line(_ now: Double) -> String {
    let kills = couples.map(\.tally.kills).reduce(0, +)
    let wrongs = couples.map(\.tally.wrongs.count).reduce(0, +)
    return "\(Int(now - begin)) of \(Int(options.minutes * 60)) s, \(kills) killed, \(wrongs) wrong"
  }

  /// Ends the hosts before the accessories, because users normally do not unplug an accessory that is in use.
  private func leave() {
    wait { $0.canBeAskedToLeave }
    for couple in couples { couple.askHostToLeave() }
    wait { $0.hasNoHost }
    for couple in couples { couple.askAccessoryToLeave() }
    wait { $0.hasNobody }
    for couple in couples { couple.conclude() }
  }

  private func wait(_ isDone: (Couple) -> Bool) {
    let limit = Self.now + 20
    while Self.now < limit, !couples.allSatisfy(isDone) { Self.pause(milliseconds: 20) }
  }

  // MARK: The system

  private static let clock = MonotonicClock()

  static var now: Double { clock.now.seconds }

  private static func pause(milliseconds: Int32) {
    poll(nil, 0, milliseconds)
  }
}
