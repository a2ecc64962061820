import AccessoryCore
import AccessoryFaults
import AccessoryProfiles
import Testing

@testable import AccessorySoak
@testable import AccessoryWorlds

/// Checks that shrinking turns a failing world into a small world that fails for the same reason, and that the scenario
/// file written for the small world fails in the same way.
///
/// The failure comes from a rule that is stricter than the built-in rules: it forbids a case that worlds may
/// legitimately reach.
@Suite struct ShrinkTests {
  private var crowded: SoakPlan {
    var plan = SoakPlan(seed: 5)
    plan.accessories = [plan.accessories[0], SoakPlan(seed: 6).accessories[0]]
    plan.accessories[1].profile.name = "another"
    plan.accessories[1].profile.identity.serialNumber = "ANOTHER"
    for index in plan.accessories.indices {
      plan.accessories[index].profile.link = .init()
      plan.accessories[index].profile.quirks = [.noStatus]
    }
    plan.apps = (0..<3).map { number in
      .init(
        sessions: (0..<3).map { SoakStreamPlan(protocolNumber: $0, bytes: 3_000, chunk: 100, think: .milliseconds(3)) },
        patience: .microseconds(12_345), isRude: true, name: "app-\(number)")
    }
    var split = Fault.Split()
    split.size = 100
    plan.faults = [
      CableFault(Fault(.latency(Fault.Latency(delay: .microseconds(7_777))))),
      CableFault(Fault(.loss(Fault.Loss())), at: .accessory), CableFault(Fault(.split(split))),
    ]
    let (one, other) = (plan.accessories[0].name, plan.accessories[1].name)
    plan.steps = [
      .init(at: .zero, .accessory(.plugIn, of: one)),
      .init(at: .microseconds(1_001), .accessory(.plugIn, of: other)),
      .init(at: .milliseconds(1_500), .accessory(.unplug(), of: one)),
      .init(at: .milliseconds(1_700), .accessory(.plugIn, of: one)),
      .init(at: .milliseconds(4_000), .accessory(.closeSessions, of: one)),
      .init(at: .microseconds(7_234_567), .resetLink(other)),
      .init(at: .milliseconds(8_000), .pull(other)),
      .init(at: .milliseconds(8_100), .accessory(.plugIn, of: other)),
      .init(at: .milliseconds(9_000), .app(.quits, of: .named("app-2"))),
      .init(at: .milliseconds(9_500), .accessory(.unplug(), of: one)),
    ]
    plan.length = .microseconds(12_345_678)
    plan.forbidden = [.resetByDevice]
    return plan
  }

  @Test func tenStepsBecomeTheTwoThatMatter() throws {
    var shrinker = try #require(SoakShrinker(crowded))
    #expect(shrinker.rule == .forbidden(.resetByDevice))
    shrinker.run()
    let plan = shrinker.plan
    #expect(plan.steps.map(\.action) == [.accessory(.plugIn, of: "another"), .resetLink("another")])
    #expect(plan.accessories.map(\.profile.name) == ["another"])
    #expect(plan.faults == [])
    #expect(plan.apps == [])
    #expect(plan.accessories[0].profile.quirks == [])
    #expect(plan.length < .seconds(1))
    #expect(shrinker.outcome.violations.map(\.rule) == [.forbidden(.resetByDevice)])
    try expectTheSameFailure(of: shrinker)
    // Shrinking the same plan gives the same result.
    var again = try #require(SoakShrinker(crowded))
    again.run()
    #expect(again.plan == plan && again.worldsPlayed == shrinker.worldsPlayed)
  }

  /// The file of the shrunk world fails in the same way as the world.
  private func expectTheSameFailure(of shrinker: SoakShrinker) throws {
    let text = shrinker.plan.fileText(description: "a link that is reset", comment: "found by a seed")
    #expect(text.split(separator: "\n").count < 50)
    var plan = try FileTests.plan(text)
    plan.about = shrinker.plan.about
    #expect(plan == shrinker.plan)
    let again = Soak.run(plan)
    #expect(again.violations == shrinker.outcome.violations)
    #expect(again.hash == shrinker.outcome.hash)
  }

  /// If a failure depends on random choices, it may disappear because removing something shifts those choices. Another
  /// seed then reproduces the failure.
  @Test(arguments: [
    (SoakCoverage.Corner.giveUp, 300), (.sessionRefused, 200),
  ]) func everyFailureIsShrunkToOneThatBreaksTheSameRule(corner: SoakCoverage.Corner, seeds: Int) throws {
    var recipe = SoakRecipe()
    recipe.forbidden = [corner]
    let failing = try #require(
      (0..<UInt64(seeds)).lazy.map { recipe.plan($0) }.first { !Soak.run($0).violations.isEmpty })
    var shrinker = try #require(SoakShrinker(failing))
    shrinker.run()
    #expect(shrinker.outcome.violations.contains { $0.rule == .forbidden(corner) })
    #expect(Soak.run(shrinker.plan).violations == shrinker.outcome.violations)
    #expect(shrinker.plan.steps.count <= failing.steps.count)
    #expect(shrinker.plan.faults.count <= 2)
    #expect(shrinker.plan.fileText(description: "d").utf8.count < failing.fileText(description: "d").utf8.count)
  }

  @Test func theEffortHasABound() throws {
    var effort = SoakShrinker.Effort()
    effort.worlds = 7
    var shrinker = try #require(SoakShrinker(crowded, effort: effort))
    shrinker.run()
    #expect(shrinker.worldsPlayed == 7)
    #expect(shrinker.outcome.violations.contains { $0.rule == shrinker.rule })
    effort = .init()
    effort.steps = 1
    shrinker = try #require(SoakShrinker(crowded, effort: effort))
    shrinker.run()
    #expect(shrinker.worldsPlayed == 1)
    #expect(shrinker.plan == crowded)
  }

  @Test func whoeverStopsItHasWhatWasReached() throws {
    var shrinker = try #require(SoakShrinker(crowded, isStopped: { true }))
    shrinker.run()
    #expect(shrinker.plan == crowded)
  }

  @Test func aWorldThatBreaksNoRuleIsNotShrunk() {
    var plan = crowded
    plan.forbidden = []
    #expect(SoakShrinker(plan)?.plan == nil)
  }

  @Test func aProfileThatSomebodyGaveIsLeftAsItIs() throws {
    var recipe = SoakRecipe()
    recipe.profile = ("misbehaving", try ProfileLibrary().template("misbehaving"))
    recipe.forbidden = [.connect]
    let plan = try #require((0..<50).lazy.map { recipe.plan($0) }.first { !Soak.run($0).violations.isEmpty })
    var shrinker = try #require(SoakShrinker(plan, keepsProfiles: true))
    shrinker.run()
    #expect(shrinker.plan.accessories[0].profile == plan.accessories[0].profile)
    #expect(shrinker.plan.faults == [])
  }
}
