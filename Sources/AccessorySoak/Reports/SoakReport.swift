import AccessoryCore
import AccessoryFaults
import AccessoryFormats
import AccessoryRuns

/// The results for the worlds of many seeds, from a whole run of `easim soak` or from some of its shards.
///
/// Worlds run in virtual time, so nothing in the report depends on the machine or the clock. The merged report of all
/// shards is identical, byte for byte, to the report of a single run. The speed of the run is printed but not stored.
public struct SoakReport: Equatable, Sendable {
  /// A world that failed.
  public struct Failure: Equatable, Sendable {
    /// The world's seed.
    public var seed: UInt64 = 0
    /// The rules that the world broke.
    public var violations: [SoakViolation] = []
    /// The world after shrinking, which is done only for the first few failures.
    public var shrunk: Shrunk?
  }

  /// A failing world after shrinking.
  public struct Shrunk: Equatable, Sendable {
    /// The original world's size, as text.
    public var before = ""
    /// The shrunk world's size, as text.
    public var after = ""
    /// How many worlds were run while shrinking the failing world.
    public var worlds = 0
    /// The shrunk world, in the form of a scenario file.
    public var scenario = ""
  }

  static let mostFailures = 100
  /// A run with fewer random worlds than this is likely to miss some corner cases.
  private static let enoughForEveryCorner = 5_000

  /// The program and its version. Different versions may generate different worlds from the same seeds.
  public var program = ""
  /// The accessories' profile, as the user specified it, or nil for random accessories.
  public var profile: String?
  /// The forbidden corner cases.
  public var forbidden: [SoakCoverage.Corner] = []
  /// The first seed of the whole run.
  public var first: UInt64 = 0
  /// The number of seeds in the whole run.
  public var seeds = 0
  /// The shards that the report contains.
  public var shards = ShardSet.whole
  /// What stopped the run before all its worlds had run, for example "Ctrl-C", or nil if nothing did.
  public var stoppedBy: String?
  /// Whether the report passes even if it contains no worlds.
  public var allowsEmpty = false
  /// The number of worlds that were run.
  public var worlds = 0
  /// The number of worlds that failed.
  public var failureCount = 0
  /// The sum of the hashes of all worlds.
  public var hash: UInt64 = 0
  /// How many times each corner case was reached, and how many times each fault took effect.
  public var coverage = SoakCoverage()
  /// The first failures, ordered by seed.
  public var failures: [Failure] = []
  /// How long the run took in real time, which is not written to report files because it differs from run to run.
  public var took = Duration.zero

  init() {}

  /// Creates an empty report.
  public init(_ recipe: SoakRecipe) { (profile, forbidden) = (recipe.profile?.reference, recipe.forbidden) }

  /// Adds the result of a world.
  public mutating func add(_ outcome: SoakOutcome) {
    worlds += 1
    coverage += outcome.coverage
    hash &+= outcome.hash
    guard !outcome.violations.isEmpty else { return }
    failureCount += 1
    keep([Failure(seed: outcome.seed, violations: outcome.violations)])
  }

  mutating func count(_ other: SoakReport) {
    worlds += other.worlds
    failureCount += other.failureCount
    hash &+= other.hash
    coverage += other.coverage
    keep(other.failures)
  }

  private mutating func keep(_ more: [Failure]) {
    if more.isEmpty { return }
    failures = Array((failures + more).sorted { $0.seed < $1.seed }.prefix(Self.mostFailures))
  }

  /// Adds the description of the run after it has ended.
  ///
  /// - Parameters:
  ///   - first: the first seed of the whole run.
  ///   - seeds: the number of seeds in the whole run. For a run with a time limit, pass nil to use the number of seeds
  ///     that were run.
  ///   - stoppedBy: what stopped the run, if anything. A run that was stopped after its last seed is complete.
  public mutating func complete(
    first: UInt64, seeds: Int?, shard: Shard = .whole, stoppedBy: String? = nil, program: String
  ) {
    (self.first, self.seeds, shards, self.program) = (first, seeds ?? worlds, ShardSet(shard), program)
    if seeds == nil || worlds < shards.share(of: self.seeds) { self.stoppedBy = stoppedBy }
  }

  /// Adds the shrunk worlds to the failures with these seeds.
  public mutating func add(_ shrunk: [UInt64: Shrunk]) {
    for index in failures.indices { failures[index].shrunk = shrunk[failures[index].seed] }
  }

