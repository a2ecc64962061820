import ExternalAccessory
import ExternalAccessorySimulation
import Testing

/// F: the flicker and its variants.
@Suite struct FlickerTests {
  /// Keeps a session as a sound client does: opens it when its protocol is there, lets go of it at the disconnect.
  private final class Client: @unchecked Sendable {
    private(set) var session: EASession?
    private(set) var log: [String] = []
    private var ear: Ear?
    /// Writes "open" too early, as an app does that does not look at the protocols.
    init() {
      manager.registerForLocalNotifications()
      ear = Ear { [unowned self] heard in
        let accessory = heard.accessory
        guard heard.name == "connect" else {
          if session?.accessory === accessory { session = nil }
          return log.append("lost")
        }
        guard accessory.protocolStrings.contains(glassesProtocol) else { return log.append("empty") }
        session = EASession(accessory: accessory, forProtocol: glassesProtocol)
        log.append(session == nil ? "refused" : "open")
      }
    }
  }

  @Test(arguments: ["flicker", "flicker,cycles=3", "flicker,auth=never"])
  func f1ConnectWithoutProtocolsThenDisconnectThenConnectWhole(quirk: String) async throws {
    var settings = SimulatedWorld.Settings()
    settings.publishesEarly = quirk.contains("never")
    try await withSimulatedWorld(settings) { world in
      let client = Client()
      try world.add("lawk-view", quirks: [quirk]).plugIn()
      await world.run { client.session != nil }
      let cycles = quirk.contains("3") ? 3 : 1
      #expect(client.log.prefix(2 * cycles) == (0..<cycles).flatMap { _ in ["empty", "lost"] }[...])
      #expect(client.log.last == "open")
    }
  }

  @Test func f1MadeByTheDevice() async throws {
    var settings = SimulatedWorld.Settings()
    settings.publishesEarly = true
    try await withSimulatedWorld(settings) { world in
      let client = Client()
      try world.add("lawk-view").plugIn()
      await world.run { client.session != nil }
      #expect(client.log == ["empty", "lost", "open"])
    }
  }

  @Test func f2TwoConnectsWithoutADisconnectBetween() async throws {
    try await withSimulatedWorld { world in
      let client = Client()
      for way in [try world.add("lawk-view"), try world.add("lawk-view")] {
        way.plugIn()
        await world.settle()
      }
      #expect(client.log == ["open", "open"])
      #expect(manager.connectedAccessories.count == 2)
    }
  }

  @Test func f3TheCableIsPulledWhileTheAppWaitsBeforeItOpens() async throws {
    try await withSimulatedWorld { world in
      let glasses = try world.add("lawk-view")
      glasses.plugIn()
      await world.settle()
      let accessory = try #require(manager.connectedAccessories.first)
      await world.advance(by: .seconds(1))
      glasses.pull()
      await world.advance(by: .milliseconds(500))
      #expect(!accessory.isConnected)
      #expect(EASession(accessory: accessory, forProtocol: glassesProtocol) == nil)
    }
  }

  @Test(arguments: ["authentication,wrong", "authentication,never", "identification,never"])
  func f4NoConnectThoughTheCableIsIn(quirk: String) async throws {
    try await withSimulatedWorld { world in
      let client = Client()
      let glasses = try world.add("lawk-view", quirks: [quirk])
      glasses.plugIn()
      await world.advance(by: .seconds(60))
      #expect(client.log == [])
      #expect(manager.connectedAccessories == [])
      #expect(glasses.isPluggedIn)
    }
  }

  @Test func f5TheConnectComesOnlyAfterALongAuthentication() async throws {
    try await withSimulatedWorld { world in
      let client = Client()
      try world.add("lawk-view", quirks: ["authentication,slow,delay=4s"]).plugIn()
      await world.advance(by: .milliseconds(3900))
      #expect(client.log == [])
      // What the rest takes beside the delay is not what this is about.
      await world.run(limit: .seconds(30)) { !client.log.isEmpty }
      #expect(client.log == ["open"])
    }
  }

  @Test func f6BackgroundDisconnectsAndForegroundConnects() async throws {
    try await withSimulatedWorld { world in
      let client = Client()
      try world.add("lawk-view").plugIn()
      await world.settle()
      world.move(to: .background)
      await world.settle()
      #expect(manager.connectedAccessories == [])
      world.move(to: .foreground)
      await world.settle()
      #expect(client.log == ["open", "lost", "open"])
    }
  }

  @Test func f7ALockOfThePhoneDropsNothingAndTheAccessorysSleepDoes() async throws {
    var settings = SimulatedWorld.Settings()
    settings.backgroundModes = ["external-accessory"]
    try await withSimulatedWorld(settings) { world in
      let client = Client()
      let glasses = try world.add("lawk-view")
      glasses.plugIn()
      await world.settle()
      world.move(to: .background)
      await world.advance(by: .seconds(600))
      #expect(client.log == ["open"])
      glasses.unplug()
      await world.settle()
      #expect(client.log == ["open", "lost"])
    }
  }

  @Test func f8AGhostIsListedAndConnectedAndGivesNoWorkingSession() async throws {
    try await withSimulatedWorld { world in
      let glasses = try world.add("lawk-view", quirks: ["session,ignore"])
      glasses.plugIn()
      await world.advance(by: .seconds(8 * 3600))
      let accessory = try #require(manager.connectedAccessories.first)
      #expect(accessory.isConnected)
      let session = try #require(EASession(accessory: accessory, forProtocol: glassesProtocol))
      let ear = StreamEar(session)
      session.start(ear)
      session.write([1])
      await world.advance(by: .seconds(60))
      #expect(ear.received == [])
    }
  }

  @Test func f9EverythingOpensAndWritesSucceedAndNoReplyComes() async throws {
    try await withSimulatedWorld { world in
      try world.add("echo", quirks: ["session,silent"]).plugIn()
      await world.settle()
      let accessory = try #require(manager.connectedAccessories.first)
      let session = try #require(EASession(accessory: accessory, forProtocol: "com.example.echo"))
      let ear = StreamEar(session)
      session.start(ear)
      #expect(session.write(counting(100)) == 100)
      await world.advance(by: .seconds(30))
      #expect(ear.all.prefix(3).sorted() == ["in open", "out open", "out space"])
      #expect(ear.received == [])
    }
  }

  @Test func f10ADisconnectAfterALockAsAScriptedCase() async throws {
    var settings = SimulatedWorld.Settings()
    settings.backgroundModes = ["external-accessory"]
    try await withSimulatedWorld(settings) { world in
      let client = Client()
      let glasses = try world.add("lawk-view")
      glasses.plugIn()
      await world.settle()
      world.move(to: .suspended)
      await world.advance(by: .seconds(30))
      glasses.unplug()
      await world.settle()
      #expect(client.log == ["open"])
      world.move(to: .foreground)
      await world.settle()
      #expect(client.log == ["open", "lost"])
    }
  }

  @Test func f11TheAccessoryEndsTheSessionAndStays() async throws {
    try await withSimulatedWorld { world in
      let client = Client()
      let glasses = try world.add("lawk-view")
      glasses.plugIn()
      await world.settle()
      let session = try #require(client.session)
      let ear = StreamEar(session)
      session.start(ear)
      await world.settle()
      glasses.closeSessions()
      await world.settle()
      #expect(ear.all.suffix(2) == ["in end", "out end"])
      #expect(client.log == ["open"])
      #expect(manager.connectedAccessories.count == 1)
    }
  }
}
