import AccessoryCore

/// A load test's plan as files have it: `easim burst --plan FILE`.
///
/// ```json5
/// {
///   size: 500, sessions: 2, inFlight: 4,
///   phases: [
///     { name: 'ramp', for: '10s', from: 0, rate: 50 },
///     { name: 'steady', for: '60s', rate: 50 },
///     { name: 'spike', for: '2s', rate: 400 },
///   ],
///   failIf: ['p99>50ms', 'errors>0.1%'],
/// }
/// ```
public struct BurstPlanFile: Equatable, Sendable {
  /// The parts of the plan, one after the other.
  public var phases: [BurstPhase] = []
  /// Bytes of a burst.
  public var size = 10_000
  /// Sessions to each accessory.
  public var sessions = 1
  /// The largest number of bursts in flight on each session.
  public var inFlight = 1
  /// How long bursts are not measured at the start; part of the phases.
  public var warmUp = Duration.zero
  /// Whether the run continues when an accessory comes back.
  public var reconnects = false
  /// Whether overdue bursts are allowed.
  public var allowsOverdue = false
  /// When the run fails.
  public var limits: [BurstLimit] = []

  /// No phases yet.
  public init() {}

  /// Reads a file; the error has everything that is wrong with it, each with its line and column.
  public init(_ bytes: [UInt8], file: String) throws(SourceProblems) {
    let tree: JSON5Value
    do { tree = try JSON5.read(bytes, file: file) } catch { throw SourceProblems([error]) }
    self = try Self.format.read(tree)
  }

  /// The plan; what the file does not say is as in `plan`.
  public func laid(over plan: BurstPlan) -> BurstPlan {
    var plan = plan
    plan.payload = .unique(size: size)
    (plan.sessions, plan.inFlight, plan.warmUp) = (sessions, inFlight, warmUp)
    plan.reconnects = plan.reconnects || reconnects
    plan.allowsOverdue = plan.allowsOverdue || allowsOverdue
    plan.limits += limits
    plan.pace = .phases(phases)
    let length = phases.reduce(Duration.zero) { $0 + $1.length }
    plan.extent = .time(length - warmUp)
    return plan
  }

  /// The format of the file.
  package static let format = Record("load plan", "the plan of a load test", BurstPlanFile()) {
    Field(
      "phases", \.phases, .list(of: .object(BurstPhase.format), count: 1...50), "its parts, one after the other",
      isRequired: true)
    Field("size", \.size, .integer(1...(64 << 20)), "bytes of a burst")
    Field("sessions", \.sessions, .integer(1...1_000), "sessions with each accessory")
    Field("inFlight", \.inFlight, .integer(1...10_000), "most unanswered bursts on each session")
    Field("warmUp", \.warmUp, .duration, "how long bursts are verified and not measured, at the start of the phases")
    Field("reconnect", \.reconnects, .boolean, "continue when an accessory comes back")
    Field("allowOverdue", \.allowsOverdue, .boolean, "let the run pass though bursts did not begin in time")
    Field("failIf", \.limits, .list(of: .limit, count: 0...100), "fail when one of these holds: `p99>50ms`")
  }.checked { file, object in
    if !file.phases.isEmpty, file.phases.reduce(0, { $0 + $1.bursts }) < 1 {
      object.error("phases", "no burst is due in them: give one a higher rate, or make it longer")
    }
    let length = file.phases.reduce(Duration.zero) { $0 + $1.length }
    if !file.phases.isEmpty, file.warmUp >= length {
      object.error(
        "warmUp", "is not shorter than the phases, which take \(DurationText.format(length)): nothing would be measured"
      )
    }
    if length > DurationText.longest { object.error("phases", "together they take more than a year") }
  }
}

extension BurstPhase {
  /// The format of a phase.
  package static let format = Record("phase", "a part of a load test", BurstPhase()) {
    Field("name", \.name, .text(TextShape(length: 0...40)), "what reports call it")
    Field("for", \.length, .duration(.milliseconds(1)...DurationText.longest), "how long it takes", isRequired: true)
    Field(
      "from", \.from, .optional(.number(0...1e6)),
      "bursts a second at its start, from where it changes evenly; as `rate` when left out")
    Field("rate", \.rate, .number(0...1e6), "bursts a second, at its end; 0 for a pause", isRequired: true)
  }
}
