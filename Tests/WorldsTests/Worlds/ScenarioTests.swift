import AccessoryCore
import AccessoryProfiles
import LinuxIO
import TestSupport
import Testing

@testable import AccessorySoak
@testable import AccessoryWorlds

@Suite struct ScenarioTests {
  static let names = ScenarioLibrary().names

  func play(_ name: String, _ client: ScenarioClient.Type, seed: UInt64 = 3) throws -> ScenarioPlayer {
    let loop = VirtualLoop(seed: seed)
    var settings = World.Settings()
    settings.keepsTranscript = true
    let player = ScenarioPlayer(try ScenarioLibrary().scenario(name), client: client, settings: settings, on: loop)
    player.start()
    _ = try loop.run(until: { player.isOver })
    return player
  }

  @Test(arguments: names) func theRobustClientSurvivesAndSeesWhatIsExpected(name: String) throws {
    let player = try play(name, RobustClient.self)
    let timeline = player.world.events.map(\.json).joined(separator: "\n")
    #expect(
      player.comparison.difference == nil, "\(player.comparison.difference.map(\.description) ?? "")\n\(timeline)")
    #expect(player.client.report.isServing, "\(timeline)")
    #expect(player.client.report.verified > 0)
  }

  /// Where a page describes how its naive client fails, the client fails in that way and not by accident.
  private static let reasons = [
    "the-other-accessory-leaves": "nothing more was expected, but 'session.close' of reader",
    "session-taken-by-another-sdk":
      "expected 'session.open', not before 17s, not after 20s, but 'session.open' of scanner",
    "killed-with-a-session-open": "expected 'session.open', not before 5s, not after 6s, but nothing more happened",
    "two-apps-and-neither-connects":
      "expected 'session.open', not before 72s, not after 73s, but nothing more happened",
    "silent-after-the-background": "expected 'session.close', not before 40s, not after 51s, but nothing more happened",
    "retry-with-the-old-accessory": "expected 'session.open', not before 5s, not after 10s, but nothing more happened",
    "timer-aborts-the-connection": "nothing more was expected, but 'session.close' of dongle",
    "second-session-crashes": "nothing more was expected, but 'session.close' of reader",
    "busy-after-a-cancelled-request":
      "expected 'session.open', not before 25.5s, not after 26s, but nothing more happened",
    "sessions-end-in-episodes": "expected 'session.open', not before 12.7s, not after 13.2s, but nothing more happened",
    "sessions-end-at-once": "expected 'session.open', not before 1.9s, not after 2.4s, but nothing more happened",
    "wedged-by-fast-opening": "nothing more was expected, but 'session.close' of glasses",
    "phantom-session": "but 'disconnect' of glasses with com.lawaken.iap2 at 36",
    "silent-stall": "expected 'session.close', not before 16.1s, not after 16.6s, but nothing more happened",
    "only-the-first-transaction": "expected 'session.open', not before 27s, not after 27.5s, but nothing more happened",
    "small-buffer-drops-bytes": "nothing more was expected, but 'session.close' of adapter",
    "replies-in-pieces": "nothing more was expected, but 'session.close' of printer",
    "only-the-first-settings": "expected 'session.close', not before 15.1s, not after 15.6s, but nothing more happened",
    "radio-shared-with-audio": "nothing more was expected, but 'session.close' of glasses",
    "dead-after-a-day": "expected 'session.close', not before 24h, not after 1452m, but nothing more happened",
  ]

  @Test(arguments: names) func theNaiveClientIsBrokenForTheReasonOfThePage(name: String) throws {
    let naive = try #require(try ScenarioLibrary().scenario(name).naiveClient)
    let player = try play(name, try #require(ScenarioClients.named(naive)))
    #expect(!player.client.report.isServing, "\(naive) got through \(name)\n\(player.world.events.map(\.json))")
    guard let reason = Self.reasons[name] else { return }
    let found = try #require(player.comparison.difference).description
    #expect(found.contains(reason), "\(found)")
  }

  @Test func aSecondSessionCrashesTheAppThatFreedItsDelegate() throws {
    let player = try play("second-session-crashes", FreesTheDelegateOfOpenStreams.self)
    let crash = player.world.events.contains { $0.json.contains("the app crashes: an event of the first session") }
    #expect(crash)
  }

  /// Until the accessory is plugged in again, sessions are refused because of the rules, not because of the number of
  /// attempts.
  @Test func neitherAppGetsASessionWhileThatOfAKilledAppIsLeft() throws {
    let player = try play("two-apps-and-neither-connects", RobustClient.self)
    let refused = player.world.events.filter { $0.json.contains("another app has an open session") }
    #expect(refused.count > 5)
  }

  @Test(arguments: names) func oneSeedWritesOneTranscript(name: String) throws {
    let first = try play(name, RobustClient.self).world.transcript
    #expect(!first.isEmpty)
    #expect(try play(name, RobustClient.self).world.transcript == first)
  }

  @Test(arguments: names) func eachSaysWhatItReproducesAndFromWhere(name: String) throws {
    let scenario = try ScenarioLibrary().scenario(name)
    let about = scenario.about
    #expect(!about.summary.isEmpty && !about.source.isEmpty && !about.reproduces.isEmpty)
    #expect(!about.story.isEmpty && !about.survival.isEmpty)
  }

  @Test func everyFieldFailureAndEveryVariantOfTheFlickerIsReproduced() throws {
    let reproduced = Set(try Self.names.flatMap { try ScenarioLibrary().scenario($0).about.reproduces })
    let failures = (1...35).map { "W\($0)" }
    // No scenario is required for F7, in which something fails to happen, or for F10, which no report describes.
    let variants = [1, 2, 3, 4, 5, 6, 8, 9, 11].map { "F\($0)" }
    #expect(Set(failures + variants).subtracting(reproduced) == [])
    #expect(reproduced == Set(FieldNumber.words.keys), "every number stands beside its few words")
  }

  @Test(arguments: ScenarioClients.naive.map(\.name)) func everyNaiveClientIsBrokenBySomeScenario(name: String) throws {
    #expect(try Self.names.contains { try ScenarioLibrary().scenario($0).naiveClient == name })
  }
}
