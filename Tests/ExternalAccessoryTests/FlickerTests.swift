import AccessoryHost
import ExternalAccessory
import ExternalAccessorySimulation
import Testing

/// Tests the flicker and its variants: behaviors F1, F2, … in docs/external-accessory.md.
@Suite struct FlickerTests {
  /// Keeps a session open the way a robust client would. Opens the session when the protocol is offered, and releases
  /// the session when the accessory disconnects.
  private final class Client: @unchecked Sendable {
    private(set) var session: EASession?
    private(set) var log: [String] = []
    private var recorder: EventRecorder?
    init() {
      manager.registerForLocalNotifications()
      recorder = EventRecorder { [unowned self] heard in
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

  /// The accessory flickers, or the device makes it appear to flicker.
  @Test(arguments: [["flicker"], ["flicker,cycles=3"], ["flicker,auth=never"], []])
  func f1ConnectWithoutProtocolsThenDisconnectThenConnectWhole(quirks: [String]) async throws {
    let isEarly = quirks.first?.contains("never") ?? true
    try await withSimulatedWorld(.with { $0.publishesEarly = isEarly }) { world in
      let client = Client()
      try world.add("lawk-view", quirks: quirks).plugIn()
      await world.run { client.session != nil }
      let cycles = quirks == ["flicker,cycles=3"] ? 3 : 1
      #expect(client.log.prefix(2 * cycles) == (0..<cycles).flatMap { _ in ["empty", "lost"] }[...])
      #expect(client.log.last == "open")
    }
  }

  @Test func f3AndE3TheCableIsPulledWhileTheAppWaitsBeforeItOpens() async throws {
    try await withSimulatedWorld { world in
      let recorder = EventRecorder.registered()
      let glasses = try await world.plugIn("lawk-view")
      let accessory = try #require(recorder.heard.first?.accessory)
      await world.advance(by: .seconds(1))
      glasses.pull()
      await world.advance(by: .milliseconds(500))
      #expect(recorder.words == ["connect 1", "disconnect 1"])
      #expect(!accessory.isConnected)
      #expect(EASession(accessory: accessory, forProtocol: glassesProtocol) == nil)
    }
  }

  /// The system has connected the accessory but notifies no app. In milder cases, the system notifies only the app in
  /// the foreground.
  @Test(arguments: [AppRules.LostConnects.all, .outsideForeground])
  func f4NoConnectThoughTheAccessoryIsInTheList(lost: AppRules.LostConnects) async throws {
    var settings = SimulatedWorld.Settings()
    settings.backgroundModes = ["external-accessory"]
    settings.rules.lostConnects = lost
    try await withSimulatedWorld(settings) { world in
      let client = Client()
      world.move(to: .background)
      let glasses = try world.add("lawk-view")
      glasses.plugIn()
      await world.advance(by: .seconds(60))
      #expect(client.log == [])
      #expect(manager.connectedAccessories.map(\.isConnected) == [true])
      world.move(to: .foreground)
      await world.unplug(glasses)
      await world.plugIn(glasses)
      #expect(client.log == (lost == .all ? ["lost"] : ["lost", "open"]))
    }
  }

  @Test(arguments: [
    "authentication,refuse", "authentication,wrong", "authentication,never", "identification,never",
  ])
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
      // The certificate and the signature are both late.
      await world.advance(by: .milliseconds(7900))
      #expect(client.log == [])
      await world.advance(by: .milliseconds(200))
      #expect(client.log == ["open"])
    }
  }

