import AccessoryFaults
import AccessoryFormats
import AccessoryRuns

extension SoakReport {
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
