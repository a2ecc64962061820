import ExternalAccessory
import ExternalAccessorySimulation
import TestSupport
import Testing

/// Tests EADemo's alerts (A1 to A3) and its text for an empty list (A4). According to EADemo's read-me, the system and
/// the app show these texts to the user.
@Suite struct EADemoAlertTests {
  private func declaring(_ protocols: [String]) -> SimulatedWorld.Settings {
    var settings = SimulatedWorld.Settings()
    settings.declaredProtocols = protocols
    return settings
  }

  /// "If no matching protocol string is found, iOS raises the 'Application Not Installed' alert."
  @Test(arguments: [["com.example.other"], []]) func a1ApplicationNotInstalledWhenNoAppDeclaresAProtocol(
    declared: [String]
  ) async throws {
    try await withSimulatedWorld(declaring(declared)) { world in
      try await world.plugIn("echo")
      #expect(world.alerts == ["Application Not Installed: no app declares a protocol of Echo (com.example.echo)"])
      #expect(manager.connectedAccessories == [])
    }
  }

  /// "You can modify the UISupportedExternalAccessoryProtocols property … to keep the system from presenting the
  /// alert."
  @Test func a1NoAlertWhenTheProtocolIsDeclared() async throws {
    try await withSimulatedWorld(declaring(["com.example.other", "com.example.echo"])) { world in
      try await world.plugIn("echo")
      #expect(world.alerts == [])
      #expect(manager.connectedAccessories.map(\.name) == ["Echo"])
    }
  }

  /// In the first half of a flicker, the accessory offers no protocols, so no alert about a missing app is shown.
  @Test func a1NotForTheEmptyListOfAFlicker() async throws {
    try await withSimulatedWorld(declaring(["com.lawaken.iap2"])) { world in
      try world.add("lawk-view", quirks: ["flicker"]).plugIn()
      await world.advance(by: .seconds(5))
      #expect(world.alerts == [])
    }
  }

  /// "If the protocol has not been previously defined, an alert is present to indicate that the protocolString is not
  /// defined in the Info.plist": on current systems, no session is opened.
  @Test func e2AndA2AnUndeclaredProtocolIsAnAlertAndNoSession() async throws {
    var settings = declaring(["com.example.other"])
    settings.rules.visibility = .all
    try await withSimulatedWorld(settings) { world in
      try await world.plugIn("echo")
      let accessory = try #require(manager.connectedAccessories.first)
      #expect(EASession(accessory: accessory, forProtocol: "com.example.echo") == nil)
      #expect(
        world.alerts.last
          == "The protocol com.example.echo is not defined in the app's Info.plist: no session is opened")
    }
  }

  /// "Under iOS 4.x and 3.2, the External Accessory Framework allows a connection to be opened regardless."
  @Test func a3OnOlderSystemsTheSessionIsOpenedAfterTheAlert() async throws {
    var settings = declaring(["com.example.other"])
    settings.rules = .older
    try await withSimulatedWorld(settings) { world in
      let echo = try world.add("echo")
      echo.takeSessions()
      await world.plugIn(echo)
      let accessory = try #require(manager.connectedAccessories.first)
      let session = try #require(EASession(accessory: accessory, forProtocol: "com.example.echo"))
      session.outputStream?.open()
      session.write([7])
      await world.settle()
      #expect(echo.sessions.first?.received == [7])
      #expect(
        world.alerts.last
          == "The protocol com.example.echo is not defined in the app's Info.plist: this system opens the session anyway"
      )
    }
  }

  /// "Under iOS 4.x and earlier, when EADemo is put into the background, the application will receive the
  /// didDisconnectNotification", whether or not the background mode is declared.
  @Test func a3OnOlderSystemsTheBackgroundModeMeansNothing() async throws {
    var settings = SimulatedWorld.Settings()
    settings.backgroundModes = ["external-accessory"]
    settings.rules = .older
    try await withSimulatedWorld(settings) { world in
      let recorder = EventRecorder.registered()
      try await world.plugIn("echo")
      world.move(to: .background)
      world.move(to: .foreground)
      await world.settle()
      #expect(recorder.words == ["connect 1", "disconnect 1", "connect 1"])
    }
  }

  /// "When no accessory is attached, the main screen will display the message 'No Accessories Connected'", and the
  /// message returns when the accessory is detached.
  @Test(.waits) func a4NoAccessoriesConnectedIsShownWhileTheListIsEmpty() throws {
    let local = LocalFolder()
    let address = "unix:\(local.folder.file("echo.sock"))"
    let demo = try local.start("EADemoClient", ["com.example.none", "10k"], ["EASIM_ENDPOINTS": address])
    let screen = (demo.standardOutput as? Pipe)?.fileHandleForReading
    var shown = ""
    func wait(for text: String) {
      while !shown.contains(text), let more = screen?.availableData, !more.isEmpty {
        shown += String(decoding: more, as: UTF8.self)
      }
    }
    wait(for: "No Accessories Connected\n")
    let echo = try local.start("easim", ["run", "echo", "--on", address])
    wait(for: "connected: Echo [\"com.example.echo\"]\n")
    kill(echo.processIdentifier, SIGINT)
    wait(for: "disconnected: Echo\nNo Accessories Connected\n")
    #expect(shown.hasSuffix("disconnected: Echo\nNo Accessories Connected\n"), "\(shown)")
  }
}
