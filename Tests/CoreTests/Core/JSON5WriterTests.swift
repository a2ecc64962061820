import AccessoryFormats
import Testing

@Suite struct JSON5WriterTests {
  let tree = JSON5Value.object([
    .init("version", .number(1)),
    .init("odd key", .text("a \"b\" \\ \n\r\t\u{1} 李")),
    .init("usb", .object([.init("vendor", .hex(0x1209)), .init("speed", .text("high"))])),
    .init("list", .array([.array([]), .object([]), .null, .boolean(true)])),
    .init("empty", .object([])),
  ])

  @Test func asJSON5ItIsWhatAPersonWouldWrite() {
    #expect(
      JSON5Writer.write(tree) == #"""
        {
          version: 1,
          "odd key": "a \"b\" \\ \n\r\t\u0001 李",
          usb: { vendor: 0x1209, speed: "high" },
          list: [
            [],
            {},
            null,
            true,
          ],
          empty: {},
        }

        """#)
  }

  @Test func asJSONItIsPlain() {
    #expect(
      JSON5Writer.write(tree, as: .json) == #"""
        {
          "version": 1,
          "odd key": "a \"b\" \\ \n\r\t\u0001 李",
          "usb": { "vendor": 4617, "speed": "high" },
          "list": [
            [],
            {},
            null,
            true
          ],
          "empty": {}
        }

        """#)
  }

  @Test func aNumberThatJSONCannotSayBecomesNull() throws {
    let numbers = try JSON5.read("[NaN, -Infinity, .5, 1e3, 0x10, +1]", file: "f")
    #expect(JSON5Writer.write(numbers, as: .json) == "[\n  null,\n  null,\n  0.5,\n  1000,\n  16,\n  1\n]\n")
    #expect(JSON5Writer.write(numbers) == "[\n  NaN,\n  -Infinity,\n  .5,\n  1e3,\n  0x10,\n  +1,\n]\n")
  }

  @Test func whatIsLongStandsOnLinesOfItsOwn() {
    let long = JSON5Value.object([.init("list", .array((0..<60).map { .number($0) }))])
    let lines = JSON5Writer.write(long).split(separator: "\n")
    #expect(lines.count == 64)
    #expect(lines.allSatisfy { $0.count <= 100 })
  }

  @Test(arguments: [JSON5Writer.Style.json5, .json, .jsonLine])
  func whatIsWrittenIsReadBack(style: JSON5Writer.Style) throws {
    var random = SeededRandom(seed: 5)
    for _ in 0..<500 {
      let tree = value(depth: 4, &random)
      #expect(try JSON5.read(JSON5Writer.write(tree, as: style), file: "f").withoutPositions == tree)
    }
  }

  private func value(depth: Int, _ random: inout SeededRandom) -> JSON5Value {
    switch Int.random(in: 0..<(depth == 0 ? 4 : 6), using: &random) {
    case 0: .null
    case 1: .boolean(.random(using: &random))
    case 2: .number(Int.random(in: -1_000_000...1_000_000, using: &random))
    case 3: .text(word(&random))
    case 4: .array((0..<Int.random(in: 0...4, using: &random)).map { _ in value(depth: depth - 1, &random) })
    default:
      .object(
        (0..<Int.random(in: 0...4, using: &random)).map { _ in .init(word(&random), value(depth: depth - 1, &random)) })
    }
  }

  private func word(_ random: inout SeededRandom) -> String {
    let letters: [Unicode.Scalar] = ["a", "Z", "_", "$", "9", " ", "\"", "'", "\\", "\n", "\0", "李", "😀", "\u{2029}"]
    var word = ""
    for _ in 0..<Int.random(in: 0...6, using: &random) {
      word.unicodeScalars.append(letters[Int.random(in: 0..<letters.count, using: &random)])
    }
    return word
  }
}
