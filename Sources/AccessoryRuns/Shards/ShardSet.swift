import AccessoryFormats

/// The set of a run's shards that a report contains. An undivided run and the sum of all shards have a complete set.
public struct ShardSet: Equatable, Sendable {
  /// A run that is not divided, or all shards of a divided run.
  public static let whole = ShardSet(.whole)

  /// The number of shards in the run.
  public private(set) var count: Int
  /// The shards in the report, as ordered ranges with gaps between them.
  private var ranges: [ClosedRange<Int>]

  /// Creates the set of a single shard.
  public init(_ shard: Shard) {
    (count, ranges) = (shard.count, [shard.index...shard.index])
  }

  /// Creates a set; nil if the values do not form a valid set.
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

  /// The shard, if there is only one.
  public var only: Shard? { present == 1 ? Shard(ranges[0].lowerBound, of: count) : nil }

  /// How many shards the report contains.
  public var present: Int { ranges.reduce(0) { $0 + $1.count } }

  /// How many shards are missing.
  public var missingCount: Int { count - present }

  /// Returns the first missing shards.
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

  /// Returns how much of a run's total belongs to this report.
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
      guard let last = all.last else {
        all.append(range)
        continue
      }
      if range.lowerBound <= last.upperBound, let twice = Shard(range.lowerBound, of: count) { throw .twice(twice) }
      if range.lowerBound == last.upperBound + 1 {
        all[all.count - 1] = last.lowerBound...range.upperBound
      } else {
        all.append(range)
      }
    }
    ranges = all
    normalize()
  }

  /// Replaces the set of all shards with the set of an undivided run, because both describe the same report.
  private mutating func normalize() {
    if present == count { self = .whole }
  }

  /// The shards as text, for example "shard 3/8" or "shards 1-4 and 6 of 8"; empty for a whole run.
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

  /// A message that states which shards are missing from the sum of several reports, and what the user can do about it;
  /// nil if no shard is missing.
  public var missingText: String? {
    guard missingCount > 0 else { return nil }
    var names = missing(atMost: 20).map(\.description)
    if missingCount > names.count { names.append("\(missingCount - names.count) more") }
    return
      "\(missingCount.counted("shard")) of \(count) missing: \(names.joined(separator: ", ")); run each again with "
      + "--shard and --report, and merge the results with the existing ones"
  }
}

extension ShardSet {
  /// A message that states which shards of the whole run are missing from the sum of reports; nil for a single shard,
  /// whose report is complete.
  public var gap: String? { only == nil ? missingText : nil }
}

/// Why the reports of two runs cannot be added together.
public enum ReportSumError: Error, Equatable, Sendable, CustomStringConvertible {
  /// One of the reports already covers a whole run: the run was not divided, or the report contains all shards.
  case wholeRun
  /// The runs were divided into different numbers of shards.
  case otherDivision(Int, Int)
  case twice(Shard)
  /// The reports belong to different runs; the text states how they differ.
  case otherRun(String)
  case tooMuchCounted
  /// The merged report would have too many entries; the text explains why.
  case tooMany(String)

  /// A sentence that describes what is wrong.
  public var description: String {
    switch self {
    case .wholeRun: "only shards of one run can be merged, but one of these reports covers a whole run"
    case .otherDivision(let one, let other): "the reports are of \(one) shards and of \(other) shards"
    case .twice(let shard): "shard \(shard) is in two reports"
    case .otherRun(let difference): "these are shards of different runs: \(difference)"
    case .tooMuchCounted: "the counts of the reports add up to more than \(CountSum.most)"
    case .tooMany(let text): text
    }
  }
}

/// A sum of non-negative counts, which becomes nil once it exceeds ``most``.
public struct CountSum: Sendable {
  /// The maximum sum of all counts in a report. Because of this limit, neither the counts of one report nor those of
  /// two reports can overflow an integer.
  public static let most = 1 << 56

  /// The sum; nil once it exceeds ``most``.
  public private(set) var value: Int? = 0

  /// Creates a sum of zero.
  public init() {}

  /// Adds a count.
  public mutating func add(_ count: Int) {
    guard let sum = value else { return }
    value = count <= Self.most - sum ? sum + count : nil
  }
}

// MARK: - In reports

extension Format<ShardSet> {
  /// The shards of a report: how many the run has, and which of them the report contains. The report of an undivided
  /// run does not mention shards.
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

    static let format = Record("shards", "the run's shards in this report", Section()) {
      Field("of", \.count, .integer(1...Shard.most), "number of shards of the run", isRequired: true)
      Field(
        "done", \.ranges, .list(of: .list(of: .integer(1...Shard.most), count: 2...2), count: 1...Shard.most),
        "the shards in the report, as ranges from a first to a last number", isRequired: true)
    }

    init() {}

    init(_ set: ShardSet) {
      (count, ranges) = (set.count, set.pairs)
    }

    var set: ShardSet? {
      guard ranges.allSatisfy({ $0.count == 2 && $0[0] <= $0[1] }) else { return nil }
      return ShardSet(count: count, ranges: ranges.map { $0[0]...$0[1] })
    }
  }
}

extension ShardSet {
  fileprivate var pairs: [[Int]] { ranges.map { [$0.lowerBound, $0.upperBound] } }
}
