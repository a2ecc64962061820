import ExternalAccessory
import ExternalAccessorySimulation
import Testing

/// Tests how apps release sessions, and which misuses are recorded.
@Suite struct SessionEndTests {
  @Test(arguments: ["nothing", "one", "both", "accessory"])
  func aSessionThatIsLetGoOfWithAStreamOpenIsRecordedOnce(closes: String) async throws {
    try await withSimulatedWorld { world in
      let (simulated, accessory) = try await plugInEcho(world)
      do {
        let session = try #require(EASession(accessory: accessory, forProtocol: "com.example.echo"))
        session.inputStream?.open()
        session.outputStream?.open()
        await world.settle()
        #expect(world.misuses == [])
        #expect(world.openSessions == ["a session on com.example.echo is still open"])
        switch closes {
        case "one": session.inputStream?.close()
        case "both": session.stop()
        // Once the accessory is gone, there is nothing left to close.
        case "accessory": simulated.unplug()
        default: break
        }
        await world.settle()
      }
      await world.settle()
      let sentence = Misuse.sessionNotClosed("com.example.echo").description
      #expect(world.misuses == (closes == "nothing" || closes == "one" ? [sentence] : []))
      #expect(world.openSessions == [])
    }
  }

  /// The app's bytes must be sent before the session ends, but the accessory is not reading them.
  @Test func aSessionThatWasClosedIsNotAccusedWhileItsBytesWait() async throws {
    try await withSimulatedWorld { world in
      let (simulated, accessory) = try await plugInEcho(world)
      do {
        let session = try #require(EASession(accessory: accessory, forProtocol: "com.example.echo"))
        await world.settle()
        simulated.sessions.first?.isStalled = true
        session.inputStream?.open()
        session.outputStream?.open()
        while session.outputStream?.hasSpaceAvailable == true {
          session.write(counting(997))
          await world.settle()
        }
        session.stop()
      }
      await world.settle()
      #expect(simulated.sessions.first?.isOpen == true)
      #expect(world.openSessions == [])
      #expect(world.misuses == [])
    }
  }

  @Test func aSessionMayBeLetGoOfInItsOwnEvent() async throws {
    final class Held: @unchecked Sendable {
      var session: EASession?
      var recorder: StreamRecorder?
    }
    try await withSimulatedWorld { world in
      let (simulated, accessory) = try await plugInEcho(world)
      let held = Held()
      held.session = EASession(accessory: accessory, forProtocol: "com.example.echo")
      weak let input = held.session?.inputStream
      held.recorder = held.session.map { session in
        StreamRecorder(session) { _, event in
          if event == .hasBytesAvailable { (held.session, held.recorder) = (nil, nil) }
        }
      }
      if let recorder = held.recorder { held.session?.start(recorder) }
      await world.settle()
      #expect(input != nil)
      simulated.sessions.first?.send(counting(10_000))
      await world.settle()
      #expect(input == nil)
      #expect(simulated.sessions.first?.isOpen == false)
      #expect(world.openSessions == [])
    }
  }
}
