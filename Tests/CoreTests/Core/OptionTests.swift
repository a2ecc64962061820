import AccessoryFormats
import Testing

@Suite struct OptionTests {
  @Test func aTextIsTakenApartWithItsColumns() {
    let text = OptionText("spoil, chance = 5%,header,a=b=c,")
    #expect(text.name == "spoil")
    #expect(text.parameters.map(\.name) == ["chance", "header", "a", ""])
    #expect(text.parameters.map(\.value) == ["5%", nil, "b=c", nil])
    #expect(text.parameters.map(\.column) == [8, 20, 27, 33])
    #expect(OptionText("").parameters.isEmpty)
  }

  @Test func aChanceIsReadAndWrittenToTheMillionth() throws {
    for (text, millionths, written) in [
      ("5%", 50_000, "5%"), ("0.05", 50_000, "5%"), ("0.0001%", 1, "0.0001%"), ("0.000001", 1, "0.0001%"),
      ("7.25%", 72_500, "7.25%"), ("100%", 1_000_000, "100%"), ("1", 1_000_000, "100%"), ("0", 0, "0%"),
      ("2.500000%", 25_000, "2.5%"),
    ] {
      let chance = try Chance(text)
      #expect(chance.millionths == millionths)
      #expect(chance.description == written)
      #expect(try Chance(written) == chance)
    }
    for text in ["", "%", "x", "-1", "101%", "1.1", "0.0000001", "1.", ".5", "1.2.3", "99999999999999999999"] {
      #expect(throws: OptionError.self) { try Chance(text) }
    }
  }

  @Test func aChanceHappensAboutAsOftenAsItSays() throws {
    var random = SeededRandom(seed: 3)
    let chance = try Chance("3%")
    let hits = (0..<100_000).count { _ in chance.happens(using: &random) }
    #expect((2_700...3_300).contains(hits))
    #expect(!Chance(millionths: 0).happens(using: &random))
    #expect(Chance.percent(100).happens(using: &random))
  }
}
