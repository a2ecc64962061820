import AccessoryFormats
import AccessoryRuns
import Testing

@testable import AccessorySoak

/// Checks that a report does not change when it is written and read back, and that the shards' reports add up to the
/// report of the whole run.
@Suite struct SoakReportTests {
  private static func report(
    _ shard: Shard = .whole, seeds: Int = 60, first: UInt64 = 300, forbidden: [SoakCoverage.Corner] = [.windowFull],
    stopsAfter most: Int = .max
  ) async -> SoakReport {
    var recipe = SoakRecipe()
    recipe.forbidden = forbidden
    let share = shard.share(of: seeds)
    let crew = SoakCrew(
      recipe, from: first + UInt64(share.lowerBound), count: UInt64(min(share.count, most)), jobs: 2)
    await crew.play()
    var report = crew.report
    let shrinking = SoakShrinking(recipe, Array(report.failures.prefix(2)), jobs: 2)
    await shrinking.run()
    report.add(shrinking.shrunk)
    report.complete(
      first: first, seeds: seeds, shard: shard, stoppedBy: most == .max ? nil : "Ctrl-C", program: "easim test")
    return report
  }

  private static func read(_ text: String) throws -> SoakReport {
    try SoakReport(tree: try JSON5.read(text, file: "r.json"))
  }

  @Test func whatIsWrittenIsReadBackToTheSameReport() async throws {
    let report = await Self.report(try Shard("2/3"))
    #expect(report.failureCount > 0 && report.failures.first?.shrunk?.scenario.isEmpty == false)
    let again = try Self.read(report.json.text)
    #expect(again == report)
    #expect(again.json.text == report.json.text)
    #expect(again.text == report.text)
  }

  @Test(arguments: [2, 40]) func shardsAddUpToTheVeryBytesOfTheWhole(count: Int) async throws {
    let whole = await Self.report(seeds: 23, forbidden: [])
    var parts: [SoakReport] = []
    for index in (1...count).reversed() {
      let shard = try #require(Shard(index, of: count))
      let part = await Self.report(shard, seeds: 23, forbidden: [])
      #expect(part.unfinished == nil)
      parts.append(try Self.read(part.json.text))
    }
    var sum = parts.removeFirst()
    // Half of the reports are added up separately, so the test also adds one sum to another.
    var half: SoakReport?
    for (number, part) in parts.enumerated() {
      if number % 2 == 0 { try sum.add(part) } else if half == nil { half = part } else { try half?.add(part) }
    }
    if let half { try sum.add(half) }
    #expect(sum == whole)
    #expect(sum.json.text == whole.json.text)
  }

  @Test func failuresAreThoseOfTheWholeWhateverTheDivision() async throws {
    let whole = await Self.report()
    var sum = await Self.report(try Shard("3/3"))
    for text in ["1/3", "2/3"] { try sum.add(await Self.report(try Shard(text))) }
    #expect(sum.failureCount == whole.failureCount && sum.hash == whole.hash && sum.coverage == whole.coverage)
    #expect(sum.failures.map(\.seed) == whole.failures.map(\.seed))
    #expect(sum.failures.map(\.violations) == whole.failures.map(\.violations))
    #expect(sum.headline == whole.headline)
  }

  @Test func otherRunsAreNotAdded() async throws {
    let one = await Self.report(try Shard("1/2"), seeds: 4)
    let others = [
      (await Self.report(try Shard("2/2"), seeds: 5), "number of seeds 4, and 5"),
      (await Self.report(try Shard("2/2"), seeds: 4, first: 1), "first seed 300, and 1"),
      (await Self.report(try Shard("2/2"), seeds: 4, forbidden: []), "--forbid windowFull, and none"),
    ]
    for (other, difference) in others {
      var sum = one
      #expect(throws: ReportSumError.otherRun(difference)) { try sum.add(other) }
      #expect(sum == one)
    }
    var sum = one
    #expect(throws: ReportSumError.twice(try Shard("1/2"))) { try sum.add(one) }
  }

  @Test func oneShardNeedNotReachEveryCorner() async throws {
    var report = await Self.report(try Shard("1/2"), seeds: 20_000, forbidden: [], stopsAfter: 1)
    report.worlds = 10_000
    #expect(report.missing == [])
    report.shards = .whole
    #expect(!report.missing.isEmpty)
  }

