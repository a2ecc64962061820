import AccessoryFormats
import AccessoryRuns
import Testing

@testable import AccessorySoak

@Suite struct ScenarioReportTests {
  private static func report(_ played: [Bool], planned: Int? = nil, shard: Shard = .whole) -> ScenarioReport {
    var report = ScenarioReport(
      (0..<(planned ?? played.count)).map { "s\($0)" }, options: [], shard: shard, program: "easim test")
    for (index, passed) in played.enumerated() {
      report.add(
        .init(
          scenario: "s\(index)", summary: "", client: "c", passed: passed,
          text: passed ? "as expected" : "no disconnect",
          length: .seconds(1), timeline: []))
    }
    return report
  }

  private static func read(_ text: String) throws -> ScenarioReport {
    try ScenarioReport(tree: try JSON5.read(text, file: "r.json"))
  }

  @Test func itPassesWhenEveryPlannedScenarioDid() throws {
    let report = Self.report([true, true])
    #expect(report.verdict == .passed && report.html.contains("<h1>Passed: "))
    #expect(try Self.read(report.json.text) == report)
    #expect(Self.report([true], planned: 2).verdict == .failed(["1 of 2 scenarios were played"]))
    #expect(Self.report([true, false]).verdict == .failed(["1 of 2 scenarios failed: s1"]))
  }

  @Test func aRunThatWasStoppedHasNotPassed() throws {
    var report = Self.report([true], planned: 3)
    report.stoppedBy = "SIGTERM"
    #expect(report.verdict == .stopped(by: "SIGTERM"))
    #expect(report.sentence == "1 scenario passed; stopped by SIGTERM")
    #expect(report.json.text.contains("\"passed\":false,\"verdict\":\"stopped\""))
    #expect(report.html.contains("<h1>Stopped"))
    #expect(report.junit.contains("<failure message=\"1 of 3 scenarios were played; stopped by SIGTERM\"/>"))
    #expect(try Self.read(report.json.text) == report)
  }

  @Test func aRunWithoutAScenarioIsEmptyUnlessThatIsAllowed() throws {
    var report = Self.report([], planned: 2, shard: try Shard("1/8"))
    #expect(report.verdict == .empty("no scenario is in shard 1/8"))
    #expect(report.junit.contains("<failure message=\"no scenario is in shard 1/8\"/>"))
    #expect(report.html.contains("<h1>Empty: "))
    report.allowsEmpty = true
    #expect(report.verdict == .passed && !report.junit.contains("<failure"))
    #expect(try Self.read(report.json.text) == report)
  }

  @Test(arguments: [
    ("\"passed\":true,\"verdict\"", "\"passed\":false,\"verdict\"", "passed: is false"),
    ("\"passed\":true,\"text\"", "\"passed\":false,\"text\"", "passed: is true"),
    ("\"program\"", "\"planned\":[\"s0\",\"s1\",\"s2\"],\"program\"", "scenarios: has 2 scenarios, but a complete run"),
    ("\"program\"", "\"planned\":[\"s0\"],\"program\"", "scenarios: a scenario appears twice, or was not planned"),
    ("\"program\"", "\"ending\":\"stopped by SIGHUP\",\"program\"", "passed: is true"),
    (
      "\"nanoseconds\":1000000000", "\"nanoseconds\":1000000000,\"timeline\":[\"x\"]",
      "scenarios[0].timeline: only a failed scenario has a timeline"
    ),
  ]) func aReportThatContradictsItselfIsRefusedAtTheKey(old: String, new: String, complaint: String) throws {
    let text = Self.report([true, true]).json.text
    let wrong = text.replacing(old, with: new)
    #expect(wrong != text)
    let error = #expect(throws: SourceProblems.self) { try Self.read(wrong) }
    #expect("\(error.map { "\($0)" } ?? "")".contains(complaint), "\(error.map { "\($0)" } ?? "")")
  }

  @Test func anEmptyListThatSaysItPassedIsRefused() {
    let text = Self.report([]).json.text
    #expect(throws: SourceProblems.self) { try Self.read(text.replacing("\"passed\":false", with: "\"passed\":true")) }
  }
}
