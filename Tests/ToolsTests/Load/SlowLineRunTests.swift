import AccessoryFaults
import Testing

@testable import AccessoryLoad

/// Tests bursts over lines that `--fault` options make slow. Bursts must pass at the line's rate, and packets that are
/// merely late must not be retransmitted.
@Suite struct SlowLineRunTests {
  private func report(_ fault: String, inFlight: Int, knowsLine: Bool = true) throws -> BurstReport {
    let rig = try LoadRig(
      BurstRunnerTests.plan {
        $0.inFlight = inFlight
        $0.timeout = .seconds(600)
      }, faults: [fault], knowsLine: knowsLine)
    let report = try rig.finish()
    #expect(rig.runner.outcome == .done)
    #expect(report.completed == 20)
    try rig.tearDown()
    return report
  }

  @Test(arguments: [1, 16]) func nothingIsRepeatedOverBluetooth(inFlight: Int) throws {
    let report = try report("bluetooth", inFlight: inFlight)
    #expect(report.link.retransmissions == 0)
    #expect(report.link.duplicates == 0)
    // The expected rate is the line's rate minus what headers, the returning echo and, with only one burst in flight,
    // the waits between bursts take up.
    #expect(report.bytesPerSecond > (inFlight == 1 ? 3_000 : 6_000))
  }

  @Test func nothingIsRepeatedWhileTheAppScans() throws {
    let report = try report("bluetooth-scanning", inFlight: 4)
    #expect(report.link.retransmissions == 0)
    #expect(report.bytesPerSecond > 4_000)
  }

  /// Each end must know the line's rate. An end that does not know the rate would send as large a window as an Apple
  /// device announces, which would take longer than the retransmission timeout.
  @Test func anEndThatDoesNotKnowItsLineRepeatsWhatIsOnlyLate() throws {
    let report = try report("bluetooth", inFlight: 4, knowsLine: false)
    #expect(report.link.retransmissions + report.link.duplicates > 0)
  }

  @Test func theLineIsAsSlowAsItsSlowestFault() throws {
    #expect(try LinkPreset.faults("bluetooth").lineRate == 7_500)
    #expect(try LinkPreset.faults("bluetooth-scanning").lineRate == 4_875)
    #expect(try LinkPreset.faults("latency,delay=20ms").lineRate == nil)
    #expect([Fault]().lineRate == nil)
  }
}
