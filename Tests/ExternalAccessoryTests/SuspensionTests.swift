import ExternalAccessory
import ExternalAccessorySimulation
import Testing

/// Tests how apps are suspended and behave in the background: behaviors S1, S2, … in docs/external-accessory.md.
@Suite struct SuspensionTests {
  private var keeping: SimulatedWorld.Settings {
    var settings = SimulatedWorld.Settings()
    settings.backgroundModes = ["external-accessory"]
    return settings
  }

  @Test(arguments: [true, false]) func s1NoticesOfASuspendedAppComeWhenItRunsAgain(inForeground: Bool) async throws {
    try await withSimulatedWorld(keeping) { world in
      let recorder = EventRecorder.registered()
      world.move(to: .suspended)
      try await world.plugIn("lawk-view")
      #expect(recorder.words == [])
      world.move(to: inForeground ? .foreground : .background)
      await world.settle()
      #expect(recorder.words == ["connect 1"])
    }
  }

  @Test func s2AConnectAndItsDisconnectWhileSuspendedAreNeverHeardOf() async throws {
    try await withSimulatedWorld(keeping) { world in
      let recorder = EventRecorder.registered()
      let glasses = try world.add("lawk-view")
      world.move(to: .suspended)
      await world.plugIn(glasses)
      await world.unplug(glasses)
      world.move(to: .foreground)
      await world.settle()
      #expect(recorder.words == [])
    }
  }

  @Test(arguments: [0, 1, 2]) func s3ADisconnectAndAConnectWhileSuspended(rule: Int) async throws {
    var settings = keeping
    settings.rules.reattachment = [.both, .nothing, .connectOnly][rule]
    try await withSimulatedWorld(settings) { world in
      let recorder = EventRecorder.registered()
      let glasses = try await world.plugIn("lawk-view")
      world.move(to: .suspended)
      await world.unplug(glasses)
      await world.plugIn(glasses)
      world.move(to: .foreground)
      await world.settle()
      let later: [[String]] = [["disconnect 1", "connect 1"], [], ["connect 1"]]
      #expect(recorder.words == ["connect 1"] + later[rule])
    }
  }

  @Test func s4WithTheModeTheSessionStaysAndBytesWakeTheApp() async throws {
    try await withSimulatedWorld(keeping) { world in
      let recorder = EventRecorder.registered()
      let parts = try await open(world)
      let streams = parts.session.listen()
      await world.settle()
      world.move(to: .suspended)
      await world.advance(by: .seconds(100))
      parts.far.send([1, 2])
      await world.settle()
      #expect(streams.received == [1, 2])
      #expect(recorder.words == ["connect 1"])
      #expect(world.appState == .background)
    }
  }