  @Test func aRunThatWasStoppedHasNotPassed() async {
    let report = await Self.report(forbidden: [], stopsAfter: 8)
    #expect(
      report.headline.hasPrefix("8 worlds, seeds 300 to 307: ") && report.headline.hasSuffix("; stopped by Ctrl-C"))
    #expect(report.verdict == .stopped(by: "Ctrl-C"))
    #expect(report.json.text.contains("\"passed\":false,\"verdict\":\"stopped\",\"reasons\":[\"stopped by Ctrl-C\"]"))
    #expect(report.json.text.contains("\"seeds\":60"))
    #expect(report.html.contains("<h1>Stopped"))
    #expect(report.junit.contains("message=\"the run was stopped by Ctrl-C after 8 of 60 worlds\""))
  }

  @Test func aRunThatPlayedAllItsSeedsIsCompleteWhateverCameThen() async {
    let report = await Self.report(seeds: 8, first: 0, forbidden: [], stopsAfter: 8)
    #expect(report.stoppedBy == nil && report.verdict == .passed)
  }

  @Test func aShardWithoutWorldsIsEmptyUnlessThatIsAllowed() async throws {
    var report = await Self.report(try Shard("1/8"), seeds: 2, forbidden: [])
    #expect(report.verdict == .empty("no world is in shard 1/8"))
    #expect(report.junit.contains("<failure message=\"no world is in shard 1/8\"/>"))
    #expect(report.html.contains("<h1>Empty: "))
    report.allowsEmpty = true
    #expect(report.verdict == .passed)
    #expect(!report.junit.contains("<failure"))
    #expect(try Self.read(report.json.text) == report)
  }

  @Test func aSumThatLacksShardsHasNotPassed() async throws {
    var sum = await Self.report(try Shard("1/3"), seeds: 6, first: 0, forbidden: [])
    #expect(sum.verdict == .passed)
    try sum.add(await Self.report(try Shard("2/3"), seeds: 6, first: 0, forbidden: []))
    #expect(sum.verdict.word == "failed" && sum.verdict.reasons.first?.contains("missing: 3/3") == true)
    #expect(sum.junit.contains("<failure message=\"1 shard of 3 missing: 3/3"))
    #expect(sum.json.text.contains("\"passed\":false,\"verdict\":\"failed\"") && sum.html.contains("<h1>Failed: "))
  }

  @Test(arguments: [
    ("\"passed\":true", "\"passed\":false", "passed: is false"),
    ("\"verdict\":\"passed\"", "\"verdict\":\"failed\"", "verdict: is text 'failed'"),
    ("\"ending\":\"complete\"", "\"ending\":\"failed\"", "ending: 'failed' is not complete"),
    ("\"ending\":\"complete\"", "\"ending\":\"stopped by SIGTERM\"", "passed: is true"),
    ("\"worlds\":4", "\"worlds\":3", "worlds: has 3 worlds, but a complete run of these seeds has 4"),
    ("\"worlds\":4", "\"worlds\":0", "worlds: has 0 worlds, but a complete run of these seeds has 4"),
    (
      "\"seeds\":4,\"ending\":\"complete\",\"worlds\":4", "\"seeds\":0,\"ending\":\"complete\",\"worlds\":0",
      "passed: is true"
    ),
    ("\"failures\":0", "\"failures\":1", "failures: there are 1 of 4 worlds, but 0 are listed"),
    (
      "\"failed\":[]", "\"failed\":[{\"seed\":1,\"violations\":[{\"rule\":\"r\",\"nanoseconds\":1,\"text\":\"t\"}]}]",
      "failures: there are 0 of 4 worlds, but 1 are listed"
    ),
    (
      "\"failures\":0",
      "\"failures\":1,\"failed\":[{\"seed\":9,\"violations\":[{\"rule\":\"r\",\"nanoseconds\":1,\"text\":\"t\"}]}]",
      "failed: a seed appears twice, is out of order, or is not part of the run"
    ),
    ("\"missing\":[]", "\"missing\":[\"link came up\"]", "missing: is"),
    (
      "\"first\":0", "\"forbidden\":[\"linkUp\"],\"first\":0",
      "failures: is 0, but 'linkUp' was reached, which is forbidden"
    ),
    ("\"worlds\":4", "\"worlds\":5", "worlds: has 5 worlds"), ("soak report", "soap report", "this is not an easim"),
    ("\"version\":1", "\"version\":2", "version 2"), ("\"hash\":\"", "\"hash\":\"x", "a hash: a 64-bit number"),
    ("\"linkUp\":", "\"linkUp\":-", "linkUp"), ("\"linkUp\":", "\"linkUp\":99999999999999999", "linkUp"),
  ]) func aReportThatContradictsItselfIsRefusedAtTheKey(old: String, new: String, complaint: String) async throws {
    var text = await Self.report(seeds: 4, first: 0, forbidden: []).json.text
    if new.contains("\"failed\":[") {
      text = text.replacing(",\"failed\":[]", with: old.contains("failed\"") ? ",\"failed\":[]" : "")
    }
    let wrong = text.replacing(old, with: new)
    #expect(wrong != text)
    let error = #expect(throws: SourceProblems.self) { try Self.read(wrong) }
    #expect("\(error.map { "\($0)" } ?? "")".contains(complaint), "\(error.map { "\($0)" } ?? "")")
  }
}
