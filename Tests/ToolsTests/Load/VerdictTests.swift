import AccessoryCore
import AccessoryRuns
import Testing

@testable import AccessoryLoad

@Suite struct VerdictTests {
  /// Returns the report of a finished run that had 100 bursts in ten seconds. Each burst in the report took 10 ms.
  static func report(_ change: (inout BurstReport) -> Void = { _ in }) -> BurstReport {
    var report = BurstReport(BurstPlan())
    report.measured = .seconds(10)
    (report.begun, report.completed, report.bytes) = (100, 100, 1_000_000)
    report.latency.record(10_000_000, times: 100)
    report.series.add(at: .seconds(1)) { ($0.bursts, $0.bytes) = (100, 1_000_000) }
    (report.sites, report.ending) = ([.init()], "done")
    change(&report)
    return report
  }

  // MARK: The rate

  @Test func aRateThatIsTwiceTooHighFailsTheRunWhetherForATimeOrANumber() throws {
    for extent in [BurstPlan.Extent.bursts(60), .time(.seconds(2))] {
      var plan = BurstPlan()
      plan.payload = .unique(size: 1_000)
      plan.pace = .rate(burstsPerSecond: 60)
      plan.extent = extent
      let report = try LoadRig(plan, bytesPerSecond: 20_000).finish()
      #expect(report.ending == "done")
      #expect(report.overdue > 10, "\(report.overdue)")
      #expect(!report.passed)
      #expect(report.reasons.count == 1)
      #expect(report.reasons.first?.hasPrefix("asked for 60 bursts/s, ") == true, "\(report.reasons)")
      plan.allowsOverdue = true
      #expect(try LoadRig(plan, bytesPerSecond: 20_000).finish().passed)
    }
  }

  @Test func aHangThatIsMadeUpForIsNotOverdue() throws {
    var plan = BurstPlan()
    plan.pace = .rate(burstsPerSecond: 10)
    plan.extent = .bursts(100)
    plan.payload = .unique(size: 3)
    let report = try LoadRig(plan, faults: ["stall,after=3s,for=2s,in"]).finish()
    #expect(report.overdue == 0)
    #expect(report.passed)
    #expect(report.checks.map(\.name) == ["rate kept"])
  }

  // MARK: Limits

  @Test(arguments: [
    ("p99>50ms", true), ("p99>5ms", false), ("p99.9 > 9ms", false), ("mean>10.1ms", true), ("max>9ms", false),
    ("rate<10/s", true), ("rate<11/s", false), ("rate<100kB/s", true), ("rate<1MB/s", false), ("errors>0", true),
    ("errors>0.1%", true), ("lost>0", true), ("overdue>0", true), ("service.p99>1s", false),
  ]) func aLimitHoldsOrFailsTheRun(text: String, holds: Bool) throws {
    let limit = try BurstLimit(text)
    let report = Self.report { $0.require([limit]) }
    #expect(report.passed == holds)
    #expect(report.checks.map(\.passed) == [holds])
    #expect(report.reasons.isEmpty == holds)
    #expect(report.junit.contains(holds ? "failures=\"0\"" : "failures=\"1\""))
    #expect(try BurstReportTests.read(report.json.text).limits == [limit])
  }

  @Test func aShareIsOfTheBurstsThatBegan() throws {
    let report = Self.report { report in
      report.addError(.lost, 1, "gone")
      (report.begun, report.completed, report.lost, report.allowsLost) = (100, 99, 1, true)
    }
    for (text, passes) in [("errors>1%", true), ("errors>0.9%", false), ("lost>1", true), ("lost>0", false)] {
      var report = report
      report.require([try BurstLimit(text)])
      #expect(report.passed == passes, "\(text)")
    }
  }

