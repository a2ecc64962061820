import ExternalAccessory
import ExternalAccessoryAsync
import ExternalAccessorySimulation
import Foundation
import Testing

/// Patterns of client code that once failed with easim.
@Suite struct FieldShapeTests {
  /// The client keeps only the streams, and opens them after it has released the session object.
  @Test func e11StreamsMayBeOpenedAfterTheSessionWasLetGoOf() async throws {
    try await withSimulatedWorld { world in
      let (simulated, accessory) = try await plugInEcho(world)
      var session = EASession(accessory: accessory, forProtocol: "com.example.echo")
      let recorder = StreamRecorder(try #require(session))
      var streams: [Stream] = [session?.inputStream, session?.outputStream].compactMap(\.self)
      session = nil
      await world.settle()
      for stream in streams {
        stream.delegate = recorder
        stream.schedule(in: .main, forMode: .default)
        stream.open()
      }
      await world.settle()
      simulated.sessions.first?.send([1, 2])
      await world.settle()
      #expect(recorder.received == [1, 2])
      #expect((streams[1] as? OutputStream)?.write([3], maxLength: 1) == 1)
      await world.settle()
      #expect(simulated.sessions.first?.received == [3])
      // Deallocating a stream also closes it.
      for stream in streams { stream.close() }
      streams = []
      await world.settle()
      #expect(simulated.sessions.first?.isOpen == false)
      #expect(world.openSessions == [])
    }
  }

  @MainActor private func startOnCurrent(_ session: EASession, _ recorder: StreamRecorder) {
    session.start(recorder, on: .current)
  }

  @MainActor private func removeFromCurrent(_ session: EASession) {
    session.inputStream?.remove(from: .current, forMode: .default)
  }

  @Test @MainActor func t24TheCurrentLoopOfTheMainActorIsTheMainLoop() async throws {
    try await withOpenSession { world, parts in
      let recorder = StreamRecorder(parts.session)
      startOnCurrent(parts.session, recorder)
      parts.far.send([1, 2, 3])
      await world.settle()
      #expect(recorder.received == [1, 2, 3])
      removeFromCurrent(parts.session)
      parts.far.send([4])
      await world.settle()
      #expect(recorder.received == [1, 2, 3])
      parts.session.inputStream?.schedule(in: .main, forMode: .default)
      await world.settle()
      #expect(recorder.received == [1, 2, 3, 4])
      #expect(world.misuses == [])
    }
  }

  @Test func t25AScheduleOnALoopThatNeverRunsIsAMisuse() async throws {
    try await withOpenSession { world, parts in
      let (recorder, session) = (StreamRecorder(parts.session), parts.session)
      let thread = DeadLoop { session.start(recorder, on: .current) }
      await world.settle()
      let sentence = Misuse.stream("com.example.echo", .deadLoop).description
      #expect(world.misuses == [sentence, sentence], "one for each stream")
      #expect(recorder.all == [])
      _ = thread
      session.stop()
    }
  }

  /// If the run loop were not woken, it would take an hour to notice the stream's pending signal.
  @Test func aSignalOnADeadLoopWakesALivingOneThatSleeps() async throws {
    try await withSimulatedWorld { world in
      let waiting = try await byteForADeadLoop(world)
      let living = LoopThread(slice: 3_600)
      waiting.parts.session.inputStream?.schedule(in: living.loop, forMode: .default)
      await world.run { waiting.recorder.received == [5] }
      #expect(waiting.recorder.received == [5])
      waiting.parts.session.stop()
      living.stop()
    }
  }

  /// In a test, the main run loop does not run. In its place, the main queue must handle the pending signal.
  @Test func aSignalOnADeadLoopReachesTheMainLoopThatIsAdded() async throws {
    try await withSimulatedWorld { world in
      let waiting = try await byteForADeadLoop(world)
      waiting.parts.session.inputStream?.schedule(in: .main, forMode: .default)
      await world.run { waiting.recorder.received == [5] }
      #expect(waiting.recorder.received == [5])
      waiting.parts.session.stop()
    }
  }

  private func byteForADeadLoop(
    _ world: SimulatedWorld
  ) async throws -> (parts: Open, recorder: StreamRecorder, loop: DeadLoop) {
    let parts = try await open(world)
    let recorder = StreamRecorder(parts.session)
    let loop = DeadLoop { parts.session.start(recorder, on: .current) }
    parts.far.send([5])
    await world.settle()
    #expect(recorder.received == [])
    return (parts, recorder, loop)
  }

  @Test func t23AStreamIsItsOwnDelegateUntilItHasOneAndAfterNil() async throws {
    try await withOpenSession { world, parts in
      let recorder = StreamRecorder(parts.session)
      for stream in [parts.session.inputStream, parts.session.outputStream] as [Stream?] {
        let stream = try #require(stream)
        #expect(stream.delegate === stream)
        stream.delegate = recorder
        #expect(stream.delegate === recorder)
        stream.delegate = nil
        #expect(stream.delegate === stream)
        // A stream that is open but not scheduled may be polled, so this is not a misuse.
        stream.open()
      }
      await world.settle()
      #expect(world.misuses == [])
      parts.session.inputStream?.schedule(in: .main, forMode: .default)
      await world.settle()
      #expect(world.misuses == [Misuse.stream("com.example.echo", .ownDelegate).description])
      // A stream without a delegate keeps its events for the next delegate.
      parts.session.inputStream?.delegate = recorder
      await world.settle()
      #expect(recorder.all == ["in open"])
    }
  }

  /// Some clients set the delegate last, but still before the run loop runs.
  @Test func aDelegateThatIsSetLastInOneTurnIsNoMisuse() async throws {
    try await withOpenSession { world, parts in
      let (recorder, session) = (StreamRecorder(parts.session), parts.session)
      DispatchQueue.main.sync {
        session.inputStream?.schedule(in: .main, forMode: .default)
        session.inputStream?.open()
        session.inputStream?.delegate = recorder
      }
      await world.settle()
      #expect(recorder.all == ["in open"])
      #expect(world.misuses == [])
    }
  }

  /// Covers a subclass that overrides Apple's initializer, the use of the initializer as a value, and the async form.
  @Test func anOpeningIsNamedInEveryWayToOpen() async throws {
    final class Named: EASession, @unchecked Sendable {
      override init?(accessory: EAAccessory, forProtocol protocolString: String) {
        super.init(accessory: accessory, forProtocol: protocolString)
      }
    }
    try await withSimulatedWorld { world in
      let (_, accessory) = try await plugInEcho(world)
      let open: (EAAccessory, String) -> EASession? = EASession.init
      let line = #line
      let sessions: [EASession?] = [
        Named(accessory: accessory, forProtocol: "com.example.echo"), open(accessory, "com.example.echo"),
        try AccessoryConnection(to: accessory, for: "com.example.echo").session,
      ]
      let misuses = world.misuses
      try #require(misuses.count == 2)
      let (first, second) = (misuses[0], misuses[1])
      let place = "at FieldShapeTests.swift:\(line - 6) in init(accessory:forProtocol:), "
      #expect(first.contains("The first was opened \(place)"), "\(first)")
      #expect(first.contains("the second in world "), "\(first)")
      #expect(first.contains("a second session closes the first"), "\(first)")
      #expect(first.contains("anOpeningIsNamedInEveryWayToOpen"), "\(first)")
      #expect(second.contains("The first was opened in world "), "\(second)")
      #expect(second.contains("the second at FieldShapeTests.swift:\(line + 3) in anOpeningIsNamed"), "\(second)")
      _ = sessions
    }
  }

  @Test(arguments: ["closed", "other accessory"]) func aSecondSessionIsNoMisuseWhere(theFirstIs: String) async throws {
    try await withSimulatedWorld { world in
      let (simulated, accessory) = try await plugInEcho(world)
      let first = EASession(accessory: accessory, forProtocol: "com.example.echo")
      first?.inputStream?.open()
      first?.outputStream?.open()
      switch theFirstIs {
      case "closed": first?.stop()
      default: simulated.unplug()
      }
      await world.settle()
      await world.plugIn(simulated)
      let now = try #require(manager.connectedAccessories.first)
      #expect(EASession(accessory: now, forProtocol: "com.example.echo") != nil)
      #expect(world.misuses == [])
    }
  }

  /// Some clients read their own Info.plist.
  @Test func theDeclarationsOfAWorldAreThoseOfTheMainBundle() async throws {
    var settings = SimulatedWorld.Settings()
    settings.declaredProtocols = ["com.example.echo", "com.example.other"]
    settings.backgroundModes = ["external-accessory"]
    let key = "UISupportedExternalAccessoryProtocols"
    try await withSimulatedWorld(settings) { world in
      #expect(Bundle.main.infoDictionary?[key] as? [String] == ["com.example.echo", "com.example.other"])
      #expect(Bundle.main.object(forInfoDictionaryKey: key) as? [String] == settings.declaredProtocols)
      #expect(Bundle.main.object(forInfoDictionaryKey: "UIBackgroundModes") as? [String] == ["external-accessory"])
      world.end()
      #expect(Bundle.main.infoDictionary?[key] == nil)
    }
  }
}
