import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessoryWorlds
import LinuxIO
import Testing

@testable import AccessoryLoad

@Suite struct BurstProbeTests {
  static func finding(
    behavior: String, quirk: String? = nil
  ) throws -> BurstProbe.Finding? {
    let loop = VirtualLoop(seed: 7)
    let world = World(on: loop)
    var profile = try ProfileLibrary().profile("echo")
    profile.behavior = try Behavior(behavior)
    for index in profile.protocols.indices { profile.protocols[index].behavior = nil }
    if let quirk { profile.apply(try Quirk(quirk)) }
    var plan = BurstPlan()
    plan.payload = .bytes(Array(0..<200))
    let probe = BurstProbe(plan, on: loop)
    var app = AppSettings()
    app.rules.ignoreInfoPlist()
    let view = world.device.makeApp(probe, settings: app)
    defer { view.close() }
    try world.add(profile).plugIn()
    _ = try loop.run(until: { probe.finding != nil }, limit: .seconds(30))
    return probe.finding
  }

  @Test(
    arguments: [
      ("echo", nil, .echo, "--verify echo"), ("echo", "flicker", .echo, "--verify echo"),
      ("sink", nil, .nothing, "--verify none"),
      (
        "source,text=ok,chunk=2,rate=100,total=2", nil, .reply(count: 2, first: [0x6F, 0x6B]),
        "--verify reply --expect-reply 0x6f6b"
      ),
    ] as [(String, String?, BurstProbe.Finding, String)])
  func whatAnswersIsRecognisedWithTheOptionsThatFit(
    behavior: String, quirk: String?, expected: BurstProbe.Finding, options: String
  ) throws {
    #expect(try Self.finding(behavior: behavior, quirk: quirk) == expected)
    #expect(expected.options == options)
  }

  @Test func aSourceThatNeverStopsDoesNotKeepTheProbe() throws {
    guard case .reply(let count, let first)? = try Self.finding(behavior: "source,rate=10000000,chunk=1000") else {
      return #expect(Bool(false))
    }
    #expect(count > 1 << 20)
    #expect(BurstProbe.Finding.reply(count: count, first: first).options == "--verify reply --expect-reply \(count)")
    #expect(first.count == 64)
  }

  @Test func aRefusedSessionIsNoFit() throws {
    guard case .failed(let text)? = try Self.finding(behavior: "echo", quirk: "session,refuse") else {
      return #expect(Bool(false))
    }
    #expect(text.contains("the session ended"))
  }
}
