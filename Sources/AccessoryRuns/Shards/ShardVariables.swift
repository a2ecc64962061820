import AccessoryFormats

/// The shard selected by environment variables. CI systems and job schedulers use these variables to number the copies
/// of a job.
///
/// ```swift
/// let found = try ShardVariables { environment[$0] }
/// found.shard      // 3/8, or nil
/// found.note       // "shard 3/8, as CI_NODE_INDEX=3 and CI_NODE_TOTAL=8 say; --shard 1/1 runs everything"
/// ```
public struct ShardVariables: Equatable, Sendable {
  /// The shard, or nil if the run is not divided.
  public var shard: Shard?
  /// A note for the user, or nil if no shard is selected by the environment.
  public var note: String?

  private struct Engine {
    let index: String
    let count: String
    /// The number of a job's first copy, unless ``firstName`` names a variable that gives the number.
    var first = 0
    var firstName: String?
    var stepName: String?
  }

  private static let engines = [
    // Kubernetes tells each pod of an Indexed Job only the pod's index, so users must set EASIM_SHARDS themselves.
    Engine(index: "JOB_COMPLETION_INDEX", count: "EASIM_SHARDS"),
    Engine(index: "CI_NODE_INDEX", count: "CI_NODE_TOTAL", first: 1),
    Engine(
      index: "SLURM_ARRAY_TASK_ID", count: "SLURM_ARRAY_TASK_COUNT", firstName: "SLURM_ARRAY_TASK_MIN",
      stepName: "SLURM_ARRAY_TASK_STEP"),
  ]

  /// The names of the variables, for use in help and documentation.
  public static let names = engines.flatMap { [$0.index, $0.count] }

  /// Looks for a shard in the environment. `value` returns the value of a variable.
  ///
  /// - Throws: an error that names the variable and says what is wrong with it.
  public init(_ value: (String) -> String?) throws(OptionError) {
    var found: [(shard: Shard, text: String)] = []
    var halves: [String] = []
    for engine in Self.engines {
      let (index, count) = (Self.text(engine.index, value), Self.text(engine.count, value))
      guard let index, let count else {
        if let index { halves.append("\(engine.index)=\(index) gives the shard, but \(engine.count) is not set") }
        // GitLab sets the total to 1 for jobs that are not split.
        if index == nil, let count, count != "1" {
          halves.append("\(engine.count)=\(count) gives the number of shards, but \(engine.index) is not set")
        }
        continue
      }
      let shard = try Self.shard(engine, index, count, value)
      if !shard.isWhole { found.append((shard, "\(engine.index)=\(index) and \(engine.count)=\(count)")) }
    }
    if found.count > 1 {
      throw OptionError(
        "\(found.map(\.text).joined(separator: ", and ")) both number this job: choose the shard with --shard I/N")
    }
    if let found = found.first {
      shard = found.shard
      note = "shard \(found.shard), because of \(found.text); --shard 1/1 runs everything"
    } else if let half = halves.first {
      note = "\(half): everything is run"
    }
  }

  private static func text(_ name: String, _ value: (String) -> String?) -> String? {
    value(name).flatMap { $0.isEmpty ? nil : Excerpt.of($0) }
  }

  private static func shard(
    _ engine: Engine, _ index: String, _ count: String, _ value: (String) -> String?
  ) throws(OptionError) -> Shard {
    func number(_ name: String, _ text: String, _ least: Int) throws(OptionError) -> Int {
      // This limit is higher than any number used by these systems, and low enough that sums cannot overflow.
      if let number = Shard.number(text), least...1 << 40 ~= number { return number }
      throw OptionError(
        "\(name)=\(text): expected a whole number, at least \(least); or choose the shard with --shard I/N")
    }
    let total = try number(engine.count, count, 1)
    if total > Shard.most { throw OptionError("\(engine.count)=\(count): there may be at most \(Shard.most) shards") }
    var first = engine.first
    if let name = engine.firstName, let text = text(name, value) { first = try number(name, text, 0) }
    var step = 1
    if let name = engine.stepName, let text = text(name, value) { step = try number(name, text, 1) }
    let place = try number(engine.index, index, 0) - first
    guard place >= 0, place % step == 0, let shard = Shard(place / step + 1, of: total) else {
      throw OptionError(
        "\(engine.index)=\(index): with \(engine.count)=\(count), expected \(first) to \(first + (total - 1) * step); "
          + "--shard I/N sets the shard")
    }
    return shard
  }
}
