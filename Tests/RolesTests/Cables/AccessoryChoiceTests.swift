import LinuxIO
import Testing

@testable import AccessoryCables
@testable import easim

@Suite struct AccessoryChoiceTests {
  func accessory(_ name: String, _ serial: String, _ protocols: [String]) throws -> FoundAccessory {
    let entry = try #require(LocalEntry("\(name)-1", in: LocalDirectory("/local")))
    return FoundAccessory(
      LocalCard(
        PortAppearance(name: "n", serial: serial, manufacturer: "m", model: "o", protocols: protocols),
        process: ProcessIdentity(pid: 1, startTime: 1), attachedAt: 0), of: entry)
  }

  @Test func theOnlyOneFits() throws {
    let one = try accessory("aaaaaa", "S1", ["p"])
    #expect(AccessoryChoice(among: [one]) == .one(one))
    #expect(AccessoryChoice(among: [one], protocolName: "p") == .one(one))
    #expect(AccessoryChoice(among: []) == .nothing)
  }

  @Test func amongSeveralTheProtocolDecides() throws {
    let (one, two) = (try accessory("aaaaaa", "S1", ["p"]), try accessory("bbbbbb", "S2", ["q"]))
    #expect(AccessoryChoice(among: [one, two]) == .several([one, two]))
    #expect(AccessoryChoice(among: [one, two], protocolName: "q") == .one(two))
    #expect(AccessoryChoice(among: [one, two], protocolName: "r") == .unfit([one, two]))
  }

  @Test func anAccessoryInAFlickerFitsWhenNothingFitsBetter() throws {
    let (whole, empty) = (try accessory("aaaaaa", "S1", ["p"]), try accessory("bbbbbb", "S2", []))
    #expect(AccessoryChoice(among: [whole, empty], protocolName: "p") == .one(whole))
    #expect(AccessoryChoice(among: [whole, empty], protocolName: "q") == .one(empty))
  }

  @Test func twoWithOneSerialNumberAreSeveral() throws {
    let (one, two) = (try accessory("aaaaaa", "S1", ["p"]), try accessory("bbbbbb", "S1", ["p"]))
    #expect(AccessoryChoice(among: [one, two], isNamed: true) == .several([one, two]))
  }

  @Test func anAccessoryThatWasNamedIsTakenWhateverItsCardSays() throws {
    let one = try accessory("aaaaaa", "S1", ["p"])
    #expect(AccessoryChoice(among: [one], protocolName: "q", isNamed: true) == .one(one))
  }
}
