import AccessoryFormats
import AccessoryRuns
import TestSupport
import Testing

@testable import AccessoryCheck

@Suite struct CheckReportTests {
  private static func report(_ quirks: [String] = ["no-status"], only: String = "101-110,601,702") throws -> CheckReport
  {
    let rig = try CheckRig("echo", quirks: quirks) { $0.identity.name = "<b>Echo & \"Co\"</b>\u{1B}[31m" }
    rig.settings.isStrict = true
    return try rig.run(CheckCase.selected(by: only))
  }

  @Test func numbersAndNamesAreUniqueAndInOrder() {
    let all = CheckCase.all
    #expect(all.count >= 80)
    #expect(all.map(\.number) == all.map(\.number).sorted())
    #expect(Set(all.map(\.number)).count == all.count)
    #expect(Set(all.map(\.name)).count == all.count)
    for one in all {
      #expect(one.sentence.hasSuffix("."), "\(one.number)")
      #expect(one.fix.hasSuffix("."), "\(one.number)")
      #expect(!one.sources.isEmpty, "\(one.number)")
      #expect(one.group.rawValue == one.number / 100)
    }
  }

  @Test func aSelectionTakesNumbersRangesAndNames() throws {
    #expect(try CheckCase.selected(by: "101,205-207,certificate").map(\.number) == [101, 205, 206, 207, 501])
  }

  @Test(arguments: ["", "99999", "10-9", "certificat", "101,,102", "-", "1-2-3"])
  func aSelectionRefusesWhatNamesNoCase(_ text: String) {
    #expect(throws: OptionError.self) { try CheckCase.selected(by: text) }
  }

  @Test func aReportIsReadBackAsBaseline() throws {
    let report = try Self.report()
    let baseline = try CheckReport(json: Array(report.json.text.utf8), file: "r.json")
    #expect(CheckComparison(report, since: baseline).known == [702])
    let better = try Self.report([])
    let comparison = CheckComparison(better, since: baseline)
    #expect(comparison.repaired == [702])
    #expect(comparison.lines == ["repaired: 702 session-status"])
    let first = try CheckReport(json: Array(better.json.text.utf8), file: "r.json")
    #expect(CheckComparison(report, since: first).broken == [702])
    var again = report
    _ = again.compare(with: baseline, tolerance: 0)
    #expect(again.verdict.word == "failed" && again.outcome == .passed)
    #expect(again.html.contains("<h1>Passed: ") && again.html.contains("as before: 702 session-status"))
    var worse = report
    _ = worse.compare(with: first, tolerance: 0)
    #expect(worse.outcome.word == "failed" && worse.html.contains("<h1>Failed: "))
    #expect(worse.html.contains("new: 702 session-status") && worse.junit.contains("failures=\"1\""))
  }

  /// Returns the reports of a check's shards, each of which has been written to a file and read back.
  private static func parts(_ count: Int, only: String = "101-110,601,702") throws -> [CheckReport] {
    let planned = try CheckCase.selected(by: only)
    return try (1...count).map { index in
      let shard = try #require(Shard(index, of: count))
      let rig = try CheckRig("echo", quirks: ["no-status"])
      rig.settings.isStrict = true
      var part = try rig.run(Array(planned[shard.share(of: planned.count)]))
      (part.planned, part.shards, part.program) = (planned.map(\.number), ShardSet(shard), "easim test")
      let again = try CheckReport(tree: JSON5.read(part.json.text, file: "r.json"))
      #expect(again == part && again.json.text == part.json.text && again.unfinished == nil)
      return again
    }
  }

  @Test func shardsAddUpToAllCasesInTheirOrder() throws {
    let whole = try Self.report()
    var parts = try Self.parts(3)
    var sum = parts.removeLast()
    for part in parts { try sum.add(part) }
    #expect(sum.shards == .whole && sum.unfinished == nil && sum.verdict.word == "failed")
    #expect(sum.results.map(\.rule) == whole.results.map(\.rule))
    #expect(sum.results.map(\.hasFailed) == whole.results.map(\.hasFailed))
    #expect(sum.failures.map(\.rule.number) == [702])
    #expect(try CheckReport(tree: JSON5.read(sum.json.text, file: "r.json")) == sum)
    #expect(throws: ReportSumError.wholeRun) { try sum.add(parts[0]) }
  }

  @Test func otherFirmwareIsAnotherRun() throws {
    let parts = try Self.parts(2, only: "201-204")
    var (one, other) = (parts[0], parts[1])
    other.accessory?.firmware = "9.9"
    #expect(throws: ReportSumError.self) { try one.add(other) }
    #expect(one == parts[0])
    other.accessory?.firmware = one.accessory?.firmware ?? ""
    other.accessory?.serial = "another unit"
    try one.add(other)
    #expect(one.accessory?.serial == "several")
  }

