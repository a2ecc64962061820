import AccessoryFormats
import AccessoryRuns

/// One phase of a load test: a duration and a rate, which is constant or changes evenly.
public struct BurstPhase: Equatable, Sendable {
  /// The phase's name, such as "ramp", "steady" or "spike".
  public var name = ""
  /// The phase's duration.
  public var length = Duration.seconds(10)
  /// Bursts per second at the beginning of the phase; nil means the same rate as at the end.
  public var from: Double?
  /// Bursts per second at the end of the phase.
  public var rate = 1.0

  /// Creates a phase of ten seconds at one burst per second.
  public init() {}

  var start: Double { from ?? rate }
  /// The number of bursts that are due in this phase, which may be a fraction.
  var bursts: Double { (start + rate) / 2 * length.inSeconds }

  /// Text such as "0 to 50 bursts/s for 10s".
  var text: String {
    let rates = start == rate ? Self.number(rate) : "\(Self.number(start)) to \(Self.number(rate))"
    return "\(name.isEmpty ? "" : "\(name) ")\(rates) bursts/s for \(DurationText.format(length))"
  }

  private static func number(_ rate: Double) -> String {
    FixedText.text(rate, places: rate == rate.rounded() ? 0 : 2)
  }
}

/// Calculates when each burst is due in a plan with several phases.
///
/// Invariant: bursts are due in the order of their numbers, and all of them before ``length``.
struct BurstTimetable: Equatable, Sendable {
  private struct Part: Equatable {
    let start: Double
    let length: Double
    let from: Double
    let rise: Double
    let before: Double
    let bursts: Double
  }

  private let parts: [Part]
  let length: Double
  let count: Int

  init(_ phases: [BurstPhase], share: Double = 1) {
    var parts: [Part] = []
    var (time, bursts) = (0.0, 0.0)
    for phase in phases {
      let seconds = phase.length.inSeconds
      parts.append(
        Part(
          start: time, length: seconds, from: phase.start * share, rise: (phase.rate - phase.start) * share / seconds,
          before: bursts, bursts: phase.bursts * share))
      time += seconds
      bursts += phase.bursts * share
    }
    self.parts = parts
    length = time
    count = Int(min(bursts, 1e15).rounded(.up))
  }

  /// Returns when burst `number` is due, in seconds; nil if there are fewer bursts.
  func due(_ number: Int) -> Double? {
    let wanted = Double(number)
    guard let part = parts.first(where: { wanted < $0.before + $0.bursts }) else { return nil }
    let missing = max(0, wanted - part.before)
    // The rate rises evenly: bursts = from × t + rise × t² ÷ 2.
    let time: Double
    if abs(part.rise) < 1e-12 {
      time = missing / part.from
    } else {
      time = (max(0, part.from * part.from + 2 * part.rise * missing).squareRoot() - part.from) / part.rise
    }
    return part.start + min(max(0, time), part.length)
  }

  func phase(at seconds: Double) -> Int {
    parts.lastIndex { $0.start <= seconds } ?? 0
  }
}
