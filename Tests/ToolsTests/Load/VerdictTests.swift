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
}
