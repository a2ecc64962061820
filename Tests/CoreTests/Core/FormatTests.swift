import Testing

@testable import AccessoryFormats

/// A type whose format is used only in this test. Everything that the test compares is generated from these few lines.
private struct Lamp: Equatable {
  enum Color: String, CaseIterable { case red, green }

  var color = Color.red
  var brightness: UInt8 = 50
  var fading: Duration?
  var isOn = true
  var tags: [String] = []
  var serial: String?
  var place = Room()
  var low: UInt8 = 1
  var high: UInt8 = 9
  var product: UInt16 = 0x1209

  struct Room: Equatable {
    var name = ""
    var floor = 0

    static let format = Record("room", "where it stands", Room()) {
      Field("name", \.name, .text, "what people call it", isRequired: true)
      Field("floor", \.floor, .integer(-2...20), "its floor")
    }
  }

  static let format = Record("lamp", "a lamp", Lamp()) {
    Field("color", \.color, .choice, "its color")
    Field("brightness", \.brightness, .integer(0...100), "in per cent")
    Field("fading", \.fading, .optional(.duration(.zero ... .seconds(10))), "how long a change takes")
    Field("on", \.isOn, .boolean, "whether it is on")
    Field("tags", \.tags, .list(of: .text, count: 0...3), "words")
    Field("serial", \.serial, .nullable(.text), "its serial number")
    Field("place", \.place, Room.format)
    Field(group: "range", "how far it goes") {
      Field("low", \.low, .integer(0...9), "at least")
      Field("high", \.high, .integer(0...9), "at most", standard: Standard("low + 8") { min(9, $0.low + 8) })
    }
    Field("product", \.product, .hex16, "its number")
  }.checked { lamp, object in
    if lamp.low > lamp.high { object.error("range", "\(lamp.low) is more than \(lamp.high)") }
  }
}

private struct Blink: Equatable {
  enum Edge: String, CaseIterable { case hard, soft }
  var every = Duration.seconds(1)
  var edge = Edge.hard
  var count = 0

  static let format = Record("blink", "goes on and off", Blink()) {
    Field("every", \.every, .duration(.milliseconds(1) ... .seconds(60)), "how often")
    Field("edge", \.edge, .choice, "how it changes")
    Field("count", \.count, .integer(0...1_000), "how many times; 0 for ever")
  }
}

private enum Effect: Equatable {
  case blink(Blink)
  case glow(Bool)
  case none

  static let format = OneOf("effect", key: "kind", example: "blink,every=1s") {
    Kind(Blink.format, Effect.blink) { if case .blink(let blink) = $0 { blink } else { nil } }
    Kind(
      Record("glow", "glows", false) { Field("warm", \.self, .boolean, "whether it is warm") }, Effect.glow
    ) { if case .glow(let isWarm) = $0 { isWarm } else { nil } }
    Kind("none", "does nothing", Effect.none)
  }
}

@Suite struct FormatTests {
  private func lamp(_ text: String) throws -> Lamp { try Lamp.format.read(text, file: "f") }

  private func complaints(_ text: String) -> [String] {
    do {
      _ = try Lamp.format.read(text, file: "f")
      return []
    } catch {
      return error.problems.map(\.description)
    }
  }

  // MARK: Reading and writing

  @Test func whatIsLeftOutHasTheDefaultOfTheType() throws {
    #expect(try lamp("{}") == Lamp())
  }

  @Test func everyKindOfValueIsReadAndWrittenBack() throws {
    var expected = Lamp()
    (expected.color, expected.brightness, expected.fading, expected.isOn) = (.green, 7, .milliseconds(1_500), false)
    (expected.tags, expected.serial, expected.place) = (["a", "b"], "S", Lamp.Room(name: "attic", floor: 3))
    (expected.low, expected.high, expected.product) = (2, 5, 0xABCD)
    let text = """
      {
        color: "green",
        brightness: 7,
        fading: "1.5s",
        on: false,
        tags: ["a", "b"],
        serial: "S",
        place: { name: "attic", floor: 3 },
        range: { low: 2, high: 5 },
        product: 0xABCD,
      }

      """
    #expect(try lamp(text) == expected)
    #expect(JSON5Writer.write(Lamp.format.tree(expected)) == text)
  }

  @Test func onlyWhatDiffersFromTheDefaultsIsWritten() throws {
    #expect(Lamp.format.tree(Lamp()) == .object([]))
    var lamp = Lamp()
    lamp.low = 0
    lamp.high = 8
    #expect(Lamp.format.tree(lamp) == .object([.init("range", .object([.init("low", .number(0))]))]))
    lamp.high = 9
    #expect(try self.lamp(JSON5Writer.write(Lamp.format.tree(lamp))) == lamp)
  }

  @Test func aDefaultMayDependOnWhatElseIsGiven() throws {
    #expect(try lamp("{ range: { low: 0 } }").high == 8)
    #expect(try lamp("{ range: { low: 0, high: 3 } }").high == 3)
  }

  // MARK: Mistakes

