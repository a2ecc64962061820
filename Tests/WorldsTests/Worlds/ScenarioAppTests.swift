import AccessoryCore
import AccessoryProfiles
import AccessorySoak
import LinuxIO
import Testing

@testable import AccessoryWorlds

@Suite struct ScenarioAppTests {
  func play(_ steps: String, _ keys: String = "", expect: String = "") throws -> (player: ScenarioPlayer, app: [String])
  {
    let text = """
      { version: 1, description: 'd', accessories: { one: { profile: 'echo' } }, tail: '3s', \(keys)
        steps: [\(steps)], expect: [\(expect)] }
      """
    let scenario = try Scenario(
      ScenarioSource(name: "f", path: "f", bytes: Array(text.utf8)), profiles: ProfileLibrary())
    let loop = VirtualLoop(seed: 5)
    let player = ScenarioPlayer(scenario, client: WaitsForTheConnect.self, settings: World.Settings(), on: loop)
    player.start()
    _ = try loop.run(until: { player.isOver })
    let app = player.world.events.filter(Scenario.isExpected).map(\.kind.name)
    return (player, app)
  }

  let plugIn = "{ at: '0s', accessory: 'plugIn' },"
  let replug = "{ at: '2s', accessory: 'unplug' }, { at: '3s', accessory: 'plugIn' }"

  @Test func anAppThatIsNotRegisteredIsNotTold() throws {
    #expect(try play(plugIn, "app: { registered: false },").app == [])
    let registered = "{ at: '0s', app: 'register' }," + plugIn
    #expect(try play(registered, "app: { registered: false },").app == ["connect", "session.open"])
  }

