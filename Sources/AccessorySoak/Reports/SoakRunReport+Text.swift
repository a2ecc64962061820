import AccessoryCore

extension SoakRunReport {
  /// One line: how many worlds, which seeds, and what came of them.
  public var headline: String {
    var text = "no world was completed: "
    if worlds > 0 { text = "\(worlds.counted("world")), \(seedsText): " }
    if worlds == 0, unfinished == nil { text = "no world is in \(shards.text.isEmpty ? "the run" : shards.text): " }
    text += failureCount == 0 ? "every rule held" : "\(failureCount) broke a rule"
    if !missing.isEmpty { text += "; never reached: \(missing.joined(separator: ", "))" }
    if ending != Self.complete { text += "; \(ending)" }
    return text
  }

  private var seedsText: String {
    // Of several shards, the seeds of the whole run: theirs have gaps.
    let low = first + UInt64(shards.only?.share(of: seeds).lowerBound ?? 0)
    let count = shards.only == nil ? seeds : worlds
    let text = count == 1 ? "seed \(low)" : "seeds \(low) to \(low + UInt64(max(count, 1)) - 1)"
    return shards.text.isEmpty ? text : "\(text), \(shards.text)"
  }

  /// What is printed: the table of corners, the failures, and the verdict with the hash.
  public var text: String {
    (["\(coverage)"] + failures.map(text) + beyond + ["\(headline); hash \(hash)"]).joined(separator: "\n")
  }

  /// Failures that are counted and not listed.
  public var beyond: [String] {
    let count = failureCount - failures.count
    return count > 0 ? ["and \(count) more worlds that broke a rule"] : []
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

  /// A failure with the command that repeats it.
  public func line(of failure: Failure) -> String {
    let first = failure.violations.first?.line ?? ""
    let command = SoakRecipe.command(replaying: failure.seed, profile: profile, forbidden: forbidden)
    return "seed \(failure.seed): \(first)\n  repeat: \(command)"
  }

  /// For CI servers: a case for each rule, with the seeds that broke it, and one for the corners that should have been
  /// reached.
  package func suite(time: Duration) -> JUnitSuite {
    var rules = SoakRule.everywhere.map(\.description) + forbidden.map { SoakRule.forbidden($0).description }
    // What a later version finds is not lost.
    for violation in failures.flatMap(\.violations) where !rules.contains(violation.rule) {
      rules.append(violation.rule)
    }
    var cases = rules.map { rule -> JUnitSuite.Case in
      let broken = failures.filter { $0.violations.contains { $0.rule == rule } }
      guard let first = broken.first else { return JUnitSuite.Case("soak", "rule: \(rule)", .passed) }
      let violation = first.violations.first { $0.rule == rule }
      let text = violation.map { "\($0.time.secondsText) \($0.text)" } ?? ""
      return JUnitSuite.Case(
        "soak", "rule: \(rule)",
        .failed(
          "\(broken.count.counted("world")) broke it, the first with seed \(first.seed): \(text)",
          details: broken.map(line).joined(separator: "\n")))
    }
    cases.append(
      JUnitSuite.Case(
        "soak", "every corner of the protocol was reached",
        missing.isEmpty ? .passed : .failed("never reached: \(missing.joined(separator: ", "))")))
    if worlds == 0, unfinished != nil || shards.isComplete {
      cases.append(JUnitSuite.Case("soak", "worlds", .failed(headline)))
    }
    if shards.only == nil, let missing = shards.missingText {
      cases.append(JUnitSuite.Case("soak", "shards", .skipped(missing)))
    }
    return JUnitSuite("easim soak", time: time, cases, output: headline)
  }

  /// For people: a row for each world that broke a rule, and one for each corner.
  package var html: String {
    var page = ResultPage(
      "easim soak: \(headline)", passed: passed, ["\(headline).", "Hash \(hash)."],
      columns: ["world or corner", "rule", "what happened"])
    for failure in failures {
      let first = failure.violations.first
      page.add(
        passed: false,
        ["seed \(failure.seed)", first?.rule ?? "", first.map { "\($0.time.secondsText) \($0.text)" } ?? ""],
        details: [line(of: failure)] + (failure.shrunk.map { [$0.scenario] } ?? []), summary: "how to repeat it")
    }
    for line in beyond { page.add(passed: false, [line, "", ""]) }
    for corner in SoakCoverage.Corner.allCases {
      page.add(passed: !missing.contains(corner.name), [corner.name, "", "reached \(coverage[corner]) times"])
    }
    return page.html
  }
}
