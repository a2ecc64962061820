import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import AccessoryWorlds
import IAP2
import LinuxIO
import TestSupport
import Testing

/// Tests accessories that support only one order of authentication and identification, and a device that detects this
/// order.
@Suite struct OrderTests {
  /// Returns a world whose accessory must be identified first. The accessory rejects the other order as `quirk`
  /// describes.
  private func world(_ quirk: String, _ order: HostOrder) throws -> (World, SimulatedAccessory, VirtualLoop) {
    let loop = VirtualLoop(seed: 1)
    var settings = World.Settings()
    settings.order = order
    let world = World(settings, on: loop)
    var profile = try ProfileLibrary().profile("echo")
    profile.apply(try Quirk("authentication,answer=\(quirk)"))
    let accessory = world.add(profile)
    return (world, accessory, loop)
  }

  private func connects(_ world: World) -> Int { world.events.count { $0.kind == .connect } }

  private func switches(_ world: World) -> [String] {
    world.events.compactMap { event in
      if case .warning(let text) = event.kind, text.contains("identification first") { text } else { nil }
    }
  }

  @Test(arguments: ["ignore-first", "hangup"], [HostOrder.identification, .authentication])
  func onlyIdentificationFirstServesThem(_ quirk: String, _ order: HostOrder) throws {
    let (world, accessory, loop) = try world(quirk, order)
    try accessory.plugIn()
    #expect(try loop.run(until: { connects(world) > 0 }, limit: .seconds(40)) == (order == .identification))
    #expect(switches(world).isEmpty)
  }

  /// Here the device resets the link, so that the accessory starts over on the same cable.
  @Test func anAccessoryThatIgnoresTheFirstMessageGetsTheOtherOrderOnItsNextLink() throws {
    let (world, accessory, loop) = try world("ignore-first", .auto)
    try accessory.plugIn()
    #expect(try loop.run(until: { connects(world) == 1 }, limit: .seconds(15)))
    #expect(
      switches(world) == [
        "the accessory did not answer after AA00 RequestAuthenticationCertificate; from now on, easim requests "
          + "identification first (1D00)"
      ])
    #expect(loop.now.seconds >= 10, "the time for its first answer")
  }

  /// The world's cables have different names in events, although their address is the same.
  @Test func anAccessoryThatHangsUpGetsTheOtherOrderAtItsNextAttachmentAndEverAfter() throws {
    let (world, accessory, loop) = try world("hangup", .auto)
    for _ in 0..<3 {
      try accessory.plugIn()
      _ = try loop.run(until: { false }, limit: .seconds(2))
      accessory.unplug()
      _ = try loop.run(until: { false }, limit: .seconds(2))
    }
    #expect(connects(world) == 2, "not at the first attachment")
    #expect(
      switches(world) == [
        "the other end closed the channel after AA00 RequestAuthenticationCertificate; from now on, easim requests "
          + "identification first (1D00)"
      ])
  }

  /// An accessory that works in neither order is refused.
  @Test func theOtherOrderIsTriedOnce() throws {
    let (world, accessory, loop) = try world("never", .auto)
    try accessory.plugIn()
    _ = try loop.run(until: { false }, limit: .seconds(120))
    #expect(switches(world).count == 1)
    let refusals = world.events.compactMap { event in
      if case .refused(let refusal) = event.kind { refusal } else { nil }
    }
    #expect(refusals == [.unanswered(.authentication)])
  }

  /// The device needs the accessory's name to publish the accessory before it is ready.
  @Test func anEarlyPublicationAsksForIdentificationFirst() throws {
    let names = try World.events(for: .seconds(5)) { $0.policy = .early }.map(\.kind.name).prefix { $0 != "connect" }
    #expect(names.contains("identification") && !names.contains("authentication"))
  }
}
