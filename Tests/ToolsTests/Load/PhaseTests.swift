import AccessoryCore
import Testing

@testable import AccessoryLoad

@Suite struct PhaseTests {
  static let text = """
    { size: 100, sessions: 2, inFlight: 4, warmUp: '1s',
      phases: [{ name: 'ramp', for: '2s', from: 0, rate: 100 }, { name: 'steady', for: '3s', rate: 100 },
        { name: 'rest', for: '1s', rate: 0 }, { name: 'spike', for: '500ms', rate: 400 }],
      failIf: ['p99>5s'] }
    """

  static func plan(_ text: String = text) throws -> BurstPlan {
    try BurstPlanFile(Array(text.utf8), file: "day.json5").laid(over: BurstPlan())
  }

  @Test func burstsAreDueWhereTheAreaUnderTheRateSaysSo() throws {
    let file = try BurstPlanFile(Array(Self.text.utf8), file: "day.json5")
    let table = BurstTimetable(file.plan.phases)
    #expect(table.length == 6.5)
    #expect(table.count == 600)
    // The ramp has a hundred bursts, and a quarter of them are in its first half.
    #expect(try abs(#require(table.due(25)) - 1) < 1e-9)
    #expect(try abs(#require(table.due(100)) - 2) < 1e-9)
    #expect(try abs(#require(table.due(250)) - 3.5) < 1e-9)
    // The phase "rest" has no bursts.
    #expect(table.due(400) == 6)
    #expect(try abs(#require(table.due(599)) - 6.4975) < 1e-9)
    #expect(table.due(600) == nil)
    let times = (0..<600).compactMap(table.due)
    #expect(zip(times, times.dropFirst()).allSatisfy { $0 <= $1 })
  }

  @Test func aRunFollowsItsPhasesAndReportsEach() throws {
    let rig = try LoadRig(try Self.plan())
    let report = try rig.finish()
    #expect(report.passed, "\(report.text)")
    #expect(report.begun == 600)
    #expect(report.warmUp == 25)
    #expect(report.phases.map(\.completed) == [75, 300, 0, 200])
    #expect(report.phases.map(\.name) == ["ramp", "steady", "rest", "spike"])
    #expect(report.phases.reduce(0) { $0 + $1.latency.total } == report.completed)
    #expect(report.overdue == 0)
    #expect(report.service.total == report.completed)
    #expect(try BurstReportTests.read(report.json.text).phases == report.phases)
    #expect(report.timeMarks.count { $0.kind == .phase } == 4)
    #expect(report.html.contains("<td>spike 400 bursts/s for 500ms</td>"))
    // These slices cover two seconds of the steady phase, which has about 100 bursts per second.
    let steady = report.series.slices[25..<45].reduce(0) { $0 + $1.bursts }
    #expect((196...204).contains(steady))
  }

  @Test func aSpikeThatIsTooHighIsOverdue() throws {
    var plan = try Self.plan("{ size: 1000, phases: [{ for: '2s', rate: 10 }, { for: '1s', rate: 500 }] }")
    let late = try LoadRig(plan, bytesPerSecond: 50_000).finish()
    #expect(!late.passed)
    #expect(late.overdue > 100)
    #expect(late.reasons.first?.hasPrefix("asked for the rates of the phases, ") == true, "\(late.reasons)")
    plan.allowsOverdue = true
    #expect(try LoadRig(plan, bytesPerSecond: 50_000).finish().passed)
  }

  @Test func reportsOfOnePlanAreMergedPhaseByPhase() throws {
    var sum = try LoadRig(try Self.plan(), seed: 1).finish()
    try sum.add(try LoadRig(try Self.plan(), seed: 2).finish())
    #expect(sum.phases.map(\.completed) == [150, 600, 0, 400])
    try sum.add(VerdictTests.report())
    #expect(sum.phases == [])
  }
}
