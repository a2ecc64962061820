import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessoryWorlds
import LinuxIO
import Testing

@testable import AccessoryLoad

@Suite struct BurstProbeTests {
  static func finding(
    behavior: String, payload: [UInt8] = Array(0..<200), quirk: String? = nil
  ) throws -> BurstProbe.Finding? {
    let loop = VirtualLoop(seed: 7)
    let world = World(on: loop)
    var profile = try ProfileLibrary().profile("echo")
    profile.behavior = try Behavior(behavior)
    for index in profile.protocols.indices { profile.protocols[index].behavior = nil }
    if let quirk { profile.apply(try Quirk(quirk)) }
    var plan = BurstPlan()
    plan.payload = .bytes(payload)
    let probe = BurstProbe(plan, on: loop)
    var app = AppSettings()
    app.rules.ignoreInfoPlist()
    let view = world.device.makeApp(probe, settings: app)
    defer { view.close() }
    try world.add(profile).plugIn()
    _ = try loop.run(until: { probe.finding != nil }, limit: .seconds(30))
    return probe.finding
  }

  @Test func anEchoIsRecognised() throws {
    #expect(try Self.finding(behavior: "echo") == .echo)
    #expect(try Self.finding(behavior: "echo", quirk: "flicker") == .echo)
    #expect(BurstProbe.Finding.echo.options == "--verify echo")
  }

  @Test func aSinkIsRecognisedByItsSilence() throws {
    #expect(try Self.finding(behavior: "sink") == .nothing)
    #expect(BurstProbe.Finding.nothing.options == "--verify none")
  }

  @Test func anotherReplyIsShownWithTheOptionsThatFit() throws {
    let finding = try Self.finding(behavior: "source,text=ok,chunk=2,rate=100,total=2")
    #expect(finding == .reply(count: 2, first: [0x6F, 0x6B]))
    #expect(finding?.options == "--verify reply --expect-reply 0x6f6b")
    #expect(BurstProbe.Finding.reply(count: 500, first: [1]).options == "--verify reply --expect-reply 500")
  }

  @Test func aSourceThatNeverStopsDoesNotKeepTheProbe() throws {
    guard case .reply(let count, let first)? = try Self.finding(behavior: "source,rate=10000000,chunk=1000") else {
      return #expect(Bool(false))
    }
    #expect(count > 1 << 20)
    #expect(first.count == 64)
  }

  @Test func aRefusedSessionIsNoFit() throws {
    guard case .failed(let text)? = try Self.finding(behavior: "echo", quirk: "session,refuse") else {
      return #expect(Bool(false))
    }
    #expect(text.contains("the session ended"))
  }
}
