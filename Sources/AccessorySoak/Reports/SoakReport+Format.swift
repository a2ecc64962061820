import AccessoryFaults
import AccessoryFormats
import AccessoryRuns

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
