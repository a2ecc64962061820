import AccessoryHost
import AccessoryWorlds
import ExternalAccessory
import TestSupport
import Testing

@testable import ExternalAccessorySimulation

@Suite struct ScenarioTests {
  /// Plays shipped scenarios twice: once in a world with the command-line tool's client, and once with `easim scenario
  /// run`. In both runs, the bytes on the cables and the timelines must be identical. Together, these scenarios use
  /// every section and every kind of step.
  @Test(arguments: [
    "background-and-back", "busy-after-a-cancelled-request", "dead-after-a-day", "deaf-after-unregister",
    "early-publication", "ghost", "killed-with-a-session-open", "radio-shared-with-audio",
    "session-taken-by-another-sdk", "small-buffer-drops-bytes", "transport-switch", "two-apps-and-neither-connects",
  ])
  func aWorldsTranscriptIsThatOfTheCommandLine(name: String) async throws {
    let local = LocalFolder()
    let file = local.folder.file("transcript")
    let command = ["scenario", "run", name, "--json", "--transcript", file]
    let printed = try await onItsOwnThread { try local.run("easim", command).output }
    let transcript = try String(contentsOfFile: file, encoding: .utf8)

    var settings = try SimulatedWorld.Settings(scenario: name)
    let scenario = try #require(settings.scenario)
    settings.keepsTranscript = true
    // The test uses the scenario's own app. The app that uses the manager is not involved.
    settings.rules = AppRules()
    settings.declaredProtocols = nil
    try await withSimulatedWorld(settings) { world in
      let app = world.perform { inner in
        ScenarioApp(scenario, client: RobustClient.self, on: inner.device) { [unowned inner] in inner.record($0) }
      }
      _ = world.play(sdk: { app.perform($0, of: .sdk) }, { app.perform($0) })
      await world.advance(by: world.scenarioLength)
      world.perform { _ in app.quit() }
      world.end()
      await world.settle()
      #expect(!transcript.isEmpty)
      #expect(world.transcript.map { $0 + "\n" }.joined() == transcript)
      // The last line is the command's verdict. The printed advice is removed, because it mentions options that exist
      // only on the command line.
      let lines = printed.replacing(/,"advice":"[^"]*"/, with: "").split(separator: "\n")
      #expect(world.events.map(\.json) == lines.dropLast().map(String.init))
    }
  }

  /// An app that uses Apple's API sees the same world. Until the first session is opened, the bytes on the cables are
  /// the same.
  @Test(arguments: ["flicker", "stale-bytes"])
  func upToTheAppsFirstSessionTheTranscriptIsTheSame(name: String) async throws {
    let local = LocalFolder()
    let file = local.folder.file("transcript")
    _ = try await onItsOwnThread { try local.run("easim", ["scenario", "run", name, "--transcript", file]) }
    let all = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").map(String.init)
    let expected = Array(all.prefix { !$0.contains(" EA00 ") })
    #expect(expected.count > 10 && expected.count < all.count)
    var settings = try SimulatedWorld.Settings(scenario: name)
    settings.keepsTranscript = true
    try await withSimulatedWorld(settings) { world in
      let recorder = EventRecorder.registered()
      world.playScenario()
      await world.advance(by: world.scenarioLength)
      #expect(Array(world.transcript.prefix(expected.count)) == expected)
      #expect(!recorder.heard.isEmpty)
    }
  }

  @Test func whatHappensToTheAppFromOutsideTheWorldDoes() async throws {
    try await withSimulatedWorld(.init(scenario: "background-and-back")) { world in
      let recorder = EventRecorder.registered()
      world.playScenario()
      await world.advance(by: world.scenarioLength)
      #expect(recorder.words.contains("disconnect 1") && recorder.words.last == "connect 1", "\(recorder.words)")
      #expect(world.appState == .foreground)
    }
  }

  @Test func aScenarioKillsAndLaunchesTheAppOfAWorld() async throws {
    try await withSimulatedWorld(.init(scenario: "killed-with-a-session-open")) { world in
      let asked = Asked()
      manager.registerForLocalNotifications()
      world.playScenario { action in asked.add(action) }
      await world.advance(by: .seconds(1))
      let accessory = try #require(manager.connectedAccessories.first)
      let session = try #require(EASession(accessory: accessory, forProtocol: glassesProtocol))
      let recorder = session.listen()
      await world.advance(by: .seconds(1))
      let heard = recorder.all
      await world.advance(by: .seconds(2))
      #expect(asked.actions == [.ends(.kill, leavesSessions: false)])
      #expect(!world.isAppRunning)
      #expect(recorder.all == heard)
      await world.advance(by: .seconds(6))
      #expect(asked.actions.dropFirst() == [.launches, .looks(sees: ["drone"])])
      #expect(world.isAppRunning && world.registrationCount == 0)
      let again = try #require(manager.connectedAccessories.first)
      #expect(EASession(accessory: again, forProtocol: glassesProtocol) != nil)
    }
  }

  @Test func e15AnotherSDKInTheAppTakesItsSession() async throws {
    try await withSimulatedWorld(.init(scenario: "session-taken-by-another-sdk")) { world in
      world.playScenario()
      await world.advance(by: .seconds(1))
      let accessory = try #require(manager.connectedAccessories.first)
      let session = try #require(EASession(accessory: accessory, forProtocol: glassesProtocol))
      let recorder = session.listen()
      await world.advance(by: .seconds(10))
      #expect(!recorder.all.contains("in end"))
      await world.advance(by: .seconds(10))
      #expect(recorder.all.contains("in end"))
      #expect(manager.connectedAccessories == [accessory])
    }
  }

  @Test func aScenarioThatIsNotThereIsNamed() {
    #expect(throws: (any Error).self) { try SimulatedWorld.Settings(scenario: "flickr") }
  }

  private final class Asked: @unchecked Sendable {
    private(set) var actions: [AppAction] = []
    func add(_ action: AppAction) { actions.append(action) }
  }
}
