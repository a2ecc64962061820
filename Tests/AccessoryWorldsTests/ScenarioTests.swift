import AccessoryProfiles
import AccessoryTransports
import AccessoryWorlds
import Testing

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

  @Test(arguments: names) func theSoundClientSurvivesAndSeesWhatIsExpected(name: String) throws {
    let player = try play(name, SoundClient.self)
    let timeline = player.world.events.map(\.json).joined(separator: "\n")
    #expect(
      player.comparison.difference == nil, "\(player.comparison.difference.map(\.description) ?? "")\n\(timeline)")
    #expect(player.client.report.isServing, "\(timeline)")
    #expect(player.client.report.verified > 0)
  }

  @Test(arguments: names) func theNaiveClientIsBroken(name: String) throws {
    let naive = try #require(try ScenarioLibrary().scenario(name).naiveClient)
    let player = try play(name, try #require(ScenarioClients.named(naive)))
    #expect(!player.client.report.isServing, "\(naive) got through \(name)\n\(player.world.events.map(\.json))")
  }

  @Test(arguments: names) func oneSeedWritesOneTranscript(name: String) throws {
    let first = try play(name, SoundClient.self).world.transcript
    #expect(!first.isEmpty)
    #expect(try play(name, SoundClient.self).world.transcript == first)
  }

  @Test(arguments: names) func eachSaysWhatItReproducesAndFromWhere(name: String) throws {
    let scenario = try ScenarioLibrary().scenario(name)
    #expect(!scenario.summary.isEmpty && !scenario.source.isEmpty && !scenario.reproduces.isEmpty)
  }
}
