import AccessoryFormats
import AccessoryRuns
import Testing

@testable import AccessoryLoad

/// If the figures in a burst report contradict each other, the report is refused, and the error names the key of the
/// wrong figure.
@Suite struct BurstContradictionTests {
  /// Returns a valid report of 100 bursts, of which 98 were measured and one was lost. The report contains all parts
  /// that have their own counts.
  private static func report(_ change: (inout BurstReport) -> Void = { _ in }) -> BurstReport {
    var report = VerdictTests.report { report in
      (report.begun, report.warmUp, report.completed, report.lost, report.allowsLost) = (100, 1, 98, 1, true)
      report.addError(.lost, 1, "the accessory went away")
      (report.bytes, report.latency, report.series) = (980, Histogram(), ThroughputSeries())
      report.plan.count = 99
      report.latency.record(10_000_000, times: 98)
      (report.plan.pace, report.service, report.overdue, report.allowsOverdue) = (
        "50 bursts/s", report.latency, 2, true
      )
      report.series.add(at: .seconds(1)) { ($0.bursts, $0.bytes, $0.errors) = (98, 980, 1) }
      report.sizes.record(10, times: 98)
      for _ in 0..<98 { report.map.add(10_000_000, at: .seconds(1)) }
      for name in ["1", "2"] {
        var (phase, payload) = (BurstReport.PhaseTally(), BurstReport.PayloadTally())
        phase.latency.record(10_000_000, times: 49)
        (phase.completed, payload.name, payload.completed, payload.bytes) = (49, name, 49, 490)
        payload.latency = phase.latency
        report.phases.append(phase)
        report.payloads.append(payload)
      }
      var attachment = BurstReport.Site.Attachment(connectionID: 1, offeredProtocols: true, from: .origin, to: .origin)
      (attachment.completed, attachment.lost) = (99, 1)
      var session = BurstReport.Site.SessionTally()
      (session.completed, session.lost) = (98, 1)
      (report.sites[0].attachments, report.sites[0].sessions) = ([attachment], [session])
    }
    change(&report)
    return report
  }

  @Test func aReportThatAddsUpIsRead() throws {
    let report = Self.report()
    #expect(report.verdict == .passed)
    #expect(try BurstReportTests.read(report.json.text) == report)
    var sum = report
    try sum.add(report)
    #expect(try BurstReportTests.read(sum.json.text).passed)
  }

  /// Changes that introduce a contradiction, and the key that the error must name.
  static let changes: [(key: String, change: @Sendable (inout BurstReport) -> Void)] = [
    ("runs", { $0.runs = 0 }), ("begun", { $0.begun = 101 }), ("begun", { $0.warmUp = 2 }),
    ("begun", { $0.errors[.lost]?.count = 2 }), ("bytes", { $0.bytes = 981 }),
    ("completed", { $0.series.add(at: .zero) { $0.bursts = 1 } }),
    ("errors", { $0.series.add(at: .zero) { $0.errors = 1 } }),
    ("overdue", { $0.plan.pace = BurstReport.Plan.closedLoop }), ("plan", { $0.plan.count = nil }),
    ("sites", { $0.sites = [] }), ("measuredNanoseconds", { $0.measured = .zero }),
    ("measuredNanoseconds", { $0.measured = .milliseconds(9) }), ("phases", { $0.phases[0].completed = 48 }),
    ("phases", { $0.phases.append($0.phases[0]) }), ("payloads", { $0.payloads[0].completed = 50 }),
    ("payloads", { $0.payloads.removeLast() }), ("payloads", { $0.payloads[0].bytes = 491 }),
    ("sizes", { $0.sizes.record(10) }), ("latencyMap", { $0.map.add(1, at: .zero) }),
    ("service", { $0.service.record(1) }), ("sites", { $0.sites[0].sessions[0].completed = 99 }),
    ("sites", { $0.sites[0].sessions[0].lost = 2 }), ("sites", { $0.sites[0].attachments[0].completed = 100 }),
    ("sites", { $0.sites[0].attachments[0].lost = 2 }),
  ]

  @Test(arguments: changes.indices) func aReportThatContradictsItselfIsRefusedAtTheKey(index: Int) {
    let (key, change) = Self.changes[index]
    let report = Self.report(change)
    let error = #expect(throws: SourceProblems.self) { try BurstReportTests.read(report.json.text) }
    #expect(error?.problems.first?.path == key, "\(String(describing: error))")
  }

  /// Unusual but possible reports are accepted: a report without bursts needs no accessory, and a stopped run may have
  /// bursts in flight.
  @Test func whatIsPossibleIsNotRefused() throws {
    let shard = BurstReport.empty(BurstPlan(), try Shard("1/2"))
    #expect(try BurstReportTests.read(shard.json.text) == shard)
    let stopped = Self.report { ($0.ending, $0.begun) = ("stopped by SIGTERM", 117) }
    #expect(try BurstReportTests.read(stopped.json.text).verdict.word == "stopped")
  }

  @Test(arguments: [
    (
      "\"passed\":false,\"text\"", "\"passed\":true,\"text\"",
      "checks[1].passed: is true, but the other keys give false"
    ),
    (
      "\"name\":\"p99>5ms\"", "\"name\":\"p98>5ms\"",
      "checks[1].name: is text 'p98>5ms', but the other keys give 'p99>5ms'"
    ),
    ("\"checks\":[", "\"checks\":[],\"was\":[", "checks: has 0, but the other keys give 2"),
  ]) func aStoredGoalIsCompared(old: String, new: String, complaint: String) throws {
    let limit = try BurstLimit("p99>5ms")
    let text = Self.report { $0.require([limit]) }.json.text
    _ = try BurstReportTests.read(text)
    let forged = text.replacing(old, with: new)
    #expect(forged != text)
    let error = #expect(throws: SourceProblems.self) { try BurstReportTests.read(forged) }
    #expect("\(error.map { "\($0)" } ?? "")".contains(complaint), "\(error.map { "\($0)" } ?? "")")
  }
}
