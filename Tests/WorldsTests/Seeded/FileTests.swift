import AccessoryFormats
import AccessoryProfiles
import Testing

@testable import AccessorySoak
@testable import AccessoryWorlds

/// Checks that a plan can be converted to a scenario file and back, and that each mistake in a file is reported.
@Suite struct FileTests {
  static func read(_ text: String) throws(SourceProblems) -> ScenarioFile {
    try ScenarioFile(ScenarioSource(name: "f", path: "f", bytes: Array(text.utf8)), profiles: ProfileLibrary())
  }

  static func plan(_ text: String) throws -> SoakPlan {
    guard case .plan(let plan) = try read(text) else { throw OtherKind() }
    return plan
  }

  static func scenario(_ text: String) throws -> Scenario {
    guard case .scenario(let scenario) = try read(text) else { throw OtherKind() }
    return scenario
  }

  private struct OtherKind: Error {}

  @Test func theFileOfAnyPlanIsReadAsThatPlan() throws {
    for seed in 0..<150 as Range<UInt64> {
      var plan = SoakPlan(seed: seed)
      plan.forbidden = seed % 3 == 0 ? [.giveUp, .wrap] : []
      let read = try Self.plan(plan.fileText(description: "seed \(seed)", comment: "a comment\n\nof lines"))
      #expect(read.about.summary == "seed \(seed)")
      plan.about = read.about
      try #require(read == plan, "seed \(seed)")
    }
  }

  @Test func theWorldOfTheFileIsTheSameToTheByte() throws {
    for seed in 0..<15 as Range<UInt64> {
      let read = try Self.plan(SoakPlan(seed: seed).fileText(description: "d"))
      #expect(Soak.run(read).hash == Soak.run(SoakPlan(seed: seed)).hash, "seed \(seed)")
    }
  }

  @Test(arguments: BuiltIn.names) func worldsOfAShippedProfileHoldTheRulesAndAreFiles(name: String) throws {
    var recipe = SoakRecipe()
    recipe.profile = (name, try ProfileLibrary().template(name))
    for seed in 0..<4 as Range<UInt64> {
      var plan = recipe.plan(seed)
      #expect(plan.accessories.allSatisfy { $0.profile.protocols.map(\.name) == plan.accessories[0].protocolNames })
      let outcome = Soak.run(plan)
      #expect(outcome.violations == [], "\(recipe.command(replaying: seed))")
      let read = try Self.plan(plan.fileText(description: "d"))
      plan.about = read.about
      try #require(read == plan, "seed \(seed)")
    }
  }

  @Test func aProfileMayStandInTheFileOfAnyScenario() throws {
    let scenario = try Self.scenario(
      """
      { version: 1, description: 'd', steps: [], expect: [], seed: 9,
        cable: { faults: ['loss,chance=1%', { fault: 'glue,size=2', at: 'accessory' }] },
        accessories: { a: { profile: { version: 1, extends: 'echo', accessory: { name: 'Mine' } } } } }
      """)
    #expect(scenario.accessories[0].profile.identity.name == "Mine")
    #expect(scenario.faults.map(\.end) == [.device, .accessory])
    #expect(scenario.seed == 9)
  }

  @Test(arguments: [
    ("apps: { a: { sessions: [] } }, app: {}", "only a scenario without 'apps' has 'app'"),
    ("apps: { a: { sessions: [] } }, expect: []", "only a scenario without 'apps' has 'expect'"),
    ("apps: []", "expected an object with names as keys, found a list"),
    ("expect: [], forbid: ['giveUp']", "only a scenario with 'apps' has 'forbid'"),
    ("expect: [], device: { window: 5 }", "only the device of a scenario with 'apps' has 'window'"),
    ("apps: {}, forbid: ['giveup']", "unknown value 'giveup', did you mean 'giveUp'?"),
    ("apps: { a: { sessions: [{ readBytes: 5 }] } }", "'readBytes' and 'readEvery' must be given together"),
    ("apps: { a: { sessions: [{ resumesAfter: '1s' }] } }", "'resumesAfter' needs 'stopsAfter'"),
    ("apps: { a: { sessions: [{ closes: 'soon' }] } }", "'soon' is not a duration"),
    ("apps: {}, device: { link: { extendedAcknowledgement: 'always' } }", "unknown value 'always'"),
    ("apps: {}, cable: { faults: [{ at: 'device' }] }", "the key 'fault' is missing"),
    ("apps: {}, cable: { faults: [5] }", "expected a fault or an object, found number 5"),
  ]) func aMistakeIsTold(keys: String, complaint: String) {
    let text = "{ version: 1, description: 'd', accessories: { a: { profile: 'echo' } }, steps: [], \(keys) }"
    let error = #expect(throws: SourceProblems.self) { try Self.read(text) }
    #expect(error?.description.contains(complaint) == true, "\(String(describing: error))")
  }

  @Test(arguments: [
    ("app: 'launch'", "unknown value 'launch'"),
    ("app: 'quit'", "there are several choices: add 'of' with the name of the app: 'a', 'b'"),
    ("app: 'quit', of: 'c'", "there is no app 'c'"),
    ("cable: 'pullUnnoticed'", "unknown value 'pullUnnoticed'"),
    ("device: 'ignoreCables'", "unknown value 'ignoreCables'"),
    ("accessory: 'forgetSessions'", "unknown value 'forgetSessions': expected 'plugIn'"),
    ("sdk: 'openSession'", "unknown key 'sdk'"),
    ("otherApp: 'launch'", "unknown key 'otherApp'"),
  ]) func aStepThatNoPlanHasIsTold(step: String, complaint: String) {
    let text =
      "{ version: 1, description: 'd', accessories: { g: { profile: 'echo' } }, apps: { a: {}, b: {} },"
      + " steps: [{ at: '0s', \(step) }] }"
    let error = #expect(throws: SourceProblems.self) { try Self.read(text) }
    #expect(error?.description.contains(complaint) == true, "\(String(describing: error))")
  }

  @Test func whatIsWrongInAProfileIsToldWithItsPlace() {
    let text = """
      { version: 1, description: 'd', steps: [], apps: {},
      accessories: { a: { profile: { version: 1, accessory: { name: 5 } } } } }
      """
    let error = #expect(throws: SourceProblems.self) { try Self.read(text) }
    #expect(error?.problems.contains { $0.description.hasPrefix("f:2:") } == true, "\(String(describing: error))")
  }
}

private enum BuiltIn {
  static let names = ProfileLibrary().names.map(\.name)
}

extension SoakPlan.Accessory {
  fileprivate var protocolNames: [String] { profile.protocols.map(\.name) }
}
