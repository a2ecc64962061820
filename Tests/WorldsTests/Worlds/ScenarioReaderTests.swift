import AccessoryFormats
import AccessoryHost
import AccessoryProfiles
import AccessorySimulator
import Testing

@testable import AccessoryWorlds

@Suite struct ScenarioReaderTests {
  func read(_ text: String) throws(SourceProblems) -> Scenario {
    try Scenario(
      ScenarioSource(name: "f", path: "f", bytes: Array(text.utf8)), profiles: ProfileLibrary())
  }

  func complaints(_ text: String) -> [String] {
    do {
      _ = try read(text)
      return []
    } catch {
      return error.problems.map(\.description)
    }
  }

  /// Returns a complete scenario. The scenario's steps start on line 2 at column 8, and its other keys start on line 3.
  func document(_ steps: String = "", _ keys: String = "") -> String {
    """
    { version: 1, description: 'd', accessories: { glasses: { profile: 'echo' } }, expect: [],
    steps:[\(steps)],
    \(keys)
    }
    """
  }

  private func message(
    _ name: Profile.MessageName, _ parameters: [Named<MessageValue>] = []
  ) -> MessageRuleEntry {
    var entry = MessageRuleEntry(send: name)
    entry.parameters = parameters
    return entry
  }

  @Test func everyStepIsRead() throws {
    let words = [
      "accessory: 'plugIn'", "accessory: 'unplug'", "accessory: 'closeSessions'", "cable: 'pull'",
      "cable: 'pullUnnoticed'", "device: 'resetLink'", "device: 'ignoreCables'", "device: 'heedCables'",
      "app: 'launch'", "app: 'quit'", "app: 'register'", "app: 'unregister'", "app: 'foreground'", "app: 'background'",
      "app: 'suspend'", "app: 'resume'", "app: 'openSession'", "app: 'closeSession'",
      "app: 'look', sees: ['glasses', 'glasses']", "accessory: 'forgetSessions'", "accessory: 'restart'", "app: 'kill'",
      "app: 'crash', sessions: 'left'", "sdk: 'openSession'", "sdk: 'closeSession'", "otherApp: 'launch'",
      "otherApp: 'kill', sessions: 'closed'", "otherApp: 'openSession'",
      "accessory: 'message', send: 'StopPowerUpdates'",
      "device: 'message', send: 0xAE01, parameters: { 'battery percent': 20 }",
    ]
    let scenario = try read(document(words.map { "{ at: '1s', \($0) }" }.joined(separator: ",")))
    #expect(
      scenario.steps.map(\.action) == [
        .accessory(.plugIn, of: "glasses"), .accessory(.unplug(), of: "glasses"),
        .accessory(.closeSessions, of: "glasses"), .pull("glasses"), .pull("glasses", unnoticed: true),
        .resetLink("glasses"), .noticeCables(false), .noticeCables(true), .app(.launches), .app(.quits),
        .app(.registers), .app(.unregisters), .app(.moves(.foreground)), .app(.moves(.background)),
        .app(.moves(.suspended)), .app(.moves(.background)), .app(.opensSession("glasses")), .app(.closesSession),
        .app(.looks(sees: ["glasses", "glasses"])), .accessory(.forgetSessions, of: "glasses"),
        .accessory(.restart, of: "glasses"),
        .app(.ends(.kill, leavesSessions: false)), .app(.ends(.crash, leavesSessions: true)),
        .app(.opensSession("glasses"), of: .sdk), .app(.closesSession, of: .sdk), .app(.launches, of: .other),
        .app(.ends(.kill, leavesSessions: false), of: .other), .app(.opensSession("glasses"), of: .other),
        .accessory(.message(message(.name("StopPowerUpdates"))), of: "glasses"),
        .deviceMessage(message(.id(0xAE01), [Named("battery percent", .number(20))]), to: "glasses"),
      ])
    guard case .deviceMessage(let sent, _)? = scenario.steps.last?.action else { return }
    #expect(sent.send.messageID == .powerUpdate)
    #expect(sent.elements == [.init(6, .bytes([0, 20]))])
  }

  @Test func aCableMayBeALinkByItsName() throws {
    let scenario = try read(document("", "cable: { faults: ['loss,chance=2%', 'big-writes'] },"))
    #expect(scenario.faults.map(\.fault.name) == ["loss", "collapse"])
  }

  @Test func theAppIsRead() throws {
    let scenario = try read(
      document(
        "",
        """
        app: { protocols: ['com.a'], backgroundModes: ['external-accessory'], registered: false, payload: 7, every: '30s', rules: {
          visibility: 'all', undeclaredSessions: 'allowed', honorsBackgroundMode: false, secondSession: 'refused', otherApps: 'interrupted',
          reattachment: 'connectOnly', settlingTime: '4s', wakesForBytes: false, wakeTime: '3s',
          lostConnects: 'outsideForeground', announcesBytesOnce: true } },
        cable: { faults: ['loss,chance=2%'] },
        """))
    var rules = AppRules()
    rules.ignoreInfoPlist()
    rules.honorsBackgroundMode = false
    rules.secondSession = .refused
    rules.otherApps = .interrupted
    rules.reattachment = .connectOnly
    rules.settlingTime = .seconds(4)
    rules.wakesForBytes = false
    rules.wakeTime = .seconds(3)
    rules.lostConnects = .outsideForeground
    rules.announcesBytesOnce = true
    #expect(scenario.app.rules == rules)
    #expect(scenario.app.manifest.declaredProtocols == ["com.a"])
    #expect(scenario.app.manifest.keepsAccessoriesInBackground)
    #expect(!scenario.app.startsRegistered)
    #expect(scenario.payload == 7)
    #expect(scenario.interval == .seconds(30))
    #expect(scenario.faults.map(\.fault.description) == ["loss,chance=2%"])
  }

  @Test(arguments: [
    (
      "{ at: '1s', device: 'message', send: 'PowerUpdate', parameters: { 'batery percent': 1 } }",
      "f:2:72: steps[0].parameters: AE01 PowerUpdate has no parameter 'batery percent', did you mean 'battery percent'?"
    ),
    (
      "{ at: '1s', device: 'resetLink', send: 'PowerUpdate' }",
      "f:2:47: steps[0].send: 'send' needs accessory: 'message' or device: 'message'"
    ),
    (
      "{ at: '1s', app: 'quit', sessions: 'left' }",
      "f:2:43: steps[0].sessions: 'sessions' needs app: 'kill' or app: 'crash'"
    ),
    (
      "{ at: '1s', app: 'quit', sees: [] }",
      "f:2:39: steps[0].sees: 'sees' needs app: 'look'"
    ),
    (
      "{ at: '1s', app: 'quit', of: 'glasses' }",
      "f:2:37: steps[0].of: only 'openSession' applies to one accessory"
    ),
    (
      "{ at: '1s', device: 'heedCables', of: 'glasses' }",
      "f:2:46: steps[0].of: 'heedCables' applies to every cable"
    ),
    (
      "{ at: '2s', app: 'quit' }, { at: '1s', app: 'quit' }",
      "f:2:41: steps[1].at: steps must be in chronological order: the previous step is at 2s"
    ),
  ])
  func ofSteps(step: String, complaint: String) {
    #expect(complaints(document(step)) == [complaint])
  }

  @Test(arguments: ScenarioLibrary().names) func everyShippedScenarioIsReadBackAsItWasWritten(name: String) throws {
    var scenario = try ScenarioLibrary().scenario(name)
    // A profile that is written inline gets the accessory's name as its name.
    for index in scenario.accessories.indices {
      scenario.accessories[index].profile.name = scenario.accessories[index].name
    }
    scenario.about.name = "f"
    let names = ScenarioNames(accessories: scenario.accessories.map(\.name))
    #expect(try read(JSON5Writer.write(Scenario.format(names).tree(scenario))) == scenario)
  }
}
