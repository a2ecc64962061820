import AccessoryCore
import AccessoryFaults
import Testing

@testable import AccessorySoak
@testable import AccessoryWorlds

/// Runs a session through the complete stack until the packet numbers have wrapped around over a hundred times.
@Suite struct LongSessionTests {
  @Test(.timeLimit(.minutes(60))) func thirtyThousandPacketsOfOneSessionArriveOnceAndInOrder() throws {
    var plan = SoakPlan(seed: 1)
    var profile = plan.accessories[0].profile
    profile.quirks = []
    profile.link = .init()
    // Authentication does not fit into shorter packets. Each packet can hold 40 bytes of session data.
    profile.link.maximumPacketLength = 52
    profile.link.maximumOutstandingPackets = 127
    profile.link.retransmissionTimeout = .milliseconds(200)
    let packets = 30_000
    plan.accessories = [
      .init(profile: profile, link: SoakLinkChoices(), streams: [SoakStreamPlan()])
    ]
    let stream = SoakStreamPlan(bytes: packets * 40, chunk: packets * 40)
    plan.apps = [.init(sessions: [stream], patience: .zero, isRude: false)]
    plan.deviceLink = SoakLinkChoices()
    plan.deviceFlicker = nil
    plan.speed = World.Settings.CableSpeed()
    plan.steps = [.init(at: .zero, .accessory(.plugIn, of: profile.name))]
    plan.faults = [CableFault(try Fault("loss,chance=0.1%"), at: .accessory)]
    plan.length = .seconds(600)

    let outcome = Soak.run(plan)
    #expect(outcome.violations == [])
    #expect(outcome.coverage[.bytesDelivered] == packets * 40)
    #expect(outcome.coverage[.wrap] >= packets / 256)
    #expect(outcome.coverage[.retransmission] > 10)
    #expect(outcome.coverage[.windowFull] > 10)
  }
}
