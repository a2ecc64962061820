import AccessoryHost
import AccessoryTransports
import Testing

@Suite struct BenchChoiceTests {
  func accessory(_ name: String, _ serial: String, _ protocols: [String]) throws -> BenchAccessory {
    let entry = try #require(BenchEntry("\(name)-1", in: BenchDirectory("/bench")))
    return BenchAccessory(
      entry: entry,
      card: BenchCard(
        name: "n", serial: serial, manufacturer: "m", model: "o", protocols: protocols,
        process: ProcessIdentity(pid: 1, startTime: 1), attachedAt: 0))
  }

  @Test func theOnlyOneFits() throws {
    let one = try accessory("aaaaaa", "S1", ["p"])
    #expect(BenchChoice(among: [one]) == .one(one))
    #expect(BenchChoice(among: [one], protocolName: "p") == .one(one))
    #expect(BenchChoice(among: []) == .nothing)
    #expect(BenchChoice(among: [one], serial: "S2") == .nothing)
  }

  @Test func amongSeveralTheProtocolOrTheSerialNumberDecides() throws {
    let (one, two) = (try accessory("aaaaaa", "S1", ["p"]), try accessory("bbbbbb", "S2", ["q"]))
    #expect(BenchChoice(among: [one, two]) == .several([one, two]))
    #expect(BenchChoice(among: [one, two], protocolName: "q") == .one(two))
    #expect(BenchChoice(among: [one, two], serial: "S1") == .one(one))
    #expect(BenchChoice(among: [one, two], protocolName: "r") == .unfit([one, two]))
  }

  @Test func anAccessoryInAFlickerFitsWhenNothingFitsBetter() throws {
    let (whole, empty) = (try accessory("aaaaaa", "S1", ["p"]), try accessory("bbbbbb", "S2", []))
    #expect(BenchChoice(among: [whole, empty], protocolName: "p") == .one(whole))
    #expect(BenchChoice(among: [whole, empty], protocolName: "q") == .one(empty))
  }

  @Test func twoWithOneSerialNumberAreSeveral() throws {
    let (one, two) = (try accessory("aaaaaa", "S1", ["p"]), try accessory("bbbbbb", "S1", ["p"]))
    #expect(BenchChoice(among: [one, two], serial: "S1") == .several([one, two]))
  }

  @Test func anAccessoryThatWasNamedIsTakenWhateverItsCardSays() throws {
    let one = try accessory("aaaaaa", "S1", ["p"])
    #expect(BenchChoice(among: [one], serial: "S1", protocolName: "q") == .one(one))
  }
}
