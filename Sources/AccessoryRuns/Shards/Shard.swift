import AccessoryFormats

/// One part of a run that is divided into `count` parts. `index` is the number of the part, counted from 1. Each part
/// can be run by a different process or on a different machine.
///
/// ```swift
/// let shard = try Shard("3/8")
/// shard.share(of: 10_000)     // 2500..<3750
/// ```
///
/// Each item of a run belongs to exactly one shard.
public struct Shard: Hashable, Sendable, CustomStringConvertible {
  /// The maximum number of shards in a run.
  public static let most = 1_000_000
  /// The only shard of a run that is not divided.
  public static let whole = Shard(unchecked: 1, of: 1)

  /// The number of this part, counted from 1.
  public let index: Int
  /// The number of parts.
  public let count: Int

  /// Creates part `index` of `count`, or returns nil if the numbers are invalid.
  public init?(_ index: Int, of count: Int) {
    guard 1...Self.most ~= count, 1...count ~= index else { return nil }
    self.init(unchecked: index, of: count)
  }

  private init(unchecked index: Int, of count: Int) {
    (self.index, self.count) = (index, count)
  }

  /// Parses a shard such as `3/8`.
  public init(_ text: String) throws(OptionError) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { Self.number($0) }
    guard parts.count == 2, let index = parts[0], let count = parts[1] else {
      throw OptionError("expected I/N, such as 3/8: the third of eight shards")
    }
    guard let shard = Shard(index, of: count) else {
      throw OptionError(
        count > Self.most
          ? "there may be at most \(Self.most) shards" : "shards are numbered from 1: 1/8 to 8/8")
    }
    self = shard
  }

  /// Parses a number that consists only of digits, or returns nil if there are other characters, such as a sign or
  /// spaces.
  package static func number(_ text: some StringProtocol) -> Int? {
    text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(String(text)) : nil
  }

  /// Whether this is the only shard of the run.
  public var isWhole: Bool { count == 1 }

  /// Returns the range of `total` items that belongs to this shard. The sizes of any two shards differ by at most one
  /// item.
  public func share(of total: Int) -> Range<Int> {
    let total = max(0, total)
    func bound(_ shards: Int) -> Int { count.dividingFullWidth(total.multipliedFullWidth(by: shards)).quotient }
    return bound(index - 1)..<bound(index)
  }

  /// The shard as text, such as "3/8".
  public var description: String { "\(index)/\(count)" }
}

/// The shards that a report contains. The set is complete if the run is not divided, or if the reports of all its
/// shards have been merged.
public struct ShardSet: Equatable, Sendable {
  /// The complete set.
  public static let whole = ShardSet(.whole)

  /// The number of shards into which the run is divided.
  public private(set) var count: Int
  /// The shards in the report, as ranges in ascending order, with gaps between the ranges.
  fileprivate var ranges: [ClosedRange<Int>]

  /// Creates a set with a single shard.
  public init(_ shard: Shard) {
    (count, ranges) = (shard.count, [shard.index...shard.index])
  }

  init?(count: Int, ranges: [ClosedRange<Int>]) {
    guard 2...Shard.most ~= count, let first = ranges.first, let last = ranges.last, first.lowerBound >= 1,
      last.upperBound <= count,
      zip(ranges, ranges.dropFirst()).allSatisfy({ $0.upperBound < $1.lowerBound })
    else { return nil }
    (self.count, self.ranges) = (count, ranges)
    normalize()
  }

  /// Whether no shard is missing.
  public var isComplete: Bool { count == 1 }

  /// The shard if the set contains exactly one, or nil otherwise.
  public var only: Shard? { present == 1 ? Shard(ranges[0].lowerBound, of: count) : nil }

  /// How many shards the report contains.
  public var present: Int { ranges.reduce(0) { $0 + $1.count } }

  /// How many shards are missing.
  public var missingCount: Int { count - present }

  /// Returns the missing shards with the lowest numbers, but no more than `most`.
  public func missing(atMost most: Int) -> [Shard] {
    var found: [Shard] = []
    var next = 1
    for range in ranges + [count + 1...count + 1] {
      while next < range.lowerBound, found.count < most {
        if let shard = Shard(next, of: count) { found.append(shard) }
        next += 1
      }
      next = range.upperBound + 1
    }
    return found
  }

  /// Returns how many of a run's `total` items belong to the shards in this set.
  public func share(of total: Int) -> Int {
    ranges.reduce(0) { sum, range in
      guard let first = Shard(range.lowerBound, of: count), let last = Shard(range.upperBound, of: count) else {
        return sum
      }
      return sum + last.share(of: total).upperBound - first.share(of: total).lowerBound
    }
  }