  // MARK: Verdict

  /// The corner cases that were never reached, although the whole run had enough random worlds to reach them.
  public var missing: [String] {
    let isWhole = profile == nil && forbidden.isEmpty && shards.isComplete
    return isWhole && worlds >= Self.enoughForEveryCorner ? coverage.missing : []
  }

  /// The verdict, which is a pass if every world was run, no rule was broken, and no corner case was missed.
  public var verdict: Verdict {
    var reasons = failureCount > 0 ? ["\(failureCount.counted("world")) failed"] : []
    if !missing.isEmpty { reasons.append("never reached: \(missing.joined(separator: ", "))") }
    return Verdict(
      wrong: reasons, stoppedBy: stoppedBy, gap: gap, nothing: worlds > 0 || allowsEmpty ? nil : nothing)
  }

  var nothing: String { "no world is in \(shards.text.isEmpty ? "the run" : shards.text)" }

  /// The reason why a shard is incomplete, or nil if it is complete.
  public var unfinished: String? {
    let share = shards.share(of: seeds)
    if worlds == share, stoppedBy == nil { return nil }
    let how = stoppedBy.map { "was stopped by \($0)" } ?? "ended"
    return "\(shards.text.isEmpty ? "the run" : shards.text) \(how) after \(worlds) of \(share.counted("world"))"
  }

  // MARK: Sums

  /// Merges a report on other shards of the same run into this report.
  public mutating func add(_ other: SoakReport) throws(ReportSumError) {
    let differences = [
      ("program", program, other.program), ("profile", profile ?? "none", other.profile ?? "none"),
      ("first seed", "\(first)", "\(other.first)"), ("number of seeds", "\(seeds)", "\(other.seeds)"),
      ("--forbid", Self.words(forbidden), Self.words(other.forbidden)),
    ]
    if let one = differences.first(where: { $0.1 != $0.2 }) { throw .otherRun("\(one.0) \(one.1), and \(one.2)") }
    guard let counted, let more = other.counted, more <= CountSum.most - counted else { throw .tooMuchCounted }
    try shards.add(other.shards)
    allowsEmpty = allowsEmpty && other.allowsEmpty
    count(other)
    for index in failures.indices.dropFirst(SoakShrinking.most) { failures[index].shrunk = nil }
  }

  private static func words(_ corners: [SoakCoverage.Corner]) -> String {
    corners.isEmpty ? "none" : corners.map(\.word).joined(separator: " ")
  }

  var counted: Int? {
    var sum = CountSum()
    sum.add(worlds)
    sum.add(failureCount)
    for count in coverage.all { sum.add(count) }
    return sum.value
  }

  /// One line with the number of worlds, the seeds and the results.
  public var headline: String {
    var text = "no world was completed: "
    if worlds > 0 { text = "\(worlds.counted("world")), \(seedsText): " }
    if worlds == 0, unfinished == nil { return nothing }
    text += failureCount > 0 ? "\(failureCount) failed" : worlds > 0 ? "all passed" : "nothing was checked"
    if !missing.isEmpty { text += "; never reached: \(missing.joined(separator: ", "))" }
    if let stoppedBy { text += "; stopped by \(stoppedBy)" }
    return text
  }

  private var seedsText: String {
    // If there are several shards, the headline shows the seeds of the whole run, because the seeds of the shards may
    // have gaps between them.
    let low = first + UInt64(shards.only?.share(of: seeds).lowerBound ?? 0)
    let count = shards.only == nil ? seeds : worlds
    let text = count == 1 ? "seed \(low)" : "seeds \(low) to \(low + UInt64(max(count, 1)) - 1)"
    return shards.text.isEmpty ? text : "\(text), \(shards.text)"
  }

  /// The text to print, which consists of the table of corner cases, the failures, and the verdict with the hash.
  public var text: String {
    (["\(coverage)"] + failures.map(text) + beyond + ["\(headline); hash \(hash)"]).joined(separator: "\n")
  }

  /// A line about the failures that are counted but not listed.
  public var beyond: [String] {
    let count = failureCount - failures.count
    return count > 0 ? ["and \(count) more failed worlds"] : []
  }

  private func text(of failure: Failure) -> String {
    guard let shrunk = failure.shrunk else { return line(of: failure) }
    return """
      \(line(of: failure))
        shrunk: \(shrunk.before) to \(shrunk.after), in \(shrunk.worlds) worlds
        as a scenario, for 'easim scenario run FILE.json5':

      \(shrunk.scenario)
      """
  }