  @Test(arguments: [true, false]) func s5AndF6WithoutTheModeTheBackgroundTakesAccessoriesAndSessions(
    declares: Bool
  ) async throws {
    var settings = keeping
    settings.rules.honorsBackgroundMode = false
    if !declares { settings = SimulatedWorld.Settings() }
    try await withSimulatedWorld(settings) { world in
      let recorder = EventRecorder.registered()
      try world.add("echo").plugIn()
      try await world.plugIn("lawk-view")
      let accessory = try #require(manager.connectedAccessories.first)
      let session = try #require(EASession(accessory: accessory, forProtocol: accessory.protocolStrings[0]))
      let streams = session.listen()
      await world.settle()
      world.move(to: .background)
      await world.settle()
      #expect(streams.all.suffix(2) == ["in end", "out end"])
      world.move(to: .foreground)
      await world.settle()
      #expect(
        recorder.words == ["connect 1", "connect 1", "disconnect 1", "disconnect 1", "connect 1", "connect 1"])
    }
  }

  @Test(arguments: [true, false]) func s5AnAccessoryThatComesInTheBackgroundIsToldOfThereOrLater(
    keeps: Bool
  ) async throws {
    try await withSimulatedWorld(keeps ? keeping : SimulatedWorld.Settings()) { world in
      let recorder = EventRecorder.registered()
      world.move(to: .background)
      try await world.plugIn("echo")
      #expect(recorder.words == (keeps ? ["connect 1"] : []))
      #expect(manager.connectedAccessories.count == (keeps ? 1 : 0))
      world.move(to: .foreground)
      await world.settle()
      #expect(recorder.words == ["connect 1"])
    }
  }

  @Test func s6AWokenAppIsSuspendedAgainAfterAWhile() async throws {
    var settings = keeping
    settings.rules.wakeTime = .seconds(10)
    try await withOpenSession(settings) { world, parts in
      await world.settle()
      world.move(to: .suspended)
      parts.far.send([1])
      await world.advance(by: .seconds(9))
      #expect(world.appState == .background)
      await world.advance(by: .seconds(2))
      #expect(world.appState == .suspended)
      #expect(parts.session.accessory === parts.accessory)
    }
  }

  @Test func s7AsOniOS11BytesDoNotWakeTheApp() async throws {
    var settings = keeping
    settings.rules.wakesForBytes = false
    try await withOpenSession(settings) { world, parts in
      let streams = parts.session.listen()
      await world.settle()
      world.move(to: .suspended)
      parts.far.send([1])
      await world.advance(by: .seconds(60))
      #expect(world.appState == .suspended)
      #expect(streams.received == [])
      world.move(to: .foreground)
      await world.settle()
      #expect(streams.received == [1])
    }
  }

  /// The test cannot crash the system's own daemon (docs/external-accessory.md describes what was tried). Instead, the
  /// test simulates what apps see when the daemon crashes. Without warning and in the middle of a transfer, all
  /// accessories on all cables disconnect at once, and then return with new connection IDs.
  @Test func s8EverythingGoesAtOnceAndComesBackAsWhenTheDaemonCrashed() async throws {
    try await withSimulatedWorld(keeping) { world in
      let recorder = EventRecorder.registered()
      let simulated = [try world.add("echo"), try world.add("lawk-view"), try world.add("sensor")]
      for accessory in simulated { accessory.plugIn() }
      await world.settle()
      let before = manager.connectedAccessories
      #expect(before.count == 3)
      let sessions = try before.map { accessory in
        try #require(EASession(accessory: accessory, forProtocol: accessory.protocolStrings[0]))
      }
      let streams = sessions.map { $0.listen() }
      await world.settle()
      world.move(to: .background)
      for accessory in simulated { accessory.pull() }
      await world.settle()
      #expect(manager.connectedAccessories == [])
      for recorder in streams { #expect(recorder.all.suffix(2) == ["in end", "out end"]) }
      for session in sessions { #expect(session.write([1]) == -1) }
      for accessory in simulated { accessory.plugIn() }
      await world.settle()
      #expect(
        recorder.heard.map(\.name).suffix(6) == ["disconnect", "disconnect", "disconnect"]
          + Array(repeating: "connect", count: 3))
      let (old, new) = (before.map(\.connectionID), manager.connectedAccessories.map(\.connectionID))
      #expect(new.count == 3)
      #expect(Set(old).isDisjoint(with: new))
    }
  }

  /// The app is suspended after it has created the `EASession` and before `openCompleted`. No event is delivered until
  /// the app runs again, and no event is lost. The test runs on the main actor, so that no event is delivered before
  /// the app is suspended.
  @Test @MainActor func s9AnAppThatIsSuspendedWhileItOpensHearsOfItsStreamsLater() async throws {
    try await withSimulatedWorld(keeping) { world in
      world.move(to: .background)
      try await world.plugIn("echo")
      let accessory = try #require(manager.connectedAccessories.first)
      let session = try #require(EASession(accessory: accessory, forProtocol: "com.example.echo"))
      let streams = session.listen()
      world.move(to: .suspended)
      await world.advance(by: .seconds(60))
      #expect(streams.all == [])
      world.move(to: .foreground)
      await world.settle()
      #expect(streams.all.sorted() == ["in open", "out open", "out space"])
      session.write([1, 2])
      await world.settle()
      #expect(streams.received == [1, 2])
    }
  }
}
