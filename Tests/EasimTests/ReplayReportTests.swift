import AccessoryFormats
import AccessoryRuns
import Testing

@testable import easim

@Suite struct ReplayReportTests {
  private static func report(_ change: (inout ReplayReport) -> Void = { _ in }) -> ReplayReport {
    var report = ReplayReport()
    report.file = "golden.pcapng"
    for number in 1...2 {
      var row = ReplayReport.Row()
      (row.number, row.protocolName, row.isPlayed, row.received) = (number, "com.example.echo", true, 8)
      row.text = ReplayReport.Row.asRecorded
      report.rows.append(row)
    }
    change(&report)
    return report
  }

  private static func read(_ text: String) throws -> ReplayReport {
    try ReplayReport(tree: try JSON5.read(text, file: "r.json"))
  }

  /// Each kind of failure, and the verdict that it must cause.
  static let flaws: [(word: String, change: @Sendable (inout ReplayReport) -> Void)] = [
    ("empty", { $0.rows = [] }),
    ("empty", { report in for index in report.rows.indices { report.rows[index].masked = 8 } }),
    ("failed", { $0.strays = ["the device opened a session on com.example.other"] }),
    (
      "failed",
      {
        ($0.rows[1].offset, $0.rows[1].text) = (3, "session 2: byte 3 is 00 instead of 01")
        ($0.rows[1].contextOffset, $0.rows[1].expected, $0.rows[1].got) = (3, [1], [0])
      }
    ),
    (
      "stopped",
      {
        $0.stoppedBy = "SIGTERM"
        ($0.rows[1].isPlayed, $0.rows[1].received, $0.rows[1].text) = (false, 0, "not played: stopped by SIGTERM")
      }
    ),
    ("failed", { ($0.rows[1].isPlayed, $0.rows[1].received, $0.rows[1].text) = (false, 0, "not played") }),
  ]

  @Test(arguments: flaws.indices) func noFormSaysPassedOfAReplayThatDidNot(index: Int) throws {
    let good = Self.report()
    #expect(good.verdict == .passed && good.html.contains("<h1>Passed: ") && good.junit.contains("failures=\"0\""))
    #expect(try Self.read(good.json.text) == good)
    let (word, change) = Self.flaws[index]
    let report = Self.report(change)
    #expect(report.verdict.word == word)
    #expect(!report.html.contains("<h1>Passed: ") && !report.html.contains("card passed"))
    #expect(!report.junit.contains("failures=\"0\""))
    #expect(report.json.text.contains("\"passed\":false,\"verdict\":\"\(word)\""))
    #expect(report.text.split(separator: "\n").last.map(String.init) == report.headline)
    #expect(report.headline != good.headline)
    #expect(try Self.read(report.json.text) == report)
    let forged = report.json.text.replacing("\"passed\":false,\"verdict\"", with: "\"passed\":true,\"verdict\"")
    let error = #expect(throws: SourceProblems.self) { try Self.read(forged) }
    #expect(error?.problems.first?.path == "passed", "\(String(describing: error))")
  }

  @Test(arguments: [
    ("\"masked\":1", "\"masked\":9", "sessions[0].masked: is 9, but 8 bytes arrived"),
    ("\"played\":true", "\"played\":false", "sessions[0].bytes: is 8, but the session was not played"),
    (
      "\"text\":\"as recorded\"", "\"text\":\"it ended early\"",
      "sessions[0].text: is 'it ended early', but the session"
    ),
    (
      "\"text\":\"as recorded\"", "\"text\":\"as recorded\",\"got\":\"00\"",
      "sessions[0].got: there is no difference to show"
    ),
    (
      "\"played\":true,\"passed\":true", "\"played\":false,\"passed\":false",
      "sessions[0].bytes: is 8, but the session was not played"
    ),
    ("\"session\":2", "\"session\":1", "sessions: a session appears twice"),
  ]) func aReportThatContradictsItselfIsRefusedAtTheKey(old: String, new: String, complaint: String) throws {
    let text = Self.report { $0.rows[0].masked = 1 }.json.text
    _ = try Self.read(text)
    let wrong = text.replacing(old, with: new, maxReplacements: 1)
    #expect(wrong != text)
    let error = #expect(throws: SourceProblems.self) { try Self.read(wrong) }
    #expect("\(error.map { "\($0)" } ?? "")".contains(complaint), "\(error.map { "\($0)" } ?? "")")
  }
}
