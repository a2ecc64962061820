import ExternalAccessory
import ExternalAccessoryAsync
import ExternalAccessorySimulation
import Testing

/// The browser for accessories that wait to be configured for a wireless network.
@Suite struct BrowserTests {
  final class Listener: NSObject, EAWiFiUnconfiguredAccessoryBrowserDelegate, @unchecked Sendable {
    private(set) var words: [String] = []

    func accessoryBrowser(
      _ browser: EAWiFiUnconfiguredAccessoryBrowser, didUpdate state: EAWiFiUnconfiguredAccessoryBrowserState
    ) { words.append("\(state)") }

    func accessoryBrowser(
      _ browser: EAWiFiUnconfiguredAccessoryBrowser,
      didFindUnconfiguredAccessories accessories: Set<EAWiFiUnconfiguredAccessory>
    ) { words.append("found " + accessories.map(\.name).sorted().joined(separator: " ")) }

    func accessoryBrowser(
      _ browser: EAWiFiUnconfiguredAccessoryBrowser,
      didRemoveUnconfiguredAccessories accessories: Set<EAWiFiUnconfiguredAccessory>
    ) { words.append("removed " + accessories.map(\.name).sorted().joined(separator: " ")) }

    func accessoryBrowser(
      _ browser: EAWiFiUnconfiguredAccessoryBrowser,
      didFinishConfiguringAccessory accessory: EAWiFiUnconfiguredAccessory,
      with status: EAWiFiUnconfiguredAccessoryConfigurationStatus
    ) { words.append("\(accessory.name) \(status)") }
  }

  @Test func callbacksCarryTheDifferenceAndThePropertyTheWhole() async throws {
    try await withSimulatedWorld { world in
      let listener = Listener()
      let browser = EAWiFiUnconfiguredAccessoryBrowser(delegate: listener, queue: nil)
      let lamp = world.addUnconfigured(name: "Lamp")
      browser.startSearchingForUnconfiguredAccessories(matching: nil)
      world.addUnconfigured(name: "Speaker", properties: .propertySupportsAirPlay)
      world.removeUnconfigured(lamp)
      await world.settle()
      #expect(listener.words == ["searching", "found Lamp", "found Speaker", "removed Lamp"])
      #expect(browser.unconfiguredAccessories.map(\.name) == ["Speaker"])
      browser.stopSearchingForUnconfiguredAccessories()
      world.addUnconfigured(name: "Late")
      await world.settle()
      #expect(listener.words.last == "stopped")
    }
  }

  @Test func thePredicateIsAskedAboutTheAccessory() async throws {
    try await withSimulatedWorld { world in
      let listener = Listener()
      let browser = EAWiFiUnconfiguredAccessoryBrowser(delegate: listener, queue: nil)
      world.addUnconfigured(name: "Lamp")
      world.addUnconfigured(name: "Speaker")
      let predicate = NSPredicate { accessory, _ in (accessory as? EAWiFiUnconfiguredAccessory)?.name == "Lamp" }
      browser.startSearchingForUnconfiguredAccessories(matching: predicate)
      await world.settle()
      #expect(listener.words == ["searching", "found Lamp"])
    }
  }

  @Test(
    arguments: [EAWiFiUnconfiguredAccessoryConfigurationStatus.success, .userCancelledConfiguration, .failed],
    SimulatedWorld.Settings.ConfigurationOrder.allCases)
  func configuringEndsEverySearchAndIsToldToEveryBrowser(
    status: EAWiFiUnconfiguredAccessoryConfigurationStatus, order: SimulatedWorld.Settings.ConfigurationOrder
  ) async throws {
    var settings = SimulatedWorld.Settings()
    settings.configurationOrder = order
    try await withSimulatedWorld(settings) { world in
      let listeners = [Listener(), Listener()]
      let browsers = listeners.map { EAWiFiUnconfiguredAccessoryBrowser(delegate: $0, queue: nil) }
      let lamp = world.addUnconfigured(name: "Lamp")
      browsers[0].startSearchingForUnconfiguredAccessories(matching: nil)
      browsers[1].configureAccessory(lamp, withConfigurationUIOn: NSObject())
      #expect(world.underConfiguration === lamp)
      world.finishConfiguration(status)
      await world.settle()
      let end = order == .finishedFirst ? ["Lamp \(status)", "stopped"] : ["stopped", "Lamp \(status)"]
      #expect(listeners[0].words == ["searching", "found Lamp", "configuring"] + end)
      #expect(listeners[1].words == ["searching", "configuring"] + end)
    }
  }

  @Test func withoutWiFiNothingIsFoundAndAConfigurationFails() async throws {
    try await withSimulatedWorld { world in
      let listener = Listener()
      let browser = EAWiFiUnconfiguredAccessoryBrowser(delegate: listener, queue: nil)
      let lamp = world.addUnconfigured(name: "Lamp")
      browser.configureAccessory(lamp, withConfigurationUIOn: NSObject())
      world.turnWiFi(on: false)
      browser.startSearchingForUnconfiguredAccessories(matching: nil)
      await world.settle()
      #expect(listener.words == ["configuring", "Lamp failed", "wiFiUnavailable", "wiFiUnavailable"])
      world.turnWiFi(on: true)
      await world.settle()
      #expect(listener.words.last == "stopped")
    }
  }

  @Test(arguments: [EAWiFiUnconfiguredAccessoryConfigurationStatus.success, .userCancelledConfiguration, .failed])
  func asyncASearchEndsWhenAConfigurationBegins(
    status: EAWiFiUnconfiguredAccessoryConfigurationStatus
  ) async throws {
    try await withSimulatedWorld { world in
      let lamp = world.addUnconfigured(name: "Lamp")
      var events = UnconfiguredExternalAccessoryBrowser().makeAsyncIterator()
      let configuration = Task { () -> UnconfiguredExternalAccessory.ConfigurationError? in
        do throws(UnconfiguredExternalAccessory.ConfigurationError) {
          try await lamp.configure(on: NSObject())
        } catch {
          return error
        }
        return nil
      }
      await world.run { world.underConfiguration != nil }
      world.finishConfiguration(status)
      await world.settle()
      var found: [String] = []
      while let event = await events.next() {
        if case .didFindUnconfiguredAccessories(let accessories) = event { found += accessories.map(\.name) }
      }
      #expect(found == ["Lamp"])
      let failures: [UnconfiguredExternalAccessory.ConfigurationError?] = [nil, .cancelled, .failed]
      #expect(await configuration.value == failures[status.rawValue])
    }
  }
}