  @Test func aShardWhoseAccessoryWentIsNotDone() throws {
    var part = try Self.parts(2, only: "201-204")[0]
    part.ending = .gone("no cable")
    #expect(part.unfinished == "shard 1/2: the accessory did not come back: no cable")
    part.ending = .stopped(by: "SIGTERM")
    #expect(part.unfinished == "shard 1/2 was stopped by SIGTERM after 2 of 2 cases")
    #expect(part.verdict == .stopped(by: "SIGTERM"))
    #expect(part.junit.contains("<failure message=\"shard 1/2 was stopped by SIGTERM after 2 of 2 cases\"/>"))
    #expect(part.html.contains("<h1>Stopped by SIGTERM.</h1>"))
    #expect(part.text.contains(" was stopped by SIGTERM after "))
    #expect(try CheckReport(tree: JSON5.read(part.json.text, file: "r.json")) == part)
  }

  @Test func aCheckThatJudgedNothingIsEmptyUnlessThatIsAllowed() throws {
    var report = try Self.report([], only: "601,702")
    #expect(report.verdict == .passed)
    report.results = report.results.map { CheckResult(rule: $0.rule, outcome: .skipped("no"), time: .zero) }
    #expect(report.verdict == .empty("no case was judged: all 2 were skipped"))
    #expect(report.junit.contains("<failure message=\"no case was judged: all 2 were skipped\"/>"))
    #expect(report.html.contains("<h1>Empty: no case was judged"))
    #expect(report.json.text.contains("\"passed\":false,\"verdict\":\"empty\""))
    report.allowsEmpty = true
    #expect(report.verdict == .passed && !report.junit.contains("<failure"))
    #expect(try CheckReport(tree: JSON5.read(report.json.text, file: "r.json")) == report)
  }

  @Test func anAttackThatWasNotSurvivedIsAFailureInEachForm() throws {
    var report = try Self.report([], only: "601,702")
    var hostile = HostileReport()
    hostile.attacks = 3
    hostile.failures = [.init(seed: 4, text: "no answer", steps: [], bytes: [])]
    report.hostile = hostile
    #expect(report.verdict == .failed(["3 hostile attacks, 1 not survived"]))
    #expect(report.junit.contains("<failure message=\"3 hostile attacks, 1 not survived\"/>"))
    #expect(report.html.contains("<h1>Failed: "))
  }

  @Test(arguments: [
    ("\"passed\":true", "\"passed\":false", "passed: is false"),
    ("\"casesPassed\":2", "\"casesPassed\":3", "casesPassed: is number 3"),
    ("\"casesFailed\":0", "\"casesFailed\":1", "casesFailed: is number 1"),
    ("\"result\":\"passed\"", "\"result\":\"failed\"", "passed: is true"),
    ("\"place\"", "\"planned\":[601],\"place\"", "cases: a case appears twice, or was not planned"),
    (
      "\"place\"", "\"planned\":[601,702,801],\"place\"",
      "cases: has 2 cases, but a complete run of the planned cases has 3"
    ),
    ("\"ending\":\"complete\"", "\"ending\":\"stopped\"", "passed: is true"),
    ("\"attachments\":2,", "\"attachments\":0,", "attachments: is 0, but 2 cases were judged"),
    (
      "\"result\":\"passed\"", "\"result\":\"passed\",\"reason\":\"no\"",
      "cases[0].reason: a case that passed was not skipped"
    ),
    ("\"result\":\"passed\"", "\"result\":\"passed\",\"text\":\"no\"", "cases[0].text: the case has not failed"),
    (
      "\"result\":\"passed\"", "\"result\":\"skipped\",\"reason\":\"no\",\"packets\":[]",
      "cases[0].packets: the case has not failed"
    ),
    (
      "\"cases\":",
      "\"hostile\":{\"attacks\":0,\"failures\":[{\"seed\":1,\"text\":\"\",\"steps\":[],\"bytes\":\"\"}]},\"cases\":",
      "hostile: 1 of 0 attacks failed"
    ),
  ]) func aReportThatContradictsItselfIsRefusedAtTheKey(old: String, new: String, complaint: String) throws {
    let text = try Self.report([], only: "601,702").json.text
    let wrong = text.replacing(old, with: new)
    #expect(wrong != text)
    let error = #expect(throws: SourceProblems.self) { try CheckReport(tree: JSON5.read(wrong, file: "r.json")) }
    #expect("\(error.map { "\($0)" } ?? "")".contains(complaint), "\(error.map { "\($0)" } ?? "")")
  }

  @Test func thePageEscapesWhatTheAccessorySays() throws {
    let page = try Self.report().html
    #expect(!page.contains("<b>Echo"))
    #expect(page.contains("&lt;b&gt;Echo &amp; &quot;Co&quot;&lt;/b&gt;"))
    #expect(!page.contains("\u{1B}"))
    #expect(page.contains("<td>702 session-status: ") && page.contains("<b>Change:</b> "))
    #expect(page.contains("prefers-color-scheme: dark") && page.contains("@media print"))
    #expect(!page.contains("http://") && !page.contains("https://") && !page.contains("<script"))
  }

  @Test func theDocumentHasEveryCase() throws {
    #expect(try CommittedText.difference("docs/check.md", part: "cases", from: CheckPage.tables + "\n") == nil)
  }
}
