import AccessoryFormats

/// A file that contains the plan of a load test, for `easim burst --plan FILE`.
///
/// ```json5
/// {
///   size: 'uniform,from=10,to=2000', sessions: 2, inFlight: 4,
///   phases: [
///     { name: 'ramp', for: '10s', from: 0, rate: 50 },
///     { name: 'steady', for: '60s', rate: 50 },
///     { name: 'spike', for: '2s', rate: 400 },
///   ],
///   failIf: ['p99>50ms', 'errors>0.1%'],
/// }
/// ```
package struct BurstPlanFile: Equatable, Sendable {
  private(set) var plan = BurstPlan()
  /// The number of bursts if the plan has no phases.
  private var count: Int?
  /// The duration of the run if the plan has no phases.
  private var time: Duration?

  package private(set) var saysReplies = false

  private init() {}

  /// Reads a file. If the file is invalid, the error lists every mistake with its line and column.
  package init(_ bytes: [UInt8], file: String) throws(SourceProblems) {
    let tree: JSON5Value
    do { tree = try JSON5.read(bytes, file: file) } catch { throw SourceProblems([error]) }
    self = try Self.format.read(tree)
    if !plan.phases.isEmpty { plan.extent = .time(length - plan.warmUp) }
    if let count { plan.extent = .bursts(count) }
    if let time { plan.extent = .time(time) }
  }

  /// Returns the file's plan with the replies, permissions and limits that the command line adds.
  package func laid(over other: BurstPlan) -> BurstPlan {
    var plan = plan
    if !saysReplies { plan.verification = other.verification }
    plan.reconnects = plan.reconnects || other.reconnects
    plan.allowsOverdue = plan.allowsOverdue || other.allowsOverdue
    plan.allowsLost = plan.allowsLost || other.allowsLost
    plan.limits = other.limits + plan.limits
    return plan
  }

  private var length: Duration { plan.phases.reduce(.zero) { $0 + $1.length } }

  var sizes: Distribution<Int> {
    get { plan.requests.first?.sizes ?? .fixed(plan.payload.size) }
    set {
      if case .fixed(let size) = newValue {
        plan.payload = .unique(size: size)
      } else {
        // The command-line options about replies apply to these bursts.
        plan.requests = [BurstRequest(sizes: newValue)]
      }
    }
  }

  private var payloads: [BurstRequest] {
    get { saysReplies && !plan.isScript ? plan.requests : [] }
    set { (plan.requests, saysReplies) = (newValue, true) }
  }

  private var script: [BurstRequest] {
    get { plan.isScript ? plan.requests : [] }
    set { (plan.requests, plan.isScript, saysReplies) = (newValue, true, true) }
  }

  package static let format = Record("load plan", "the plan for a load test", BurstPlanFile()) {
    Field(passing: "$schema", .text, "the path of the JSON Schema, for editors")
    Field(
      "phases", \.plan.phases, .list(of: .object(BurstPhase.format), count: 1...50),
      "the phases, in order; each burst in a phase has a due time")
    Field(
      "for", \.time, .optional(.duration(.milliseconds(1)...DurationText.longest)),
      "without `phases`: how long to keep sending bursts, one after another")
    Field(
      "count", \.count, .optional(.integer(1...1_000_000_000)),
      "without `phases`: number of bursts to send, one after another")
    Field("size", \.sizes, .sizes, "bytes per burst, or a distribution of sizes")
    Field(
      "payloads", \.payloads, .list(of: .object(BurstRequest.mixFormat), count: 1...100),
      "instead of `size`: several kinds of bursts, chosen at random")
    Field(
      "script", \.script, .list(of: .object(BurstRequest.scriptFormat), count: 1...1_000),
      "instead of `size`: requests that each session sends in order, repeatedly")
    Field(
      "think", \.plan.think, .optional(.times),
      "how long a session pauses after each burst, or a distribution of pauses")
    Field(
      "accessories", \.plan.shares, .named(of: .number(0...1_000), atLeast: 1),
      "keyed by name, serial number or address: the factor that scales the phases' rate for the accessory; `'*'` "
        + "stands for all other accessories"
    )
    Field("sessions", \.plan.sessions, .integer(1...1_000), "number of sessions with each accessory")
    Field("inFlight", \.plan.inFlight, .integer(1...10_000), "maximum number of unanswered bursts in each session")
    Field(
      "warmUp", \.plan.warmUp, .duration,
      "time at the start of the phases during which bursts are verified but not measured")
    Field("reconnect", \.plan.reconnects, .boolean, "whether to continue when an accessory disconnects and comes back")
    Field(
      "allowLost", \.plan.allowsLost, .boolean, "with `reconnect`: whether the run can pass even if bursts were lost")
    Field("allowOverdue", \.plan.allowsOverdue, .boolean, "whether the run can pass even if bursts began late")
    Field(
      "failIf", \.plan.limits, .list(of: .limit, count: 0...100),
      "conditions under which the run fails, such as `p99>50ms`")
  }.checked { file, object in
    checkExtent(file, object)
    checkBursts(file, object)
  }

  private static func checkExtent(_ file: Self, _ object: ObjectReader) {
    let given = ["phases", "for", "count"].filter { object.value($0) != nil }
    if given.isEmpty { object.error("a plan needs 'phases', or 'for' or 'count' for bursts sent one after another") }
    for key in given.dropFirst() { object.error(key, "a plan can have only one of 'phases', 'for' and 'count'") }
    if object.value("phases") == nil {
      for key in ["accessories", "allowOverdue"] where object.value(key) != nil {
        object.error(key, "without 'phases' there is no rate")
      }
      return
    }
    let (phases, length) = (file.plan.phases, file.length)
    if !phases.isEmpty, phases.reduce(0, { $0 + $1.bursts }) < 1 {
      object.error("phases", "no burst is due during the phases: raise a rate or a duration")
    }
    if !phases.isEmpty, file.plan.warmUp >= length {
      object.error(
        "warmUp",
        "must be shorter than the phases, which take \(DurationText.format(length)): nothing would be measured"
      )
    }
    if length > DurationText.longest { object.error("phases", "the phases together take more than a year") }
  }

  private static func checkBursts(_ file: Self, _ object: ObjectReader) {
    let given = ["size", "payloads", "script"].filter { object.value($0) != nil }
    for key in given.dropFirst() { object.error(key, "a plan can have only one of 'size', 'payloads' and 'script'") }
    guard file.plan.inFlight > 1 else { return }
    if file.plan.think != nil || file.plan.requests.contains(where: { $0.think != nil }) {
      object.error("inFlight", "with think times, a session has one burst at a time: omit this")
    } else if !file.plan.requests.allSatisfy(\.isUniqueEcho) {
      object.error(
        "inFlight",
        "only bursts with a 'size' and an expected echo can be distinguished while several are in flight: omit this")
    }
  }
}

extension BurstPhase {
  package static let format = Record("phase", "a part of a load test", BurstPhase()) {
    Field("name", \.name, .text(TextShape(length: 0...40)), "the name shown in reports")
    Field("for", \.length, .duration(.milliseconds(1)...DurationText.longest), "the phase's duration", isRequired: true)
    Field(
      "from", \.from, .optional(.number(0...1e6)),
      "bursts per second at the start of the phase, changing linearly to `rate`; default: `rate`")
    Field(
      "rate", \.rate, .number(0...1e6), "bursts per second at the end of the phase; 0 for a pause", isRequired: true)
  }
}