  /// Returns a line about a failure, including the command that reproduces it.
  public func line(of failure: Failure) -> String {
    let first = failure.violations.first?.line ?? ""
    let command = SoakRecipe.command(replaying: failure.seed, profile: profile, forbidden: forbidden)
    return "seed \(failure.seed): \(first)\n  repeat: \(command)"
  }

  /// The report for CI servers. There is one test case for each rule, listing the seeds that broke it, and one for the
  /// corner cases that should have been reached.
  public var suite: ReportSuite {
    var rules = SoakRule.everywhere + forbidden.map { SoakRule.forbidden($0) }
    // A report written by a later version may contain unknown rules.
    for violation in failures.flatMap(\.violations) where !rules.contains(violation.rule) {
      rules.append(violation.rule)
    }
    var cases = rules.map { rule -> ReportCase in
      let broken = failures.filter { $0.violations.contains { $0.rule == rule } }
      guard let first = broken.first else { return ReportCase("soak", "rule: \(rule)", .passed) }
      let violation = first.violations.first { $0.rule == rule }
      let text = violation.map { "\($0)" } ?? ""
      return ReportCase(
        "soak", "rule: \(rule)",
        .failed(
          "\(broken.count.counted("world")) broke it, the first with seed \(first.seed): \(text)",
          details: broken.map(line).joined(separator: "\n")))
    }
    cases.append(
      ReportCase(
        "soak", "every case was reached",
        missing.isEmpty ? .passed : .failed("never reached: \(missing.joined(separator: ", "))")))
    cases += completeness("soak", all: "every world was played", some: "worlds", nothing: worlds == 0 ? nothing : nil)
    return ReportSuite("easim soak", time: took, cases, output: headline)
  }

  /// A description of the run, used as the title of a page.
  public var title: String { (["easim soak", profile].compactMap(\.self)).joined(separator: " ") }

  /// How many worlds were run, how many failed, how many corner cases were reached, and how many times faults took
  /// effect.
  public var figures: [ReportFigure] {
    [
      ReportFigure("worlds", worlds), ReportFigure("failed", failureCount, moreIsBetter: false),
      ReportFigure("corners reached", SoakCoverage.Corner.allCases.count { coverage[$0] > 0 }, moreIsBetter: true),
      ReportFigure("faults took effect", Fault.format.names.reduce(0) { $0 + coverage[fault: $1] }),
    ]
  }

  /// The failing worlds with their shrunk scenarios, and how many times each corner case was reached.
  public var sections: [PageSection] {
    let shrunk = failures.compactMap { failure in
      failure.shrunk.map {
        "<details><summary>\(MarkupText.escaped(line(of: failure)))</summary><pre>\(MarkupText.escaped($0.scenario))</pre>"
          + "</details>"
      }
    }
    let corners = SoakCoverage.Corner.allCases.map { [$0.name, coverage[$0].groupedDigits] }
    return [
      PageSection("Failing worlds, made smaller", shrunk.joined(separator: "\n")),
      PageSection("Corners of the protocol", PageTable.table(["corner", "reached"], corners, numbers: 1)),
      PageSection("Hash of all worlds", "<p>\(hash)</p>"),
    ].compactMap(\.self)
  }
}

