import AccessoryCore
import AccessoryRuns
import Testing

struct VerdictTests {
  @Test func onlyPassedIsPassed() {
    #expect(Verdict(reasons: []).isPassed)
    for verdict in [Verdict.failed(["it broke"]), .stopped(by: "SIGTERM"), .empty("no case was run")] {
      #expect(!verdict.isPassed && !verdict.reasons.isEmpty)
    }
  }
}
