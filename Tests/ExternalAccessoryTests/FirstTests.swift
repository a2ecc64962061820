import ExternalAccessory
import ExternalAccessorySimulation
import Testing

@Suite struct FirstTests {
  @Test func n1() async throws {
    try await withSimulatedWorld { world in
      let a = try world.add("lawk-view")
      a.plugIn()
      await world.settle()
      #expect(EAAccessoryManager.shared().connectedAccessories.count == 1)
      print(EAAccessoryManager.shared().connectedAccessories)
    }
  }
}
