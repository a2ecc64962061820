import ExternalAccessory
import ExternalAccessoryAppStandIns
import ExternalAccessoryAsync
import ExternalAccessorySimulation
import Testing

@Suite struct BrowserTests {
  final class Listener: NSObject, EAWiFiUnconfiguredAccessoryBrowserDelegate, @unchecked Sendable {
    private(set) var words: [String] = [] { didSet { told() } }
    private let told: () -> Void

    init(told: @escaping () -> Void = {}) { self.told = told }

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

  /// The delegate is called on the given queue or, if none is given, on the main queue. The delegate is not retained.
  @Test(arguments: [false, true]) func b1TheDelegateIsToldOnItsQueueAndNotHeld(hasQueue: Bool) async throws {
    final class Places: @unchecked Sendable {
      static let key = DispatchSpecificKey<Bool>()
      private let lock = NSLock()
      private var places: [(isOwn: Bool, isMain: Bool)] = []
      var isOwn: [Bool] { lock.withLock { places.map(\.isOwn) } }
      var isMain: [Bool] { lock.withLock { places.map(\.isMain) } }

      func note() {
        let place = (DispatchQueue.getSpecific(key: Self.key) ?? false, OperationQueue.current === OperationQueue.main)
        lock.withLock { places.append(place) }
      }
    }
    let places = Places()
    let queue = DispatchQueue(label: "the browser's")
    queue.setSpecific(key: Places.key, value: true)
    try await withSimulatedWorld { world in
      var listener: Listener? = Listener { places.note() }
      weak let held = listener
      let browser = EAWiFiUnconfiguredAccessoryBrowser(delegate: listener, queue: hasQueue ? queue : nil)
      let lamp = world.addUnconfigured(name: "Lamp")
      browser.startSearchingForUnconfiguredAccessories(matching: nil)
      world.removeUnconfigured(lamp)
      browser.configureAccessory(lamp, withConfigurationUIOn: NSObject())
      world.finishConfiguration(.success)
      await world.settle()
      await withCheckedContinuation { told in queue.async { told.resume() } }
      // The events in order: searching, found, removed, configuring, finished, stopped.
      #expect(places.isOwn == Array(repeating: hasQueue, count: 6))
      #expect(places.isMain == Array(repeating: !hasQueue, count: 6))
      #expect(listener != nil)
      listener = nil
      #expect(held == nil)
      #expect(browser.delegate == nil)
    }
  }

  @Test func b2CallbacksCarryTheDifferenceAndThePropertyTheWhole() async throws {
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

  @Test func b3ThePredicateIsAskedAboutTheAccessory() async throws {
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
  func b4AConfigurationEndsEverySearchAndIsReportedToEveryBrowser(
    status: EAWiFiUnconfiguredAccessoryConfigurationStatus, order: SimulatedWorld.Settings.ConfigurationOrder
  ) async throws {
    try await withSimulatedWorld(.with { $0.configurationOrder = order }) { world in
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

  @Test func b4ASecondConfigurationAtTheSameTimeFails() async throws {
    try await withSimulatedWorld { world in
      let listener = Listener()
      let browser = EAWiFiUnconfiguredAccessoryBrowser(delegate: listener, queue: nil)
      let (lamp, speaker) = (world.addUnconfigured(name: "Lamp"), world.addUnconfigured(name: "Speaker"))
      for accessory in [lamp, speaker, lamp] {
        browser.configureAccessory(accessory, withConfigurationUIOn: await UIViewController())
      }
      await world.settle()
      #expect(listener.words == ["configuring", "Speaker failed"])
      #expect(world.underConfiguration === lamp)
      world.finishConfiguration(.success)
      await world.settle()
      #expect(listener.words.suffix(2) == ["Lamp success", "stopped"])
    }
  }

  /// The search no longer finds an accessory that has been configured. A browser that did not start the search is
  /// notified only of state changes.
  @Test(arguments: [EAWiFiUnconfiguredAccessoryConfigurationStatus.success, .failed])
  func b4AConfiguredAccessoryIsNotFoundAgain(status: EAWiFiUnconfiguredAccessoryConfigurationStatus) async throws {
    try await withSimulatedWorld { world in
      let listeners = [Listener(), Listener()]
      let browsers = listeners.map { EAWiFiUnconfiguredAccessoryBrowser(delegate: $0, queue: nil) }
      let lamp = world.addUnconfigured(name: "Lamp")
      browsers[0].startSearchingForUnconfiguredAccessories(matching: nil)
      browsers[0].configureAccessory(lamp, withConfigurationUIOn: NSObject())
      world.finishConfiguration(status)
      await world.settle()
      let before = listeners.map(\.words.count)
      browsers[1].startSearchingForUnconfiguredAccessories(matching: nil)
      await world.settle()
      #expect(listeners[0].words.dropFirst(before[0]) == ["searching"])
      #expect(
        listeners[1].words.dropFirst(before[1]) == (status == .success ? ["searching"] : ["searching", "found Lamp"]))
    }
  }

  /// If no failure were reported, the caller would wait forever.
  @Test func b4AConfigurationUnfinishedAtTheEndOfTheWorldFails() async throws {
    let listener = Listener()
    try await withSimulatedWorld { world in
      let browser = EAWiFiUnconfiguredAccessoryBrowser(delegate: listener, queue: nil)
      browser.configureAccessory(world.addUnconfigured(name: "Lamp"), withConfigurationUIOn: NSObject())
      await world.settle()
      world.end()
      await world.settle()
      #expect(listener.words == ["configuring", "Lamp failed", "stopped"])
      #expect(browser.delegate === listener)
    }
  }

  @Test func b5WithoutWiFiNothingIsFoundAndAConfigurationFails() async throws {
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

  @Test func b6AsyncWhoLeavesTheLoopEndsTheSearch() async throws {
    try await withSimulatedWorld { world in
      let listener = Listener()
      let browser = EAWiFiUnconfiguredAccessoryBrowser(delegate: listener, queue: nil)
      world.addUnconfigured(name: "Lamp")
      for await _ in UnconfiguredExternalAccessoryBrowser() { break }
      await world.settle()
      #expect(listener.words == ["searching", "stopped"])
      #expect(browser.unconfiguredAccessories == [])
    }
  }

  @Test(arguments: [EAWiFiUnconfiguredAccessoryConfigurationStatus.success, .userCancelledConfiguration, .failed])
  func b6AsyncASearchEndsWhenAConfigurationBegins(
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
