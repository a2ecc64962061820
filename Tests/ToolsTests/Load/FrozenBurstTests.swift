import TestSupport
import Testing

@testable import AccessoryLoad

/// Produces the reports of two load tests in virtual time. The frozen `easim report` outputs are made from these
/// reports.
@Suite struct FrozenBurstTests {
  @Test(arguments: [("burst", 7, ["loss,chance=3%"]), ("burst-slower", 8, ["loss,chance=6%"])])
  func aRunHasTheReportThatItHad(_ name: String, _ seed: Int, _ faults: [String]) throws {
    var plan = BurstPlan()
    plan.extent = .bursts(120)
    plan.pace = .rate(burstsPerSecond: 40)
    plan.warmUp = .milliseconds(200)
    plan.allowsOverdue = true
    let rig = try LoadRig(plan, faults: faults, seed: UInt64(seed))
    rig.runner.faults = ["loss,chance=3%"]
    let difference = try CommittedText.difference("Tests/Golden/\(name).json", from: rig.finish().json.text + "\n")
    #expect(difference == nil, "\(difference ?? "")")
  }
}
