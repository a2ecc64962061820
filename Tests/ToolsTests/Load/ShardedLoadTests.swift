import AccessoryFormats
import AccessoryRuns
import Testing

@testable import AccessoryLoad

/// Tests load tests that run on several machines, either as shards of one plan or as simultaneous runs.
@Suite struct ShardedLoadTests {
  private static func report(_ shard: Shard, of plan: BurstPlan, completed: Int = 10) -> BurstReport {
    var report = BurstReport(plan.share(shard.share(of: 4), of: 4))
    (report.begun, report.completed, report.ending) = (completed, completed, "done")
    report.measured = .seconds(1)
    report.latency.record(1_000_000, times: completed)
    report.series.add(at: .zero) { $0.bursts = completed }
    report.sites = [.init()]
    report.isShard(shard, of: plan)
    return report
  }

  private static var plan: BurstPlan {
    get throws {
      var plan = BurstPlan()
      plan.extent = .bursts(10)
      plan.pace = .rate(burstsPerSecond: 100)
      plan.limits = [try BurstLimit("rate<15/s")]
      return plan
    }
  }

  @Test func theSharesOfAPlanAreThePlan() throws {
    let shares = (0..<4).map { (try? Self.plan)?.share($0..<$0 + 1, of: 4) }
    #expect(shares.map { $0?.extent } == [.bursts(2), .bursts(3), .bursts(2), .bursts(3)])
    #expect(shares.allSatisfy { $0?.pace == .rate(burstsPerSecond: 25) && $0?.limits.isEmpty == true })
    var plan = BurstPlan()
    var phase = BurstPhase()
    (phase.from, phase.rate) = (0, 80)
    plan.pace = .phases([phase])
    guard case .phases(let phases) = plan.share(1..<3, of: 4).pace else { throw OptionError("no phases") }
    #expect(phases.map(\.from) == [0] && phases.map(\.rate) == [40])
  }

  @Test func shardsAddUpToOneRunOfTheWholePlanAndItsLimitsAreJudgedThen() throws {
    let plan = try Self.plan
    var sum = Self.report(try Shard("1/2"), of: plan)
    #expect(sum.checks.map(\.name) == ["rate kept"])
    #expect(sum.plan.differences(from: BurstReport(plan).plan).isEmpty)
    let text = sum.json.text
    #expect(try BurstReport(json: Array(text.utf8), file: "r").json.text == text)
    try sum.add(Self.report(try Shard("2/2"), of: plan))
    #expect(sum.shards == .whole && sum.runs == 1 && sum.completed == 20)
    #expect(sum.checks.map(\.passed) == [true, true] && sum.passed)
    #expect(sum.checks.first?.text == "asked for 100 bursts/s, none was overdue")
  }

  @Test func aLimitThatTheSumBreaksFailsIt() throws {
    let plan = try Self.plan
    var sum = Self.report(try Shard("1/2"), of: plan, completed: 5)
    try sum.add(.empty(plan, try Shard("2/2")))
    #expect(!sum.passed && sum.checks.map(\.passed) == [true, false])
  }

  @Test func aShardIsAddedOnceAndAnErrorChangesNothing() throws {
    let one = Self.report(try Shard("1/2"), of: try Self.plan)
    var sum = one
    #expect(throws: ReportSumError.twice(try Shard("1/2"))) { try sum.add(one) }
    #expect(throws: ReportSumError.wholeRun) { try sum.add(BurstReport(BurstPlan())) }
    #expect(sum == one)
  }

  // MARK: Beginning together

  private static func run(began: Int, lasting: Duration, planned: Int = 1_000_000_000) -> BurstReport {
    var report = BurstReport(BurstPlan())
    (report.begun, report.completed, report.bytes) = (100, 100, 1_000_000)
    report.latency.record(1_000_000, times: 100)
    report.measured = lasting
    report.start = .init(planned: planned, began: began, clockError: 500)
    report.sites = [.init()]
    let seconds = Int(lasting.inSeconds)
    for second in 0..<seconds {
      report.series.add(at: .seconds(second)) { ($0.bursts, $0.bytes) = (100 / seconds, 1_000_000 / seconds) }
      for _ in 0..<100 / seconds { report.map.add(2_000, at: .seconds(second)) }
    }
    return report
  }

