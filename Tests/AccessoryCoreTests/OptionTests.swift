import AccessoryCore
import Testing

@Suite struct OptionTests {
  let parameters: [OptionParameter] = [
    .choice("part", ["payload", "header"], "what is spoiled"),
    .count("burst", 1...100, 1, "how many in a row"),
    .duration("wait", .zero ... .seconds(60), .milliseconds(50), "how long"),
    .chance("chance", .percent(1), "how often"),
  ]

  func read(_ text: String) throws(OptionError) -> OptionArguments {
    try OptionArguments(of: "the fault 'spoil'", parameters, OptionText(text))
  }

  func error(_ text: String) -> String? {
    do throws(OptionError) {
      _ = try read(text)
      return nil
    } catch {
      return error.description
    }
  }

  @Test func aTextIsTakenApartWithItsColumns() {
    let text = OptionText("spoil, chance = 5%,header,a=b=c,")
    #expect(text.name == "spoil")
    #expect(text.parameters.map(\.name) == ["chance", "header", "a", ""])
    #expect(text.parameters.map(\.value) == ["5%", nil, "b=c", nil])
    #expect(text.parameters.map(\.column) == [8, 20, 27, 33])
    #expect(OptionText("").parameters.isEmpty)
  }

  @Test func whatIsGivenCountsAndTheRestHasItsDefault() throws {
    let arguments = try read("spoil,header,burst=7,chance=2.5%")
    #expect(arguments.choice("part") == "header")
    #expect(arguments.count("burst") == 7)
    #expect(arguments.chance("chance") == Chance(millionths: 25_000))
    #expect(arguments.duration("wait") == .milliseconds(50))
    #expect(arguments.text("spoil") == "spoil,part=header,burst=7,chance=2.5%")
    #expect(try read(arguments.text("spoil")) == arguments)
  }

  @Test func eachMistakeIsNamedWithItsColumnAndTheNearestRightForm() {
    #expect(error("spoil,chanse=5%") == "column 7: the fault 'spoil' has no parameter 'chanse', did you mean 'chance'?")
    #expect(
      error("spoil,burst=2,headr") == "column 15: 'headr' says nothing to the fault 'spoil', did you mean 'header'?")
    #expect(error("spoil,part=tail") == "column 7: 'tail' is no part: expected 'payload', 'header'")
    #expect(error("spoil,burst=0") == "column 7: burst is a whole number from 1 to 100, not '0'")
    #expect(error("spoil,wait=2m") == "column 7: wait is a duration from 0ms to 1m, not '2m'")
    #expect(error("spoil,wait=2")?.hasPrefix("column 7: wait: '2' has no unit") == true)
    #expect(error("spoil,chance=often") == "column 7: chance: 'often' is not a chance: write '5%' or '0.05'")
    #expect(error("spoil,burst=1,burst=2") == "column 15: burst is given twice")
    #expect(error("spoil,\(String(repeating: "x", count: 500))")?.utf8.count ?? .max < 250)
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