  /// An accessory disconnected hours ago without the system noticing, so the list still contains a stale entry that
  /// claims to be connected. A session with the absent accessory ends once its first bytes have gone unacknowledged for
  /// too long.
  @Test func f8AGhostIsListedAndConnectedAndGivesNoWorkingSession() async throws {
    try await withSimulatedWorld { world in
      let recorder = EventRecorder.registered()
      let echo = try world.add("echo")
      echo.takeSessions()
      echo.plugIn()
      // Waits until the last message of the setup has been acknowledged. If the device were still waiting for that
      // acknowledgement, it would detect the loss on its own.
      await world.advance(by: .seconds(1))
      echo.pull(unnoticed: true)
      await world.advance(by: .seconds(8 * 3600))
      #expect(!echo.isPluggedIn)
      #expect(recorder.words == ["connect 1"])
      let ghost = try #require(manager.connectedAccessories.first)
      #expect(ghost.isConnected)
      let session = try #require(EASession(accessory: ghost, forProtocol: "com.example.echo"))
      let streams = session.listen()
      #expect(session.write([1]) == 1)
      await world.advance(by: .seconds(1))
      #expect(echo.sessions.isEmpty)
      #expect(streams.received == [])
      await world.run(limit: .seconds(120)) { recorder.words.count == 2 }
      #expect(recorder.words == ["connect 1", "disconnect 1"])
      #expect(recorder.heard.last?.accessory === ghost)
      #expect(streams.all.suffix(2) == ["in end", "out end"])
    }
  }

  /// The accessory connects again while the list still contains its stale entry. The list then has two entries with the
  /// same serial number, of which only the newer works.
  @Test func f8TheAccessoryComesBackBesideItsGhost() async throws {
    try await withSimulatedWorld { world in
      let echo = try world.add("echo")
      echo.plugIn()
      await world.advance(by: .seconds(1))
      echo.pull(unnoticed: true)
      await world.advance(by: .seconds(60))
      await world.plugIn(echo)
      let (ghost, live) = (try #require(manager.connectedAccessories.first), manager.connectedAccessories.last)
      #expect(manager.connectedAccessories.count == 2)
      #expect(ghost.serialNumber == live?.serialNumber)
      let session = try #require(live.flatMap { EASession(accessory: $0, forProtocol: "com.example.echo") })
      let streams = session.listen()
      session.write([1, 2])
      await world.settle()
      #expect(streams.received == [1, 2])
    }
  }

  @Test func f9EverythingOpensAndWritesSucceedAndNoReplyComesTheFirstTime() async throws {
    try await withSimulatedWorld { world in
      try await world.plugIn("echo", quirks: ["session,silent,times=1"])
      let accessory = try #require(manager.connectedAccessories.first)
      for isFirst in [true, false] {
        let session = try #require(EASession(accessory: accessory, forProtocol: "com.example.echo"))
        let recorder = session.listen()
        #expect(session.write(counting(100)) == 100)
        await world.advance(by: .seconds(30))
        #expect(Set(recorder.all).isSuperset(of: ["in open", "out open", "out space"]))
        #expect(recorder.received == (isFirst ? [] : counting(100)))
        #expect(accessory.isConnected)
        session.stop()
      }
    }
  }

  /// The reports describe this case in no more detail than F7 (locking the device), so the test uses a plausible
  /// sequence. The device is locked, the accessory turns itself off a minute later, and the app is notified when the
  /// device is unlocked. If the app declares the background mode, locking the device changes nothing by itself. Without
  /// the background mode, the app loses all accessories.
  @Test(arguments: [true, false]) func f7AndF10ADisconnectAfterALockAsAScriptedCase(keepsAccessories: Bool) async throws
  {
    var settings = SimulatedWorld.Settings()
    settings.backgroundModes = keepsAccessories ? ["external-accessory"] : []
    try await withSimulatedWorld(settings) { world in
      let client = Client()
      let glasses = try await world.plugIn("lawk-view")
      let session = try #require(client.session)
      let streams = session.listen()
      await world.settle()
      // The device is locked, so the app moves to the background and is suspended a few seconds later.
      world.move(to: .background)
      await world.advance(by: .seconds(5))
      world.move(to: .suspended)
      await world.advance(by: .seconds(55))
      #expect(client.log == (keepsAccessories ? ["open"] : ["open", "lost"]))
      #expect(streams.all.contains("in end") == !keepsAccessories)
      glasses.pull()
      await world.advance(by: .seconds(3600))
      #expect(client.log == (keepsAccessories ? ["open"] : ["open", "lost"]))
      // The device is unlocked.
      world.move(to: .foreground)
      await world.settle()
      #expect(client.log == ["open", "lost"])
      #expect(streams.all.suffix(2) == ["in end", "out end"])
      #expect(manager.connectedAccessories == [])
      await world.plugIn(glasses)
      #expect(client.log == ["open", "lost", "open"])
    }
  }
}
