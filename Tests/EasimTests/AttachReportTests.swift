import AccessoryCore
import AccessoryFormats
import AccessoryHost
import AccessoryLoad
import AccessoryProfiles
import AccessoryRuns
import AccessoryWorlds
import LinuxIO
import Testing

@testable import easim

/// Tests how the phases of an attachment are measured, in virtual time.
@Suite struct AttachClockTests {
  private func attach(_ quirk: String?, latency: Duration = .zero) throws -> AttachReport.Run {
    let loop = VirtualLoop(seed: 1)
    let clock = AttachClock(run: 1, nil, settling: .milliseconds(200), on: loop)
    var settings = World.Settings()
    settings.speed.latency = latency
    settings.reportsMessages = true
    settings.report = { clock.see($0) }
    let world = World(settings, on: loop)
    let app = world.device.makeApp(clock)
    var profile = try ProfileLibrary().profile("echo")
    if let quirk { profile.apply(try Quirk(quirk)) }
    let accessory = world.add(profile)
    try accessory.plugIn()
    #expect(try loop.run(until: { clock.isOver }, limit: .seconds(60)))
    clock.stop()
    app.close()
    world.tearDown()
    try loop.runUntilQuiet()
    return clock.run
  }

  @Test(arguments: [
    ("authentication,answer=slow,delay=2s", AttachReport.Phase.authentication, 4_000),
    ("identification,answer=slow,delay=700ms", .identification, 700),
    ("flicker,empty=300ms,gap=200ms", .publication, 500),
  ]) func aDelayBelongsToThePhaseThatItDelays(quirk: String, delayed: AttachReport.Phase, milliseconds: Int) throws {
    let run = try attach(quirk)
    #expect(run.problem == nil)
    for phase in AttachReport.Phase.allCases {
      let expected: Duration = phase == delayed ? .milliseconds(milliseconds) : .zero
      #expect(run.phases[phase] == expected, "\(phase)")
    }
    #expect(run.total == .milliseconds(milliseconds))
  }

  @Test func aSlowCableSlowsEveryPhaseAfterTheCable() throws {
    let run = try attach(nil, latency: .milliseconds(10))
    #expect(run.phases[.cable] == .zero && run.phases[.publication] == .zero)
    for phase in [AttachReport.Phase.link, .identification, .authentication, .session] {
      #expect(run.phases[phase, default: .zero] >= .milliseconds(20), "\(phase)")
    }
  }

  @Test func aSessionThatIsNotConfirmedHasNoTime() throws {
    let run = try attach("no-status")
    #expect(run.problem == nil && run.phases[.session] == nil && run.phases[.publication] != nil)
  }

  @Test func aSessionThatIsRefusedIsAProblem() throws {
    #expect(try attach("session,answer=refuse").problem == "the session ended: the accessory refused it")
  }
}

@Suite struct AttachReportTests {
  /// Returns a report of three runs that took 40 ms, 50 ms and 90 ms.
  private static func report(_ change: (inout AttachReport) throws -> Void = { _ in }) throws -> AttachReport {
    var report = AttachReport()
    (report.address, report.times) = ("unix:/tmp/a.sock", 3)
    report.runs = zip(1..., [40, 50, 90]).map { number, time in
      var run = AttachReport.Run()
      run.number = number
      run.phases = [.link: .milliseconds(time - 30), .authentication: .milliseconds(30)]
      return run
    }
    try change(&report)
    return report
  }

  private static func read(_ text: String) throws -> AttachReport {
    try AttachReport(tree: try JSON5.read(text, file: "a.json"))
  }

  @Test func theTableShowsEachPhase() throws {
    let report = try Self.report { $0.limits = [try BurstLimit("p95>1s")] }
    #expect(
      report.text == """
        phase                 p50        p95        max
        link             20.00 ms   60.00 ms   60.00 ms
        authentication   30.00 ms   30.00 ms   30.00 ms
        total            50.00 ms   90.00 ms   90.00 ms
        p95 ≤ 1 s: 90.00 ms ✓
        3 of 3 attachments succeeded; the slowest, run 3, took 90.00 ms (link 60.00 ms, authentication 30.00 ms)
        """)
    #expect(report.html.contains("<h2>Phases</h2>"))
  }

  /// Each kind of failure, and the verdict that it must cause.
  static let flaws: [(word: String, change: @Sendable (inout AttachReport) throws -> Void)] = [
    ("failed", { $0.runs[1].problem = "the session ended: the accessory refused it" }),
    ("failed", { $0.limits = [try BurstLimit("max>80ms")] }),
    ("failed", { $0.runs.removeLast() }),
    (
      "stopped",
      {
        $0.stoppedBy = "SIGTERM"
        $0.runs.removeLast()
      }
    ),
  ]

  @Test(arguments: flaws.indices) func noFormSaysPassedOfARunThatDidNot(index: Int) throws {
    let good = try Self.report()
    #expect(good.verdict == .passed && good.html.contains("<h1>Passed: ") && good.junit.contains("failures=\"0\""))
    #expect(try Self.read(good.json.text) == good)
    let (word, change) = Self.flaws[index]
    let report = try Self.report(change)
    #expect(report.verdict.word == word)
    #expect(!report.html.contains("<h1>Passed: ") && !report.junit.contains("failures=\"0\""))
    #expect(report.json.text.contains("\"passed\":false,\"verdict\":\"\(word)\""))
    #expect(try Self.read(report.json.text) == report)
  }

  @Test(arguments: [
    ("\"total\":40000000", "\"total\":41000000", "runs[0].total"), ("\"times\":3", "\"times\":2", "runs: has more"),
    ("\"run\":2", "\"run\":1", "runs: a run appears twice"), ("\"passed\":true", "\"passed\":false", "passed"),
  ]) func aReportThatContradictsItselfIsRefusedAtTheKey(old: String, new: String, complaint: String) throws {
    let text = try Self.report().json.text
    let wrong = text.replacing(old, with: new, maxReplacements: 1)
    #expect(wrong != text)
    let error = #expect(throws: SourceProblems.self) { try Self.read(wrong) }
    #expect("\(error.map { "\($0)" } ?? "")".contains(complaint), "\(error.map { "\($0)" } ?? "")")
  }

  @Test func reportsAreMergedAndRunsRenumbered() throws {
    var sum = try Self.report()
    try sum.add(try Self.report { $0.runs[0].problem = "gone" })
    #expect(sum.times == 6 && sum.runs.map(\.number) == Array(1...6))
    #expect(sum.verdict == .failed(["run 4: gone"]))
  }
}
