import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessoryWorlds
import LinuxIO
import Testing

/// Checks that no part of a cable remains in memory after the device and the accessory have been released, no matter
/// what the accessory was doing.
@Suite struct LeakTests {
  final class Opener: AppHandler {
    func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
      for name in accessory.protocols { _ = try? app.openSession(with: accessory, protocolName: name) }
    }

    func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {}
  }

  private final class Watched {
    private(set) var channels: [() -> AnyObject?] = []

    func watch(_ channel: any Channel) {
      channels.append({ [weak channel] in channel })
    }
  }

  @Test(arguments: [
    "authentication,slow,delay=100ms", "identification,slow,delay=100ms", "session,close,delay=100ms",
    "session,detach,delay=100ms", "session,detach,delay=10s", "authentication,slow,delay=10s", "flicker",
    "ends-sessions,min=1m,max=2m", "wedges-after,opens=1", "goes-silent,after=1m", "busy-after-cancel",
    "phantom-session,within=1h", "drops-beyond", "reply-chunking,gap=1m", "obeys-first-settings-only",
    "fails-after-first-transaction,close",
  ])
  func nothingIsLeftOfACable(quirk: String) throws {
    let watched = Watched()
    let loop = VirtualLoop()
    do {
      var settings = World.Settings()
      settings.wrap = { channel, _ in
        watched.watch(channel)
        return channel
      }
      let world = World(settings, on: loop)
      let handler = Opener()
      let app = world.device.makeApp(handler)
      var profile = try ProfileLibrary().profile("echo")
      profile.apply(try Quirk(quirk))
      let accessory = world.add(profile)
      try accessory.plugIn()
      try loop.advance(by: .seconds(2))
      #expect(watched.channels.count >= 2)
      world.tearDown()
      app.close()
      try loop.runUntilQuiet()
    }
    #expect(watched.channels.allSatisfy { $0() == nil })
    #expect(loop.nextDeadline == nil)
  }
}
