import ExternalAccessory
import ExternalAccessorySimulation
import Testing

struct Open {
  let simulated: WorldAccessory
  let accessory: EAAccessory
  let session: EASession
  let far: WorldSession
}

/// Plugs in an echo accessory whose sessions the test handles.
func plugInEcho(_ world: SimulatedWorld) async throws -> (WorldAccessory, EAAccessory) {
  let simulated = try world.add("echo")
  simulated.takeSessions()
  simulated.plugIn()
  await world.run { !manager.connectedAccessories.isEmpty }
  await world.settle()
  return (simulated, try #require(manager.connectedAccessories.first))
}

func open(_ world: SimulatedWorld) async throws -> Open {
  let (simulated, accessory) = try await plugInEcho(world)
  let session = try #require(EASession(accessory: accessory, forProtocol: "com.example.echo"))
  await world.run { !simulated.sessions.isEmpty }
  return Open(
    simulated: simulated, accessory: accessory, session: session, far: try #require(simulated.sessions.first))
}

/// Runs `body` in a world with an open session to an echo accessory.
func withOpenSession(
  _ settings: SimulatedWorld.Settings = SimulatedWorld.Settings(), isolation: isolated (any Actor)? = #isolation,
  _ body: @escaping (SimulatedWorld, Open) async throws -> Void
) async throws {
  try await withSimulatedWorld(settings) { world in try await body(world, open(world)) }
}

extension SimulatedWorld {
  @discardableResult
  func plugIn(_ profile: String, quirks: [String] = []) async throws -> WorldAccessory {
    let added = try add(profile, quirks: quirks)
    await plugIn(added)
    return added
  }

  func plugIn(_ accessory: WorldAccessory) async {
    accessory.plugIn()
    await settle()
  }

  func unplug(_ accessory: WorldAccessory) async {
    accessory.unplug()
    await settle()
  }
}

extension SimulatedWorld.Settings {
  static func with(_ change: (inout Self) -> Void) -> Self {
    var settings = Self()
    change(&settings)
    return settings
  }

  var bufferSizes: Int {
    get { framework.sendBufferSize }
    set { (framework.sendBufferSize, framework.receiveBufferSize) = (newValue, newValue) }
  }
}

extension EventRecorder {
  static func registered() -> EventRecorder {
    defer { manager.registerForLocalNotifications() }
    return EventRecorder()
  }
}