  /// Adds other shards of the same run.
  public mutating func add(_ other: ShardSet) throws(ReportSumError) {
    guard !isComplete, !other.isComplete else { throw .wholeRun }
    guard count == other.count else { throw .otherDivision(count, other.count) }
    var all: [ClosedRange<Int>] = []
    for range in (ranges + other.ranges).sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = all.last, range.lowerBound <= last.upperBound, let twice = Shard(range.lowerBound, of: count) {
        throw .twice(twice)
      }
      if let last = all.last, range.lowerBound == last.upperBound + 1 {
        all[all.count - 1] = last.lowerBound...range.upperBound
      } else {
        all.append(range)
      }
    }
    ranges = all
    normalize()
  }

  /// If no shard is missing, replaces this set with that of an undivided run, so that complete sets are equal.
  private mutating func normalize() {
    if present == count { self = .whole }
  }

  /// The shards as text, such as "shard 3/8" or "shards 1-4 and 6 of 8", or an empty string for a whole run.
  public var text: String {
    if isComplete { return "" }
    if ranges.count == 1, ranges[0].count == 1 { return "shard \(ranges[0].lowerBound)/\(count)" }
    var shown = ranges.prefix(10).map { range in
      range.count == 1 ? "\(range.lowerBound)" : "\(range.lowerBound)-\(range.upperBound)"
    }
    if ranges.count > 10 { shown.append("others") }
    let last = shown.removeLast()
    let list = shown.isEmpty ? last : "\(shown.joined(separator: ", ")) and \(last)"
    return "shards \(list) of \(count)"
  }

  /// A message that lists the missing shards and says how to run them, or nil if no shard is missing.
  public var missingText: String? {
    guard missingCount > 0 else { return nil }
    var names = missing(atMost: 20).map(\.description)
    if missingCount > names.count { names.append("\(missingCount - names.count) more") }
    return
      "\(missingCount.counted("shard")) of \(count) missing: \(names.joined(separator: ", ")); run each of them again "
      + "with --shard and --report, and merge the new reports with the existing ones"
  }

  /// A message that lists the shards missing from a merged report, or nil for a single shard, whose report is complete
  /// on its own.
  public var gap: String? { only == nil ? missingText : nil }
}

/// The reason the reports of two runs cannot be merged.
public enum ReportSumError: Error, Equatable, Sendable, CustomStringConvertible {
  /// One of the reports already covers a whole run, so there is no shard to add.
  case wholeRun
  /// The reports belong to runs with different numbers of shards.
  case otherDivision(Int, Int)
  case twice(Shard)
  /// The reports belong to different runs. The text describes how the runs differ.
  case otherRun(String)
  case tooMuchCounted
  /// The merged report would have too many entries. The text gives details.
  case tooMany(String)

  /// A description of the error.
  public var description: String {
    switch self {
    case .wholeRun: "only shards of one run can be merged, but one of these reports covers a whole run"
    case .otherDivision(let one, let other): "one run was divided into \(one) shards, the other into \(other)"
    case .twice(let shard): "shard \(shard) is in two reports"
    case .otherRun(let difference): "these are shards of different runs: \(difference)"
    case .tooMuchCounted: "the counts of the reports add up to more than \(CountSum.most)"
    case .tooMany(let text): text
    }
  }
}

/// A sum of non-negative counts, or nil if the sum exceeds ``most``.
public struct CountSum: Equatable, Sendable {
  /// The maximum sum of all counts in a report, which is low enough that adding two reports cannot overflow an integer.
  public static let most = 1 << 56

  /// The sum, or nil if the sum exceeds ``most``.
  public private(set) var value: Int? = 0

  /// Creates a sum that is zero.
  public init() {}

  /// Adds a count.
  public mutating func add(_ count: Int) {
    guard let sum = value else { return }
    value = count <= Self.most - sum ? sum + count : nil
  }
}

// MARK: - In reports

extension Format<ShardSet> {
  /// A report's shards: how many shards the run has, and which ones the report contains. The reports of undivided runs
  /// do not have this section.
  public static let shards = Section.format.format.map {
    $0.set
  } otherwise: {
    "these shards are impossible"
  } back: {
    Section($0)
  }

  private struct Section: Equatable {
    var count = 1
    var ranges: [[Int]] = []

    static let format = Record("shards", "the shards that this report covers", Section()) {
      Field("of", \.count, .integer(1...Shard.most), "number of shards of the run", isRequired: true)
      Field(
        "done", \.ranges, .list(of: .list(of: .integer(1...Shard.most), count: 2...2), count: 1...Shard.most),
        "the shards in the report, as ranges from a first to a last number", isRequired: true)
    }

    init() {}

    init(_ set: ShardSet) {
      (count, ranges) = (set.count, set.ranges.map { [$0.lowerBound, $0.upperBound] })
    }

    var set: ShardSet? {
      guard ranges.allSatisfy({ $0.count == 2 && $0[0] <= $0[1] }) else { return nil }
      return ShardSet(count: count, ranges: ranges.map { $0[0]...$0[1] })
    }
  }
}

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
