import AccessoryFormats
import AccessoryProfiles
import Testing

@testable import AccessoryLoad

@Suite struct BurstReportTests {
  static func report(seed: UInt64 = 7, count: Int = 40) throws -> BurstReport {
    var plan = BurstPlan()
    plan.extent = .bursts(count)
    plan.pace = .rate(burstsPerSecond: 40)
    (plan.reconnects, plan.allowsLost) = (true, true)
    plan.allowsOverdue = true
    plan.warmUp = .milliseconds(200)
    let rig = try LoadRig(plan, faults: ["loss,chance=3%"], seed: seed)
    rig.runner.faults = ["loss,chance=3%"]
    _ = try rig.loop.run(until: { rig.runner.progress.bursts > 10 })
    rig.world.pull(rig.accessory)
    try rig.loop.advance(by: .milliseconds(200))
    try rig.accessory.plugIn()
    return try rig.finish()
  }

  static func read(_ text: String) throws -> BurstReport { try BurstReport(json: Array(text.utf8), file: "r.json") }

  @Test func whatIsWrittenIsReadBackToTheSameReport() throws {
    var report = try Self.report()
    #expect(report.reconnections == 1)
    #expect(report.service.total > 0)
    let again = try Self.read(report.json.text)
    // A report file does not record whether a site had sessions, so this property is reset before the comparison.
    for index in report.sites.indices { report.sites[index].hadSessions = false }
    report.measured = .nanoseconds(report.measured.wholeNanoseconds)
    #expect(again == report)
    #expect(again.json.text == report.json.text)
  }

  @Test func mergingReportsThatWereWrittenIsExact() throws {
    let (left, right) = (try Self.report(seed: 3, count: 30), try Self.report(seed: 4, count: 50))
    var sum = try Self.read(left.json.text)
    try sum.add(try Self.read(right.json.text))
    var latency = left.latency
    latency.merge(right.latency)
    #expect(sum.latency.steps == latency.steps)
    #expect(sum.latency.total == left.completed + right.completed)
    #expect(sum.completed == left.completed + right.completed)
    #expect(sum.bytes == left.bytes + right.bytes)
    #expect(sum.lost == left.lost + right.lost)
    #expect(sum.measured == max(left.measured, right.measured))
    #expect(sum.sites.count == 2)
    #expect(sum.link.packetsSent == left.link.packetsSent + right.link.packetsSent)
    #expect(sum.series.slices.reduce(0) { $0 + $1.bursts } == sum.completed)
    #expect(sum.errors[.lost]?.count == sum.lost)
    #expect(sum.runs == 2)
  }

  @Test(arguments: [
    ("{}", "'easim' is missing"), ("", "the file is empty"),
    ("{\"easim\":\"x\"}", "this is not an easim burst report"),
    ("{\"easim\":\"burst report\",\"version\":2}", "version 2, but this easim reads version 1"),
    ("{\"easim\":\"burst report\",\"version\":-1}", "expected a whole number from 0"), ("[", "r.json:1:"),
  ]) func whatIsNoReportIsNamedWithItsPlace(text: String, complaint: String) {
    do {
      _ = try Self.read(text)
      Issue.record("read")
    } catch {
      #expect("\(error)".contains(complaint), "\(error)")
      #expect("\(error)".contains("r.json"), "\(error)")
    }
  }