extension SoakReport: Report {
  /// The value that identifies the format in report files.
  public static let kind = "soak report"
  /// The limits for report files: a hundred failures with twenty broken rules each, and ten scenarios.
  public static let limits = JSON5.Limits(bytes: 8 << 20, depth: 16)
  /// The keys in report files.
  public static let format = Record(kind, "the findings of an `easim soak` run", SoakReport()) {
    headerFields
    verdictFields
    Field("program", \.program, .text, "the program and its version", isRequired: true)
    Field("profile", \.profile, .optional(.text), "the profile of all accessories")
    Field("forbidden", \.forbidden, .list(of: .corner, count: 0...100), "what was forbidden")
    Field("first", \.first, .integer(0...UInt64(Int.max)), "the first seed of the whole run", isRequired: true)
    Field("seeds", \.seeds, .integer(0...1_000_000_000_000), "number of seeds of the whole run", isRequired: true)
    Field("shards", \.shards, .shards, "the shards in the report; absent for a whole run")
    Field("ending", \.stoppedBy, .ending, "`complete`, or `stopped by` and a signal", isRequired: true)
    Field("allowEmpty", \.allowsEmpty, .boolean, "whether the run passes even if no world was played")
    Field("worlds", \.worlds, .integer(0...1_000_000_000_000), "number of worlds played", isRequired: true)
    Field("failures", \.failureCount, .tally, "number of worlds that failed", isRequired: true)
    Field("hash", \.hash, .hash, "the sum of the hashes of all worlds", isRequired: true)
    Field(confirmed: "missing", .list(of: .text), "cases that should have been reached") { $0.missing }
    Field("coverage", \.coverage, .object(corners), "number of times each case was reached", isRequired: true)
    Field("faults", \.coverage, .object(faults), "number of times each fault took effect", isRequired: true)
    Field(
      "failed", \.failures, .list(of: .object(Failure.format), count: 0...mostFailures), "the first failures",
      isRequired: true)
  }.checked { report, object in
    if report.counted == nil {
      object.error("the counts of the report add up to more than \(CountSum.most)")
      return
    }
    let share = report.shards.share(of: report.seeds)
    if report.worlds > share || report.stoppedBy == nil && report.worlds < share {
      object.error("worlds", "has \(report.worlds.counted("world")), but a complete run of these seeds has \(share)")
    }
    let kept = min(report.failureCount, mostFailures)
    if report.failureCount > report.worlds || report.failures.count != kept {
      let listed = "\(report.failures.count) are listed in 'failed'"
      object.error("failures", "there are \(report.failureCount) of \(report.worlds.counted("world")), but \(listed)")
    }
    if report.failureCount == 0, let corner = report.forbidden.first(where: { report.coverage[$0] > 0 }) {
      object.error("failures", "is 0, but '\(corner.word)' was reached, which is forbidden")
    }
    let seeds = report.failures.map(\.seed)
    if zip(seeds, seeds.dropFirst()).contains(where: { $0 >= $1 })
      || !seeds.allSatisfy({ $0 >= report.first && $0 - report.first < UInt64(report.seeds) })
    {
      object.error("failed", "a seed appears twice, is out of order, or is not part of the run")
    }
  }

  private static let corners = Record("coverage", "number of times each case was reached", SoakCoverage()) {
    SoakCoverage.Corner.allCases.map { Field($0.word, \.[$0], .tally, $0.name, isRequired: true) }
  }

  private static let faults = Record("faults", "number of times each fault took effect", SoakCoverage()) {
    Fault.format.names.map { Field($0, \.[fault: $0], .tally, "", isRequired: true) }
  }
}

extension SoakReport.Failure {
  fileprivate static let format = Record("failure", "a world that failed", Self()) {
    Field("seed", \.seed, .integer(0...UInt64(Int.max)), "its seed", isRequired: true)
    Field(
      "violations", \.violations, .list(of: .object(SoakViolation.format), count: 1...1_000),
      "the broken rules", isRequired: true)
    Field("shrunk", \.shrunk, .optional(.object(SoakReport.Shrunk.format)), "the world made smaller")
  }
}

extension SoakViolation {
  fileprivate static let format = Record("violation", "a broken rule", Self(SoakRule(""), "")) {
    Field("rule", \.rule, .rule, "which rule", isRequired: true)
    Field("nanoseconds", \.time, .instant, "the world's time when it happened", isRequired: true)
    Field("text", \.text, .text, "what was seen", isRequired: true)
  }
}

extension SoakReport.Shrunk {
  fileprivate static let format = Record("shrunk", "a world made smaller", Self()) {
    Field("before", \.before, .text, "the size of the seed's world", isRequired: true)
    Field("after", \.after, .text, "its size", isRequired: true)
    Field("worlds", \.worlds, .tally, "number of worlds played to find the smaller one", isRequired: true)
    Field("scenario", \.scenario, .text, "the world as a scenario file", isRequired: true)
  }
}

extension Format<UInt64> {
  /// A hash is written as text because not every JSON reader supports 64-bit numbers.
  fileprivate static let hash = parsed(
    TextShape(pattern: "^[0-9]+$"), expected: "a hash: a 64-bit number", { UInt64($0) }, text: { "\($0)" })
}

extension Format<SoakRule> {
  /// Any word is accepted because later versions may add rules.
  fileprivate static let rule: Format = Format<String>.text.map(SoakRule.init, back: \.description)
}

extension Format<SoakCoverage.Corner> {
  fileprivate static let corner = words(SoakCoverage.Corner.allCases.map { ($0.word, $0) })
}
