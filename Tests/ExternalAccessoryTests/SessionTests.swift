import AccessoryHost
import ExternalAccessory
import ExternalAccessorySimulation
import Testing

@Suite struct SessionTests {
  private func accessory(
    _ world: SimulatedWorld, _ profile: String = "echo"
  ) async throws -> (
    WorldAccessory, EAAccessory
  ) {
    let simulated = try await world.plugIn(profile)
    return (simulated, try #require(manager.connectedAccessories.first))
  }

  @Test func e1AndE8NilForAProtocolThatTheAccessoryDoesNotOfferAndTheReasonIsOnTheTimeline() async throws {
    try await withSimulatedWorld { world in
      let (_, accessory) = try await accessory(world)
      #expect(EASession(accessory: accessory, forProtocol: "com.example.other") == nil)
      #expect(world.report.contains("opening session failed"))
      #expect(world.report.contains("com.example.other"))
      #expect(EASession(accessory: accessory, forProtocol: accessory.protocolStrings[0]) != nil)
    }
  }

  @Test func e4ASecondSessionClosesTheFirst() async throws {
    try await withSimulatedWorld { world in
      let (_, accessory) = try await accessory(world)
      let first = try #require(EASession(accessory: accessory, forProtocol: accessory.protocolStrings[0]))
      let recorder = first.listen()
      await world.settle()
      let second = try #require(EASession(accessory: accessory, forProtocol: accessory.protocolStrings[0]))
      await world.settle()
      #expect(recorder.all.filter { $0.hasSuffix("end") } == ["in end", "out end"])
      #expect(second.outputStream?.streamStatus == .notOpen)
      let other = second.listen()
      await world.settle()
      second.write([1, 2, 3])
      await world.settle()
      #expect(other.received == [1, 2, 3])
    }
  }

  @Test func e4AsTheFieldHasItASecondSessionIsNilWhileTheFirstIsOpen() async throws {
    try await withSimulatedWorld(.with { $0.rules.secondSession = .refused }) { world in
      let (_, accessory) = try await accessory(world)
      var first = EASession(accessory: accessory, forProtocol: accessory.protocolStrings[0])
      #expect(first != nil)
      #expect(EASession(accessory: accessory, forProtocol: accessory.protocolStrings[0]) == nil)
      first = nil
      await world.settle()
      #expect(EASession(accessory: accessory, forProtocol: accessory.protocolStrings[0]) != nil)
    }
  }

  /// A test can check what an accessory has received, regardless of how the accessory behaves.
  @Test func whatAnAccessoryReceivedIsExpected() async throws {
    try await withSimulatedWorld { world in
      let (simulated, accessory) = try await accessory(world)
      #expect("\(simulated.received("V"))" == "never received 'V'; no session was opened")
      let session = try #require(EASession(accessory: accessory, forProtocol: "com.example.echo"))
      session.start(StreamRecorder(session))
      await world.settle()
      session.write(Array("VERSON?".utf8))
      await world.settle()
      simulated.expectReceived("VERSON?", times: 1)
      var failures: [String] = []
      world.failing = { text, _ in failures.append(text) }
      #expect(!simulated.expectReceived("VERSION?") && simulated.received([0x56]).isMet)
      world.failing = nil
      let wanted = "never received 'VERSION?'; nearest on com.example.echo: 'VERSON?', where byte 4 is 4f ('O'), not"
      #expect(failures.map { $0.contains(wanted) } == [true], "\(failures)")
    }
  }

  @Test func e5SessionsForDifferentProtocolsRunSideBySide() async throws {
    try await withSimulatedWorld { world in
      let (simulated, accessory) = try await accessory(world, "multi")
      simulated.takeSessions()
      #expect(accessory.protocolStrings.count > 1)
      let sessions = accessory.protocolStrings.compactMap { EASession(accessory: accessory, forProtocol: $0) }
      #expect(sessions.count == accessory.protocolStrings.count)
      let recorders = sessions.map { StreamRecorder($0) }
      for (session, recorder) in zip(sessions, recorders) { session.start(recorder) }
      await world.settle()
      for (number, session) in sessions.enumerated() { session.write([UInt8(number)]) }
      await world.settle()
      #expect(simulated.sessions.map(\.received) == sessions.indices.map { [UInt8($0)] })
      #expect(simulated.sessions.map(\.protocolName) == accessory.protocolStrings)
    }
  }

  @Test(arguments: [AppRules.OtherApps.shared, .refused, .interrupted])
  func e6AnotherAppsSessionIsSharedRefusesOrIsInterrupted(rule: AppRules.OtherApps) async throws {
    try await withSimulatedWorld(.with { $0.rules.otherApps = rule }) { world in
      let (simulated, accessory) = try await accessory(world)
      simulated.takeSessions()
      #expect(world.openInAnotherApp(simulated, protocolName: "com.example.echo"))
      await world.settle()
      let session = EASession(accessory: accessory, forProtocol: "com.example.echo")
      await world.settle()
      #expect((session == nil) == (rule == .refused))
      #expect(simulated.sessions.first?.isOpen == (rule != .interrupted))
    }
  }

  @Test func e7NilAtFirstAndFineLater() async throws {
    try await withSimulatedWorld(.with { $0.rules.settlingTime = .milliseconds(1500) }) { world in
      let (_, accessory) = try await accessory(world)
      #expect(EASession(accessory: accessory, forProtocol: accessory.protocolStrings[0]) == nil)
      await world.advance(by: .seconds(1))
      #expect(EASession(accessory: accessory, forProtocol: accessory.protocolStrings[0]) == nil)
      await world.advance(by: .milliseconds(500))
      #expect(EASession(accessory: accessory, forProtocol: accessory.protocolStrings[0]) != nil)
    }
  }

  @Test func e9AndE10TheStreamsAreNotOpenAtFirstAndKnowNothingOfMessages() async throws {
    try await withSimulatedWorld { world in
      let (simulated, accessory) = try await accessory(world)
      simulated.takeSessions()
      let session = try #require(EASession(accessory: accessory, forProtocol: accessory.protocolStrings[0]))
      #expect(session.inputStream?.streamStatus == .notOpen)
      #expect(session.outputStream?.streamStatus == .notOpen)
      #expect(session.outputStream?.hasSpaceAvailable == false)
      #expect(session.write([1]) == -1)
      session.outputStream?.open()
      #expect(session.outputStream?.hasSpaceAvailable == true)
      for part in [[1], [2, 3], [4, 5, 6]] as [[UInt8]] { #expect(session.write(part) == part.count) }
      await world.settle()
      #expect(simulated.sessions.first?.received == [1, 2, 3, 4, 5, 6])
    }
  }

  @Test(arguments: [SessionLifetime.Rule.heldOrOpen, .held]) func e11AnOpenStreamKeepsASessionThatWasLetGo(
    rule: SessionLifetime.Rule
  ) async throws {
    try await withSimulatedWorld(.with { $0.lifetime = rule }) { world in
      let (simulated, accessory) = try await accessory(world)
      simulated.takeSessions()
      var session = EASession(accessory: accessory, forProtocol: accessory.protocolStrings[0])
      let output = try #require(session?.outputStream)
      output.open()
      session = nil
      await world.settle()
      #expect(simulated.sessions.first?.isOpen == (rule == .heldOrOpen))
      output.close()
      await world.settle()
      #expect(simulated.sessions.first?.isOpen == false)
      #expect(world.openSessions == [])
    }
  }

  @Test(arguments: [false, true], [false, true])
  func e12AStreamThatWasNeverOpenedAndNeverClosedBlocksTheNextSession(
    closesBoth: Bool, blocks: Bool
  ) async throws {
    var settings = SimulatedWorld.Settings()
    if blocks { settings.lifetime = .closedTwice }
    settings.rules.secondSession = .refused
    try await withSimulatedWorld(settings) { world in
      let (_, accessory) = try await accessory(world)
      var session = EASession(accessory: accessory, forProtocol: accessory.protocolStrings[0])
      session?.inputStream?.open()
      session?.inputStream?.close()
      if closesBoth { session?.outputStream?.close() }
      session = nil
      await world.settle()
      let isHeld = blocks && !closesBoth
      #expect(world.openSessions.count == (isHeld ? 1 : 0))
      #expect((EASession(accessory: accessory, forProtocol: accessory.protocolStrings[0]) == nil) == isHeld)
    }
  }

  @Test func e13NothingOfASessionIsLeftWhenTheAppLetsGo() async throws {
    try await withSimulatedWorld { world in
      let (simulated, accessory) = try await accessory(world)
      weak var session: EASession?
      weak var input: InputStream?
      weak var output: OutputStream?
      do {
        let made = try #require(EASession(accessory: accessory, forProtocol: accessory.protocolStrings[0]))
        (session, input, output) = (made, made.inputStream, made.outputStream)
        let recorder = StreamRecorder(made)
        made.start(recorder)
        made.write(counting(1000))
        await world.settle()
        made.stop()
      }
      await world.settle()
      #expect(session == nil)
      #expect(input == nil)
      #expect(output == nil)
      #expect(world.openSessions == [])
      #expect(simulated.isPluggedIn)
    }
  }

  @Test func e13AndE14TheSessionHoldsItsAccessoryAndNamesItsProtocol() async throws {
    try await withSimulatedWorld { world in
      let simulated = try await world.plugIn("echo")
      weak let accessory = manager.connectedAccessories.first
      var session = accessory.flatMap { EASession(accessory: $0, forProtocol: "com.example.echo") }
      #expect(session?.protocolString == "com.example.echo")
      await world.unplug(simulated)
      // The accessory is no longer in the list, so only the session retains it.
      #expect(session?.accessory != nil)
      #expect(session?.accessory === accessory)
      session = nil
      await world.settle()
      #expect(accessory == nil)
    }
  }

  @Test func e1ARefusalByTheAccessoryEndsBothStreams() async throws {
    try await withSimulatedWorld { world in
      try await world.plugIn("echo", quirks: ["session,refuse"])
      let accessory = try #require(manager.connectedAccessories.first)
      let session = try #require(EASession(accessory: accessory, forProtocol: accessory.protocolStrings[0]))
      let recorder = session.listen()
      await world.settle()
      #expect(recorder.events(of: session.inputStream).last == .endEncountered)
      #expect(recorder.events(of: session.outputStream).last == .endEncountered)
    }
  }
}
