import AccessoryFormats
import AccessoryRuns
import AccessorySimulator
import Testing

@testable import AccessoryLoad

/// Every output that states whether a load test passed must report every kind of failure.
@Suite struct BurstVerdictTableTests {
  enum Flaw: String, CaseIterable, Sendable {
    case stopped, short, shortTime, nothingSent, nothingCompleted, lost, error, mismatch, unasked, ending, overdue,
      limit

    var word: String {
      switch self {
      case .stopped: "stopped"
      case .nothingSent, .nothingCompleted: "empty"
      default: "failed"
      }
    }

    func apply(_ report: inout BurstReport) throws {
      switch self {
      case .stopped: (report.ending, report.plan.count) = ("stopped by SIGTERM", 100_000_000)
      case .short: report.plan.count = 101
      case .shortTime: (report.plan.count, report.plan.time) = (nil, .seconds(11))
      case .nothingSent: report = Self.nothing
      case .nothingCompleted:
        report = Self.nothing
        (report.begun, report.lost, report.allowsLost) = (4, 4, true)
        report.addError(.lost, 4, "the accessory went away")
      case .lost:
        report.addError(.lost, 2, "the accessory went away")
        (report.begun, report.lost) = (102, 2)
      case .error: report.addError(.timedOut, 1, "burst 3")
      case .mismatch: report.mismatches = [.lost: 2]
      case .unasked: report.unaskedBytes = 12
      case .ending: report.ending = "failed"
      case .overdue:
        report.plan.pace = "50 bursts/s"
        report.overdue = 3
      case .limit: report.require([try BurstLimit("p99>5ms")])
      }
    }

    private static var nothing: BurstReport {
      var report = BurstReport(BurstPlan())
      (report.plan.count, report.sites, report.ending) = (0, [.init()], "done")
      return report
    }
  }

  /// The outputs. Each function returns true if its output states that the run passed.
  static let outputs: [(name: String, passes: @Sendable (BurstReport) -> Bool)] = [
    ("text", { report in !["failed", "stopped", "empty"].contains { report.text.contains($0) } }),
    ("JSON passed", { $0.json.text.contains("\"passed\":true,\"verdict\"") }),
    ("JSON verdict", { $0.json.text.contains("\"verdict\":\"passed\"") }),
    ("JSON reasons", { $0.json.text.contains("\"reasons\":[]") }),
    ("HTML heading", { $0.html.contains("<h1>Passed: ") }),
    ("HTML card", { $0.html.contains("class=\"card passed\"") }),
    ("JUnit", { $0.junit.contains("failures=\"0\"") }),
    ("metrics", { $0.metrics(isOpen: false).contains("easim_burst_passed 1\n") }),
    ("CSV passed", { $0.csv.contains("summary,,passed,true,") }),
    ("CSV verdict", { $0.csv.contains("summary,,verdict,passed,") }),
    ("trend", { ReportTrend([("a", $0), ("b", $0)]).text.contains(" yes ") }),
    ("trend JSON", { ReportTrend([("a", $0)]).json.text.contains("\"passed\":[true]") }),
    ("trend HTML", { ReportTrend([("a", $0), ("b", $0)]).html.contains("class=\"card passed\"") }),
    ("read again", { (try? BurstReportTests.read($0.json.text))?.passed == true }),
    (
      "merged",
      { report in
        var sum = VerdictTests.report()
        return (try? sum.add(report)).map { sum.passed } ?? false
      }
    ),
  ]