  @Test(arguments: [
    ("p99", "contains no '>' or '<'"), ("p99>50", "did you mean 'p99>50ms'?"), ("p99<50ms", "did you mean 'p99>50ms'?"),
    ("p99=50ms", "'p99=50ms': did you mean 'p99>50ms'?"), ("p99>=50ms", "'p99>=50ms': did you mean 'p99>50ms'?"),
    ("p99<50ms", "'p99<50ms' would fail good runs, because --fail-if says when a run fails: did you mean"),
    ("latency>50ms", "did you mean 'p99>50ms'?"), ("rate>100/s", "did you mean 'rate<100/s'?"),
    ("rate<100", "did you mean 'rate<100/s' (bursts) or 'rate<100kB/s'"), ("errrors>1", "did you mean 'errors>1'?"),
    ("throughput<1MB/s", "did you mean 'rate<1MB/s'?"), ("errors>many", "did you mean 'errors>0' or 'errors>0%'?"),
    ("p101>5ms", "did you mean 'p99>5ms'?"), ("wind>3", "'wind' is not measured: expected p50"),
    ("", "contains no '>'"),
    ("p99>5 parsecs", "did you mean 'p99>5ms'?"),
  ]) func aWrongLimitNamesTheNearestRightForm(text: String, complaint: String) {
    do {
      _ = try BurstLimit(text)
      Issue.record("read")
    } catch {
      #expect(error.description.contains(complaint), "\(error)")
    }
  }

  @Test func limitsAreJudgedAgainWhenReportsAreMerged() throws {
    let limit = try BurstLimit("errors>1")
    func half() -> BurstReport {
      Self.report { report in
        (report.limits, report.allowsLost) = ([limit], true)
        report.addError(.lost, 1, "gone")
      }
    }
    var sum = half()
    #expect(sum.passed)
    try sum.add(half())
    #expect(!sum.passed)
    #expect(sum.limits == [limit])
  }

  // MARK: Baselines

  @Test func aBaselineWithAnotherPlanIsRefusedWithWhatDiffers() {
    let report = Self.report()
    #expect(report.differences(from: report).isEmpty)
    var plan = BurstPlan()
    plan.payload = .eademo(size: 500)
    plan.sessions = 3
    plan.pace = .rate(burstsPerSecond: 40)
    let text = BurstReport(plan).differences(from: report).joined(separator: "; ")
    for part in ["size 500, not 10,000", "sessions 3, not 1", "pace 40 bursts/s, not closed loop", "pattern eademo"] {
      #expect(text.contains(part), "\(part): \(text)")
    }
  }

  // MARK: Forms for programs

  @Test func aTableHasNoFormula() throws {
    let report = Self.report { report in
      report.sites = [BurstReport.Site()]
      report.sites[0].serial = "=cmd|'/c calc',\"x\""
      report.addError(.different, 2, "burst 1,\nand more")
    }
    #expect(report.csv.split(separator: "\r\n").contains { $0.hasPrefix("errors,,different,2,\"burst 1") })
    #expect(!report.csv.contains(",=cmd"))
  }

  @Test func anAccessoryThatAnswersNothingPointsToTheProbe() throws {
    var plan = BurstPlan()
    plan.extent = .bursts(3)
    let silent = try LoadRig(plan, behavior: "sink").finish()
    #expect(silent.advice?.contains("--probe") == true)
    #expect(silent.text.contains("--probe"))
    #expect(try LoadRig(plan).finish().advice == nil)
  }

  @Test func runsAreShownBesideEachOtherWithWhatChanged() throws {
    let first = Self.report()
    let last = Self.report { report in
      report.bytes = 900_000
      report.addError(.lost, 2, "gone")
      report.plan.sessions = 2
    }
    let trend = ReportTrend([("a.json", first), ("b.json", last)])
    let lines = trend.text.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
    #expect(
      trend.headline == "not comparable: b.json has a different plan from a.json: sessions 2, not 1"
        && lines.first?.hasPrefix("not comparable") == true)
    #expect(lines.contains("throughput 100.00 kB/s 90.00 kB/s −10.0 % worse"), "\(trend.text)")
    #expect(lines.contains("errors 0 2 +2 worse"))
    #expect(lines.contains { $0.hasPrefix("p99 10.00 ms 10.00 ms 0 %") })
    #expect(trend.warnings == ["b.json has a different plan from a.json: sessions 2, not 1"])
    #expect(trend.csv.contains("b.json,,errors,2.000\r\n"))
    #expect(trend.json.text.contains("\"errors\":[0.0,2.0]"))
    #expect(trend.html.contains("id=\"trend-p99\""))
  }
}