  @Test(arguments: [false, true]) func ratesAreOverTheTimeFromTheFirstBeginningToTheLastEnd(swapped: Bool) throws {
    let (one, other) = (
      Self.run(began: 1_000_000_000, lasting: .seconds(10)), Self.run(began: 1_002_000_000, lasting: .seconds(10))
    )
    var sum = swapped ? other : one
    try sum.add(swapped ? one : other)
    #expect(sum.measured == .seconds(12))
    #expect(abs(sum.burstsPerSecond - 200.0 / 12) < 1e-9)
    let seconds = stride(from: 0, to: 120, by: 10).map { sum.series.slices[$0].bursts }
    #expect(seconds == [1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1].map { $0 * 10 })
    #expect(sum.map.cells.reduce(0) { $0 + $1[2] } == 200)
    #expect(sum.start?.first == 1_000_000_000 && sum.start?.last == 1_002_000_000)
    #expect(try BurstReport(json: Array(sum.json.text.utf8), file: "r").start == sum.start)
    #expect(
      sum.start?.text
        == "planned for 1970-01-01T00:16:40Z, the first run began 0 ns after it, the last 2.000 s; each synchronized "
        + "clock is off by at most 500.0 µs")
  }

  @Test func runsOfOtherTimesAreAddedAsIfTheyHadBegunTogether() throws {
    var sum = Self.run(began: 1_000_000_000, lasting: .seconds(10))
    try sum.add(Self.run(began: 5_000_000_000, lasting: .seconds(4), planned: 5_000_000_000))
    #expect(sum.measured == .seconds(10) && sum.start == nil)
  }

  @Test func nothingBeginsBeforeItsTime() throws {
    var plan = BurstPlan()
    plan.extent = .bursts(3)
    let rig = try LoadRig(plan)
    rig.runner.startsAt = .origin + .seconds(60)
    let report = try rig.finish()
    #expect(report.started == .origin + .seconds(60))
    #expect(report.completed == 3 && report.measured < .seconds(1))
  }

  // MARK: Times

  @Test(arguments: [
    ("2026-11-23T01:30:00Z", 1_795_397_400_000_000), ("2026-11-23t02:30:00.25+01:00", 1_795_397_400_250_000),
    ("1795397400", 1_795_397_400_000_000), ("1795397400.5", 1_795_397_400_500_000), ("1970-01-01T00:00:00Z", 0),
    ("2024-02-29T23:59:59-00:30", 1_709_252_999_000_000),
  ]) func timesOfDayAreRead(text: String, microseconds: Int) throws {
    #expect(try StartTime(text) == .at(microseconds))
  }

  @Test func aTimeIsWrittenAsItIsRead() throws {
    for text in ["2026-11-23T01:30:00Z", "2000-02-29T00:00:00Z", "2100-03-01T12:00:00.250Z"] {
      #expect(StartTime.text(try StartTime(text).microseconds(now: 0)) == text)
    }
    #expect(try StartTime("+10s").microseconds(now: 5) == 10_000_005)
  }

  @Test(arguments: [
    "", "now", "2026-11-23", "2026-11-23T01:30:00", "2026-02-30T00:00:00Z", "2026-13-01T00:00:00Z", "-5", "+", "1.",
    "1.x",
    "2026-11-23T24:00:00Z", "99999999999999", "2026-11-23T01:30:00+1:00", "2026-11-23T01:30:00.Z",
  ]) func whatIsNoTimeIsRefused(text: String) {
    #expect(throws: OptionError.self) { try StartTime(text) }
  }
}