  /// Each of the report's members in turn is removed, or replaced by an impossible value.
  @Test func aSpoiledReportIsAnErrorAndNeverATrap() throws {
    let text = try Self.report().json.text
    for (whole, spoiled) in [
      ("\"counts\":[[", "\"counts\":[[-1,5],["), ("\"counts\":[[", "\"counts\":[[5],["),
      ("\"counts\":[[", "\"counts\":[[99999999999999999,1],["), ("\"counts\":[[", "\"counts\":[[1,0],["),
      ("\"min\":", "\"min\":1"), ("\"max\":", "\"max\":-"), ("\"total\":", "\"total\":1"),
      ("\"sliceNanoseconds\":100000000", "\"sliceNanoseconds\":100000001"),
      ("\"sliceNanoseconds\":100000000", "\"sliceNanoseconds\":0"), ("\"slices\":[[", "\"slices\":[[1,1],["),
      ("\"kind\":\"lost\"", "\"kind\":\"found\""), ("\"sites\":[", "\"sites\":[5,"),
      ("\"passed\":true", "\"passed\":1"), ("\"verdict\":\"passed\"", "\"verdict\":\"failed\""),
      ("\"ending\":\"done\"", "\"ending\":\"failed\""), ("\"allowsLost\":true", "\"allowsLost\":false"),
      ("\"packetsSent\":", "\"packetsSend\":"), ("\"faults\":[", "\"faults\":[1,"),
    ] {
      let broken = text.replacing(whole, with: spoiled, maxReplacements: 1)
      #expect(broken != text, "\(whole) is not there")
      #expect(throws: SourceProblems.self, "\(spoiled)") { try Self.read(broken) }
    }
    for cut in stride(from: 0, to: text.utf8.count - 1, by: 97) {
      #expect(throws: SourceProblems.self) {
        try BurstReport(json: Array(text.utf8.prefix(cut)), file: "r.json")
      }
    }
  }

  // MARK: Baselines

  @Test(arguments: [(0.05, false), (0.2, true)]) func aTenthSlowerIsARegressionBeyondAFewPerCent(
    tolerance: Double, passes: Bool
  ) throws {
    var before = BurstReport(BurstPlan())
    before.measured = .seconds(10)
    before.bytes = 1_000_000
    var now = before
    for _ in 0..<100 {
      before.latency.record(1_000_000)
      now.latency.record(1_100_000)
    }
    now.bytes = 900_000
    let comparison = BaselineComparison(of: now, with: before, tolerance: tolerance)
    #expect(comparison.passed == passes)
    #expect(comparison.figures.filter(\.isRegression).count == (passes ? 0 : 4))
    #expect(comparison.text.contains("throughput: 90.00 kB/s, was 100.00 kB/s (-10.0 %)"))
    #expect(comparison.figures.map(\.name) == ["throughput", "p50", "p90", "p99", "errors"])
    #expect(BaselineComparison(of: before, with: now, tolerance: 0).passed)
  }

  @Test func oneErrorMoreIsARegressionWhateverIsTolerated() {
    let before = BurstReport(BurstPlan())
    var now = before
    now.addError(.different, 1, "byte 1")
    #expect(!BaselineComparison(of: now, with: before, tolerance: 10).passed)
  }

  // MARK: Forms

  @Test func theJUnitFormNamesEachFailure() throws {
    var report = try Self.report()
    #expect(report.junit.contains("failures=\"0\""))
    report.ending = "something <came> back & more"
    report.addError(.different, 2, "\"byte\" 1\u{1}")
    _ = report.compare(with: BurstReport(BurstPlan()), tolerance: 0)
    let xml = report.junit
    #expect(xml.contains("<failure message=\"something &lt;came&gt; back &amp; more\"/>"))
    #expect(report.verdict.word == "failed")
    #expect(xml.contains("<failure message=\"2; the first: &quot;byte&quot; 1\u{FFFD}\"/>"))
    #expect(xml.contains("name=\"baseline: errors\""))
    #expect(!xml.contains("\u{1}"))
  }

  /// Scripts/check-reports uses a browser to compare what the charts show with the report.
  @Test func thePageIsOneFileWithFourChartsForEachWidth() throws {
    let report = try Self.report()
    let html = report.html
    #expect(html.hasPrefix("<!DOCTYPE html>"))
    #expect(html.split(separator: "<svg ").count - 1 == 8)
    #expect(html.split(separator: "<rect class=\"whole\"").count - 1 == 4)
    let cells = report.map.cells
    #expect(cells.reduce(0) { $0 + $1[2] } == report.completed)
    #expect(html.split(separator: "data-cell=").count - 1 == 2 * cells.count)
    // The page loads no other files and runs no scripts.
    for part in ["http", "src=", "<script", "url(", "@import"] { #expect(!html.contains(part), "\(part)") }
    #expect(!html.contains("nan") && !html.contains("inf "))
  }

  @Test func thePageBeginsWithTheVerdictAndItsReasons() throws {
    var report = try Self.report()
    report.require([try BurstLimit("p99>1ns")])
    let html = report.html
    #expect(html.contains("<p class=\"run\">easim burst: "))
    let verdict = try #require(html.range(of: "<h1>Failed: p99 ≤ 1 ns: "))
    #expect(try verdict.upperBound < #require(html.range(of: "<h2>")).lowerBound)
    #expect(html.split(separator: "<b>").count - 1 == 4)
    // The charts come before all text, and the goal is shown as a line in the charts.
    let goal = try #require(html.range(of: "<g class=\"goal missed\""))
    #expect(try goal.upperBound < #require(html.range(of: "<h2>Checks</h2>")).lowerBound)
    report.require([try BurstLimit("p50>1h"), try BurstLimit("rate<1kB/s"), try BurstLimit("errors>3")])
    #expect(report.html.contains("<li>p99 ≤ 1 ns: ") == false)
    #expect(report.html.contains(">rate ≥ 1 kB/s</text>") && !report.html.contains(">errors ≤ 3</text>"))
  }
}
