import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import AccessoryWorlds
import LinuxIO
import Testing

@testable import AccessoryHost

/// An app that opens one session with an "echo" accessory. The given behavior serves the accessory's sessions.
final class FirstSession: AppHandler {
  private var start: ((Session) -> Void)?

  private init(_ start: @escaping (Session) -> Void) { self.start = start }

  func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    guard let start, let name = accessory.protocols.first else { return }
    self.start = nil
    do { start(try app.openSession(with: accessory, protocolName: name)) } catch { Issue.record(error) }
  }

  func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {}

  /// Plugs the accessory in, calls `start` with the session, and runs until a condition holds. Then calls `result` and,
  /// after closing the app and the world, returns the value that `result` returned.
  static func run<Result>(
    _ behavior: any AccessoryBehavior, _ settings: World.Settings = World.Settings(), on loop: VirtualLoop,
    limit: Duration = .seconds(60), until condition: () -> Bool, start: @escaping (Session) -> Void,
    result: () -> Result
  ) throws -> Result {
    let world = World(settings, on: loop)
    let accessory = world.add(try ProfileLibrary().profile("echo"), behavior: { _ in behavior })
    var app = AppSettings()
    app.rules.ignoreInfoPlist()
    let view = world.device.makeApp(FirstSession(start), settings: app)
    try accessory.plugIn()
    _ = try loop.run(until: condition, limit: limit)
    let found = result()
    view.close()
    world.tearDown()
    try loop.runUntilQuiet()
    return found
  }
}