  @Test func allMistakesAreReportedAtOnceInTheOrderOfTheFile() {
    #expect(
      complaints(
        """
        { color: 'gren', brightnes: 5, brightness: 101, fading: '11s', on: 1,
          tags: ['a', 5, 'b', 'c'], serial: 5, place: { flor: 1 }, product: 0x10000 }
        """) == [
          "f:1:10: color: unknown value 'gren', did you mean 'green'?",
          "f:1:18: unknown key 'brightnes' in lamp, did you mean 'brightness'?",
          "f:1:44: brightness: expected a whole number from 0 to 100, found number 101",
          "f:1:57: fading: expected a duration from 0ms to 10s, found text '11s'",
          "f:1:68: on: expected true or false, found number 1",
          "f:2:9: tags: expected a list of at most 3 elements, found 4",
          "f:2:37: serial: expected text, found number 5",
          "f:2:47: place: the key 'name' is missing",
          "f:2:49: unknown key 'flor' in place, did you mean 'floor'?",
          "f:2:69: product: expected a whole number from 0 to 65535, found number 0x10000",
        ])
  }

  @Test(arguments: [
    ("{ range: { low: 5, high: 4 } }", "f:1:10: range: 5 is more than 4"),
    ("{ on: true, on: true }", "f:1:13: key 'on' occurs twice in lamp: first at line 1, column 3"),
    ("{ tags: [5] }", "f:1:10: tags[0]: expected text, found number 5"),
    ("{ place: { name: 5 } }", "f:1:18: place.name: expected text, found number 5"),
    ("[]", "f:1:1: expected an object, found a list"),
  ])
  func aMistakeIsNamedWithItsPlace(text: String, complaint: String) {
    #expect(complaints(text) == [complaint])
  }

  @Test func elementsThatCannotBeReadKeepThePathsOfTheOthers() {
    let problems = ProblemCollector()
    let list = Format.list(of: Format.object(Lamp.Room.format))
    let rooms = list.read(
      .array([.object([]), .object([.init("name", .text("a"))])]), at: Place("rooms", problems))
    #expect(rooms == [Lamp.Room(name: "a")])
    #expect(problems.paths(of: "rooms", count: 1) == ["rooms[1]"])
  }

  @Test func namesAreKeptInTheirOrderAndEachOnce() throws {
    let format = Format.named(of: Format.object(Lamp.Room.format), atLeast: 1)
    let text = "{ b: { name: 'x' }, a: { name: 'y', floor: 2 } }"
    let rooms = format.read(try JSON5.read(text, file: "f"), at: Place(ProblemCollector()))
    #expect(rooms == [Named("b", Lamp.Room(name: "x")), Named("a", Lamp.Room(name: "y", floor: 2))])
    #expect(rooms.map { format.write($0) } == (try JSON5.read(text, file: "f").withoutPositions))
    func complaints(_ text: String) throws -> [String] {
      let problems = ProblemCollector()
      _ = format.read(try JSON5.read(text, file: "f"), at: Place("rooms", problems))
      return problems.problems.map(\.description)
    }
    #expect(
      try complaints("{ a: { name: 'x' }, a: { name: 5 } }") == [
        "f:1:21: rooms: the name 'a' is given twice", "f:1:32: rooms.a.name: expected text, found number 5",
      ])
    #expect(try complaints("{}") == ["f:1:1: rooms: expected an object with at least 1 name, found an object"])
  }

  // MARK: A value that is one of several kinds

  @Test(arguments: [
    ("blink", Effect.blink(Blink()), "blink"),
    ("blink,every=2s,soft", .blink(Blink(every: .seconds(2), edge: .soft)), "blink,every=2s,edge=soft"),
    ("blink,edge=hard,count=3", .blink(Blink(count: 3)), "blink,count=3"), ("glow,warm", .glow(true), "glow,warm=true"),
    ("glow , warm = no", .glow(false), "glow"), ("none", .none, "none"),
  ])
  private func aTextIsReadAndWrittenBack(text: String, effect: Effect, written: String) throws {
    #expect(try Effect.format.read(text) == effect)
    #expect(Effect.format.text(effect) == written)
    #expect(try Effect.format.read(written) == effect)
    #expect(Effect.format.format.read(Effect.format.tree(effect), at: Place(ProblemCollector())) == effect)
  }

  @Test(arguments: [
    ("5", "f:1:1: e: expected an effect such as 'blink,every=1s' or an object, found number 5"),
    ("{ every: '1s' }", "f:1:1: e: the key 'kind' is missing"),
    ("{ kind: 5 }", "f:1:9: e.kind: expected text, found number 5"),
    ("{ kind: 'blnk' }", "f:1:9: e: unknown effect 'blnk', did you mean 'blink'?"),
    ("{ kind: 'glow', every: '1s' }", "f:1:17: 'glow' has no 'every': it belongs to 'blink'"),
    ("'blink,every=5'", "f:1:1: e.every: '5' has no unit: write '5ms', '5s' or '5m'"),
  ])
  func aWrongObjectIsNamedWithItsPlace(text: String, message: String) throws {
    let problems = ProblemCollector()
    _ = Effect.format.format.read(try JSON5.read(text, file: "f"), at: Place("e", problems))
    #expect(problems.problems.map(\.description) == [message])
  }
}
