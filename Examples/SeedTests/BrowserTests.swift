import ExternalAccessory
import ExternalAccessoryAppStandIns
import ExternalAccessorySimulation
import Testing

@testable import Browser

/// Tests the browser from CombineExternalAccessory's read-me.
@MainActor @Suite struct BrowserTests {
  @Test func theListFollowsWhatComesAndGoes() async throws {
    try await withSimulatedWorld { world in
      let list = AccessoryList()
      let lamp = world.addUnconfigured(name: "Lamp")
      let search = Task { await list.browse() }
      await world.expect { list.allAvailableAccessories == [lamp] }
      #expect(list.isSearching)
      let speaker = world.addUnconfigured(name: "Speaker", macAddress: "02:00:00:00:00:02")
      await world.expect { list.allAvailableAccessories == [lamp, speaker] }
      world.removeUnconfigured(lamp)
      await world.expect { list.allAvailableAccessories == [speaker] }
      search.cancel()
      await search.value
    }
  }

  @Test(arguments: [
    (EAWiFiUnconfiguredAccessoryConfigurationStatus.success, "finished"), (.userCancelledConfiguration, "cancelled"),
    (.failed, "failed"),
  ])
  func aConfigurationEndsEverySearchAndHasOneOfThreeOutcomes(
    status: EAWiFiUnconfiguredAccessoryConfigurationStatus, outcome: String
  ) async throws {
    try await withSimulatedWorld { world in
      let lists = [AccessoryList(), AccessoryList()]
      let lamp = world.addUnconfigured(name: "Lamp")
      let searches = lists.map { list in Task { await list.browse() } }
      await world.expect { lists.allSatisfy { $0.allAvailableAccessories == [lamp] } }
      let configuration = Task { await lists[0].set(up: lamp, on: UIViewController()) }
      await world.expect { world.underConfiguration != nil }
      for search in searches { await search.value }
      #expect(lists.map(\.isSearching) == [false, false])
      world.finishConfiguration(status)
      await configuration.value
      #expect(lists[0].outcome == outcome)
    }
  }
}
