import ExternalAccessory
import ExternalAccessorySimulation
import Testing

/// Tests the app's process. The process is killed or crashes while a session is open, is launched again, is shared with
/// other listeners, and runs for a whole day.
@Suite struct ProcessTests {
  @Test(arguments: [true, false]) func s10AnAppThatEndsHearsNothingMoreAndItsSessionsClose(crashes: Bool) async throws {
    try await withOpenSession { world, parts in
      let (recorder, notices) = (parts.session.listen(), EventRecorder())
      manager.registerForLocalNotifications()
      await world.settle()
      let before = recorder.all
      if crashes { world.crashApp() } else { world.killApp() }
      await world.settle()
      #expect(!parts.far.isOpen)
      #expect(!world.isAppRunning)
      #expect(world.appState == nil)
      #expect(manager.connectedAccessories == [])
      #expect(parts.session.write([1]) == -1)
      parts.simulated.unplug()
      await world.settle()
      #expect(recorder.all == before)
      #expect(notices.words == [])
      #expect(EASession(accessory: parts.accessory, forProtocol: "com.example.echo") == nil)
    }
  }

  @Test func s11AnAppThatIsLaunchedAgainFindsWhatIsAttachedAndIsNotToldOfIt() async throws {
    try await withOpenSession { world, parts in
      manager.registerForLocalNotifications()
      world.killApp()
      await world.settle()
      world.launchApp()
      #expect(world.registrationCount == 0)
      let notices = EventRecorder()
      manager.registerForLocalNotifications()
      await world.settle()
      #expect(notices.words == [])
      let accessory = try #require(manager.connectedAccessories.first)
      #expect(accessory !== parts.accessory)
      #expect(accessory.connectionID == parts.accessory.connectionID)
      let session = try #require(EASession(accessory: accessory, forProtocol: "com.example.echo"))
      let recorder = session.listen()
      await world.settle()
      parts.simulated.sessions.last?.send([1, 2])
      await world.settle()
      #expect(recorder.received == [1, 2])
      #expect(world.misuses == [])
    }
  }

  /// On some systems (W21), the killed app's session remains open and prevents the next app from opening one.
  @Test(arguments: [true, false]) func s12ASessionThatIsLeftBehindMayBlockTheNextApp(blocks: Bool) async throws {
    try await withOpenSession(.with { $0.rules.otherApps = blocks ? .refused : .interrupted }) { world, parts in
      world.killApp(sessions: .left)
      await world.settle()
      #expect(parts.far.isOpen)
      world.launchApp()
      let accessory = try #require(manager.connectedAccessories.first)
      #expect((EASession(accessory: accessory, forProtocol: "com.example.echo") == nil) == blocks)
      await world.settle()
      #expect(parts.far.isOpen == blocks)
      // After the accessory has been unplugged and plugged in again, the app can open a session.
      parts.simulated.unplug()
      await world.settle()
      parts.simulated.plugIn()
      await world.settle()
      let again = try #require(manager.connectedAccessories.first)
      #expect(EASession(accessory: again, forProtocol: "com.example.echo") != nil)
    }
  }

  @Test func s13ACrashLosesWhatHasNotLeftTheDeviceAndAKillDoesNot() async throws {
    for crashes in [false, true] {
      try await withOpenSession { world, parts in
        parts.session.outputStream?.open()
        await world.settle()
        #expect(parts.session.write([1, 2, 3]) == 3)
        if crashes { world.crashApp() } else { world.killApp() }
        await world.settle()
        #expect(parts.far.received == (crashes ? [] : [1, 2, 3]))
      }
    }
  }

  @Test func aSecondListenerTakesTheSessionOfItsProtocolAlone() async throws {
    try await withSimulatedWorld { world in
      let sdk = SecondListener(opening: "com.example.echo")
      sdk.register()
      try await world.plugIn("echo")
      #expect(sdk.sessions.count == 1)
      #expect(world.openSessions == ["a session on com.example.echo is still open"])
      sdk.stop()
      await world.settle()
      #expect(world.openSessions == [])
    }
  }

  @Test func aDayOfVirtualTimeIsCheap() async throws {
    try await withOpenSession { world, parts in
      let recorder = parts.session.listen()
      await world.settle()
      let (events, begun) = (world.events.count, Date())
      await world.advance(by: .seconds(24 * 60 * 60))
      #expect(Date().timeIntervalSince(begun) < 60)
      #expect(world.events.count == events)
      parts.far.send([9])
      await world.settle()
      #expect(recorder.received == [9])
    }
  }
}