  @Test func anAppThatQuitsHearsNothingAndOneThatIsLaunchedAgainDoes() throws {
    let steps = plugIn + "{ at: '1s', app: 'quit' }," + replug
    #expect(try play("{ at: '0s', app: 'launch' }," + steps).app == ["connect", "session.open", "session.close"])
    let again =
      "{ at: '0s', app: 'launch' }," + plugIn + "{ at: '1s', app: 'quit' }, { at: '1s', app: 'launch' }," + replug
    #expect(
      try play(again).app == ["connect", "session.open", "session.close", "disconnect", "connect", "session.open"])
  }

  @Test(arguments: ["kill", "crash"]) func anAppThatEndsLosesItsSessionAndKnowsNothingWhenItIsLaunchedAgain(
    word: String
  ) throws {
    let (player, app) = try play(
      plugIn + "{ at: '1s', app: '\(word)' }, { at: '2s', app: 'launch' }, { at: '3s', app: 'look', sees: ['one'] },"
        + "{ at: '4s', app: 'openSession' }")
    #expect(app == ["connect", "session.open", "session.close", "session.open"])
    #expect(player.client.report.verified == 1)
    #expect(player.client.report.isServing)
  }

  @Test func sessionsThatTheSystemLeavesAreThoseOfAnotherApp() throws {
    let steps =
      plugIn
      + "{ at: '1s', app: 'kill', sessions: 'left' }, { at: '2s', app: 'launch' }, { at: '3s', app: 'openSession' },"
    let refused = try play(steps, "app: { rules: { otherApps: 'refused' } },")
    #expect(refused.app == ["connect", "session.open"])
    #expect(!refused.player.client.report.isServing)
    let replugged = try play(
      steps + "{ at: '5s', accessory: 'unplug' }, { at: '6s', accessory: 'plugIn' }",
      "app: { rules: { otherApps: 'refused' } },")
    #expect(
      replugged.app == ["connect", "session.open", "session.close", "disconnect", "connect", "session.open"])
    #expect(replugged.player.client.report.isServing)
  }

  @Test func anAppThatIsNotRunningIsSkippedAndNotCrashedTwice() throws {
    let (player, app) = try play(
      plugIn + "{ at: '1s', app: 'kill' }, { at: '1s', app: 'crash' }, { at: '2s', app: 'openSession' },"
        + "{ at: '2s', sdk: 'openSession' }")
    #expect(app == ["connect", "session.open", "session.close"])
    let skipped = player.world.events.filter { $0.json.contains("is not running, so this step is skipped") }
    #expect(skipped.count == 3)
  }

  @Test func anotherSDKTakesTheSessionOfTheApp() throws {
    let (player, app) = try play(
      plugIn
        + "{ at: '1s', sdk: 'openSession' }, { at: '2s', app: 'look', sees: ['one'] }, { at: '3s', sdk: 'closeSession' }"
    )
    #expect(app == ["connect", "session.open", "session.close", "session.open", "session.close"])
    #expect(!player.client.report.isServing)
    let refused = try play(
      plugIn + "{ at: '1s', sdk: 'openSession' }", "app: { rules: { secondSession: 'refused' } },")
    #expect(refused.app == ["connect", "session.open"])
    #expect(refused.player.client.report.isServing)
  }

  @Test(arguments: [
    ("shared", ["connect", "session.open", "session.open", "session.close"], true),
    ("refused", ["connect", "session.open"], true),
    ("interrupted", ["connect", "session.open", "session.close", "session.open", "session.close"], false),
  ])
  func anotherAppOpensASessionAsTheRulesSay(rule: String, expected: [String], isServing: Bool) throws {
    let (player, app) = try play(
      plugIn
        + "{ at: '1s', otherApp: 'launch' }, { at: '2s', otherApp: 'openSession' }, { at: '3s', otherApp: 'kill' }",
      "app: { rules: { otherApps: '\(rule)' } },")
    #expect(app == expected)
    #expect(player.client.report.isServing == isServing)
  }

  @Test func aForgottenSessionStaysOpenAndAnswersNothing() throws {
    let (player, app) = try play(
      plugIn + "{ at: '5s', accessory: 'forgetSessions' }, { at: '2h', app: 'look', sees: ['one'] }",
      "app: { every: '1m' },")
    #expect(app == ["connect", "session.open"])
    #expect(!player.client.report.isServing)
    // After the accessory has dropped its sessions, new sessions work.
    let again = try play(
      plugIn + "{ at: '5s', accessory: 'forgetSessions' }, { at: '10s', app: 'openSession' }", "app: { every: '1m' },")
    #expect(again.player.client.report.isServing)
  }

  @Test func itsUserOpensAndClosesSessions() throws {
    let steps = plugIn + "{ at: '1s', app: 'closeSession' }, { at: '2s', app: 'openSession' }"
    let (player, app) = try play(steps)
    #expect(app == ["connect", "session.open", "session.close", "session.open"])
    #expect(player.client.report.verified == 2)
    // Starting a second client replaces the first one.
    #expect(try play(plugIn + "{ at: '1s', app: 'openSession' }").app == app)
  }

  @Test func aProtocolThatIsNotDeclaredHidesTheAccessory() throws {
    let (player, app) = try play(
      plugIn + "{ at: '1s', app: 'look', sees: [] }, { at: '2s', app: 'openSession' }",
      "app: { protocols: ['com.example.other'] },")
    #expect(app == [])
    #expect(player.comparison.difference == nil)
  }

  @Test func aListThatIsNotAsAStepSaysIsTheDifference() throws {
    let player = try play(plugIn + "{ at: '1s', app: 'look', sees: [] }", expect: "{ event: 'connect' }").player
    #expect(
      player.comparison.difference?.description
        == "nothing more was expected, but 'session.open' of one with com.example.echo at 0.000000 s happened")
    let looked = try play(
      plugIn + "{ at: '1s', app: 'look', sees: [] }", expect: "{ event: 'connect' }, { event: 'session.open' }")
    #expect(
      looked.player.comparison.difference?.description
        == "expected nothing in the app's list at 1.000000 s, found one")
  }

  @Test func whatIsMissingAtTheEndComesAfterAListThatWasWrong() throws {
    let player = try play(
      plugIn + "{ at: '1s', app: 'look', sees: [] }",
      expect: "{ event: 'connect' }, { event: 'session.open' }, { event: 'disconnect' }"
    ).player
    #expect(player.comparison.difference?.description.contains("the app's list") == true)
  }

  @Test func aDeviceThatHeedsCablesAgainFindsThoseThatAreThere() throws {
    let steps =
      "{ at: '0s', device: 'ignoreCables' }, { at: '1s', accessory: 'plugIn' }, { at: '5s', device: 'heedCables' }"
    let (player, app) = try play(steps, expect: "{ event: 'connect', after: '5s' }, { event: 'session.open' }")
    #expect(app == ["connect", "session.open"])
    #expect(player.comparison.difference == nil)
  }

  @Test func aCablePulledUnnoticedLeavesTheAccessoryInTheList() throws {
    let steps = plugIn + "{ at: '1s', cable: 'pullUnnoticed' }, { at: '2s', app: 'look', sees: ['one'] }"
    let (player, app) = try play(steps, expect: "{ event: 'connect' }, { event: 'session.open' }")
    #expect(app == ["connect", "session.open"])
    #expect(player.comparison.difference == nil)
    #expect(player.world.events.contains { $0.side == .accessory && $0.kind.name == "detach" })
  }

  @Test func nothingOfAPlayerIsLeftWhenItIsDropped() throws {
    weak var client: ScenarioClient?
    try {
      let player = try play(plugIn).player
      client = player.client
      #expect(client != nil)
    }()
    #expect(client == nil)
  }
}
