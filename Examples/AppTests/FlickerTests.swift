import ExternalAccessory
import ExternalAccessorySimulation
import Testing

@Test func theAppSurvivesTheFlicker() async throws {
  try await withSimulatedWorld { world in
    let app = App()  // yours: registers, and opens a session when its protocol is there
    try world.add("lawk-view", quirks: ["flicker"]).plugIn()
    await world.expect { app.connects == 1 }
    #expect(app.session == nil)  // no session on the empty list
    await world.expect { app.disconnects == 1 }
    #expect(app.connects == 1)  // survives the disconnect
    await world.expect { app.session != nil }  // opens on the second connect
    #expect(app.connects == 2)
    #expect(world.misuses == [])
  }
}