  @Test(arguments: Flaw.allCases) func noOutputSaysPassedOfARunThatDidNot(flaw: Flaw) throws {
    var report = VerdictTests.report()
    for output in Self.outputs { #expect(output.passes(report), "\(output.name) of a good run") }
    try flaw.apply(&report)
    #expect(report.verdict.word == flaw.word, "\(report.verdict)")
    #expect(!report.reasons.isEmpty)
    for output in Self.outputs { #expect(!output.passes(report), "\(output.name)") }
    let forged = report.json.text.replacing("\"passed\":false,\"verdict\"", with: "\"passed\":true,\"verdict\"")
    let error = #expect(throws: SourceProblems.self) { try BurstReportTests.read(forged) }
    #expect(error?.problems.first?.path == "passed", "\(String(describing: error))")
  }

  @Test func whatIsAllowedPasses() {
    let report = VerdictTests.report { report in
      report.addError(.lost, 1, "gone")
      (report.completed, report.lost, report.allowsLost, report.latency) = (99, 1, true, Histogram())
      report.latency.record(1, times: 99)
      (report.plan.pace, report.overdue, report.allowsOverdue) = ("50 bursts/s", 3, true)
    }
    #expect(report.verdict == .passed)
  }

  @Test func aWorseResultIsNeverBesideAGreenPassed() {
    let good = VerdictTests.report()
    var slow = VerdictTests.report { $0.bytes = 1_000 }
    _ = slow.compare(with: good, tolerance: 0.1)
    #expect(slow.verdict == .passed && slow.outcome.word == "failed")
    #expect(slow.html.contains("<h1>Failed: worse than the baseline: throughput: "))
    #expect(!slow.html.contains("card passed"))
    #expect(slow.metrics(isOpen: false).contains("easim_burst_passed 0\n"))
    #expect(slow.csv.contains("summary,,passed,false,"))
    #expect(!slow.junit.contains("failures=\"0\""))
    let trend = ReportTrend([("a", good), ("b", slow)])
    #expect(trend.headline == "worse: throughput −100 %")
    #expect(!trend.html.contains("Passed") && !trend.html.contains("card passed"))
  }

  // MARK: Runs

  @Test func aStopAfterThePlanWasFulfilledIsNoStop() throws {
    var plan = BurstPlan()
    plan.extent = .bursts(3)
    let rig = try LoadRig(plan)
    _ = try rig.loop.run(until: { rig.runner.progress.bursts == 3 })
    #expect(rig.runner.outcome == nil)
    rig.runner.stop("SIGTERM")
    #expect(rig.runner.report.verdict == .passed)
  }

  @Test func lostBurstsFailARunThatReconnects() throws {
    var plan = BurstPlan()
    plan.extent = .bursts(20)
    for allows in [false, true] {
      (plan.reconnects, plan.allowsLost) = (true, allows)
      let rig = try LoadRig(plan)
      _ = try rig.loop.run(until: { rig.runner.progress.bursts > 5 })
      rig.world.pull(rig.accessory)
      try rig.loop.advance(by: .milliseconds(200))
      try rig.accessory.plugIn()
      let report = try rig.finish()
      #expect(report.lost > 0 && report.passed == allows, "\(report.text)")
    }
  }

  @Test(arguments: [(100, false), (300, true)]) func bytesAfterTheLastExpectedOneFailTheRun(
    milliseconds: Int, passes: Bool
  ) throws {
    var plan = BurstPlan()
    plan.extent = .bursts(1)
    plan.payload = .unique(size: 8)
    let chatty = ClosureBehavior { bytes, session, context in
      session.write(bytes)
      context.loop.schedule(after: .milliseconds(milliseconds)) { session.write([0xEE].span.bytes) }
    }
    let report = try LoadRig(plan, playing: chatty).finish()
    #expect(report.passed == passes, "\(report.text)")
    #expect((report.errors[.unexpected]?.count == 1) == !passes)
    // The measured duration does not include the settle time.
    #expect(report.measured < .milliseconds(100))
    plan.settleAfter = .seconds(1)
    #expect(try !LoadRig(plan, playing: chatty).finish().passed)
  }

  // MARK: Goals

  @Test(arguments: [
    ("p99>50ms", "p99 ≤ 50 ms: 10.00 ms ✓"), ("p99>5ms", "p99 ≤ 5 ms: 10.00 ms ✗"),
    ("rate<11/s", "rate ≥ 11 bursts/s: 10.0 bursts/s ✗"), ("rate<1MB/s", "rate ≥ 1 MB/s: 100.00 kB/s ✗"),
    ("errors>0.1%", "errors ≤ 0.1 %: 0, 0.000 % ✓"), ("service.mean>1s", "service.mean ≤ 1 s: nothing was measured ✗"),
    // A value close to the limit is printed with enough digits to be distinguished from the limit.
    ("p99>9.999ms", "p99 ≤ 9.999 ms: 10.000 ms ✗"), ("rate<10.04/s", "rate ≥ 10.04 bursts/s: 10.00 bursts/s ✗"),
    ("rate<100.0004kB/s", "rate ≥ 100.0004 kB/s: 100.0000 kB/s ✗"),
    ("p99.9 > 9ms", "p99.9 ≤ 9 ms: 10.00 ms ✗"), ("mean>10.1ms", "mean ≤ 10.1 ms: 10.00 ms ✓"),
    ("max>9ms", "max ≤ 9 ms: 10.00 ms ✗"), ("rate<10/s", "rate ≥ 10 bursts/s: 10.0 bursts/s ✓"),
    ("lost>0", "lost ≤ 0: 0 ✓"), ("overdue>0", "overdue ≤ 0: 0 ✓"),
  ]) func aGoalReadsAsPeopleReadItAndDecides(text: String, line: String) throws {
    let limit = try BurstLimit(text)
    let report = VerdictTests.report { $0.require([limit]) }
    let holds = line.hasSuffix("✓")
    #expect(report.passed == holds && report.checks.map(\.passed) == [holds] && report.reasons.isEmpty == holds)
    #expect(report.junit.contains(holds ? "failures=\"0\"" : "failures=\"1\""))
    #expect(try BurstReportTests.read(report.json.text).limits == [limit])
    #expect(report.checks.map(\.line) == [line])
    #expect(report.text.contains("  goal        \(line)"))
    for form in [report.html, report.json.text, report.junit, report.csv] {
      #expect(form.contains(limit.goal) || form.contains(limit.goal.replacing("<", with: "&lt;")), "\(form)")
    }
  }

  @Test func aFaultThatExplainsAMissIsNamed() throws {
    let limit = try BurstLimit("p99>5ms")
    var report = VerdictTests.report { report in
      report.require([limit])
      report.plan.faults = ["loss,chance=2%"]
      report.sites = [BurstReport.Site()]
      report.sites[0].link.retransmissions = 3
      (report.plan.pace, report.overdue) = ("50 bursts/s", 4)
    }
    let cause = "3 packets were retransmitted because of loss,chance=2%"
    #expect(report.reasons.last == "p99 ≤ 5 ms: 10.00 ms ✗ (\(cause))")
    #expect(report.text.contains("did not begin on time: \(cause)") && !report.text.contains("too high"))
    report.plan.faults = []
    #expect(report.text.contains("the rate is too high"))
  }

  // MARK: Changes

  @Test(arguments: [
    ("p50>+10%", false, "p50 ≤ +10 %: +59 % ✗"), ("p50>+60%", true, "p50 ≤ +60 %: +59 % ✓"),
    ("throughput<-5%", false, "throughput ≥ −5 %: −39 % ✗"), ("errors>+0%", true, "errors ≤ +0 %: 0, was 0 ✓"),
  ]) func aLimitOnAChangeHoldsOrFails(text: String, holds: Bool, line: String) throws {
    let slow = VerdictTests.report { report in
      report.latency = Histogram()
      report.latency.record(15_900_000, times: 100)
      report.bytes = 610_000
    }
    let trend = ReportTrend([("a", VerdictTests.report()), ("b", slow)], limits: [try ChangeLimit(text)])
    #expect(trend.checks.map(\.passed) == [holds])
    #expect(trend.text.hasSuffix("\n\(line)") && trend.html.contains("<li>\(line)</li>"))
    #expect(trend.json.text.contains("\"passed\":\(holds),\"text\""))
    #expect(trend.checks.map(\.line) == [line])
    #expect(trend.headline.hasPrefix("worse: throughput −39 %, p50 +59 %"), "\(trend.headline)")
    var other = slow
    other.plan.faults = ["loss,chance=2%"]
    let uneven = ReportTrend([("a", VerdictTests.report()), ("b", other)], limits: [try ChangeLimit(text)])
    #expect(uneven.headline.hasPrefix("not comparable: ") && uneven.checks.map(\.passed) == [false])
  }

  @Test(arguments: [
    (11_020_000, "p50>+10%", "p50 ≤ +10 %: +10.2 % ✗"), (11_000_001, "p50>+10%", "p50 ≤ +10 %: +10.00001 % ✗"),
    (10_980_000, "p50>+10%", "p50 ≤ +10 %: +9.8 % ✓"), (10_999_000, "p50>+10%", "p50 ≤ +10 %: +9.99 % ✓"),
    (11_000_000, "p50>+10%", "p50 ≤ +10 %: +10 % ✓"), (9_498_000, "p50<-5%", "p50 ≥ −5 %: −5.02 % ✗"),
  ]) func aChangeHasAsManyPlacesAsTellItFromItsLimit(nanoseconds: Int, limit: String, line: String) throws {
    let other = VerdictTests.report { report in
      report.latency = Histogram()
      report.latency.record(nanoseconds, times: 100)
    }
    let trend = ReportTrend([("a", VerdictTests.report()), ("b", other)], limits: [try ChangeLimit(limit)])
    #expect(trend.checks.map(\.line) == [line])
  }

  @Test(arguments: [
    ("p50", "contains no '>' or '<'"), ("p50>10%", "limits are changes in percent"), ("p51>+1%", "did you mean 'p50'?"),
    ("p50>+ten%", "limits are changes in percent"), ("p50>+1", "limits are changes in percent"),
  ]) func aWrongLimitOnAChangeSaysHowToWriteIt(text: String, complaint: String) {
    let error = #expect(throws: OptionError.self) { try ChangeLimit(text).check(among: ["p50", "p90"]) }
    #expect(error?.description.contains(complaint) == true, "\(String(describing: error))")
  }
}
