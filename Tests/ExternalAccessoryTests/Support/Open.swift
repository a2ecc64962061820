import ExternalAccessory
import ExternalAccessorySimulation
import Testing

/// An echo accessory with one open session whose far end is operated by the test.
struct Open {
  let simulated: WorldAccessory
  let accessory: EAAccessory
  let session: EASession
  let far: WorldSession
}

func open(_ world: SimulatedWorld) async throws -> Open {
  let simulated = try world.add("echo")
  simulated.takeSessions()
  simulated.plugIn()
  await world.run { !manager.connectedAccessories.isEmpty }
  let accessory = try #require(manager.connectedAccessories.first)
  let session = try #require(EASession(accessory: accessory, forProtocol: "com.example.echo"))
  await world.run { !simulated.sessions.isEmpty }
  return Open(
    simulated: simulated, accessory: accessory, session: session, far: try #require(simulated.sessions.first))
}
