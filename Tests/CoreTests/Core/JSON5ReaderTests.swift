import AccessoryFormats
import Testing

@Suite struct JSON5ReaderTests {
  func read(_ text: String) throws -> JSON5Value.Content {
    try JSON5.read(text, file: "t").withoutPositions.content
  }

  func text(_ literal: String) throws -> String? {
    if case .text(let text) = try read(literal) { text } else { nil }
  }

  func number(_ literal: String) throws -> JSON5Number {
    guard case .number(let number) = try read(literal) else { throw NotANumber() }
    return number
  }
  struct NotANumber: Error {}

  @Test func everythingThatJSON5AddsToJSONIsRead() throws {
    let document = """
      // a comment
      {
        unquoted: 'single "quotes"', /* and
        another */ "quoted": "a \\
      b", $dollar_: [1, 2,], 名前: +.5, _n: 0xDecaf, \\u0061b: -Infinity,
      }
      """
    let tree = try JSON5.read(document, file: "t").withoutPositions
    #expect(tree["unquoted"]?.content == .text("single \"quotes\""))
    #expect(tree["quoted"]?.content == .text("a b"))
    #expect(tree["$dollar_"]?.content == .array([.init(.number(JSON5Number(1))), .init(.number(JSON5Number(2)))]))
    #expect(tree["名前"]?.content == .number(JSON5Number(spelling: "+.5", value: 0.5, integer: nil)))
    #expect(tree["_n"]?.content == .number(JSON5Number(spelling: "0xDecaf", value: 912_559, integer: 912_559)))
    #expect(tree["ab"]?.content == .number(JSON5Number(spelling: "-Infinity", value: -.infinity, integer: nil)))
  }

  @Test func plainJSONIsReadAsItIs() throws {
    #expect(
      try read("[null, true, false, {}, []]")
        == .array([.null, .boolean(true), .boolean(false), .object([]), .array([])].map { JSON5Value($0) }))
    #expect(try read("  \u{FEFF}\u{A0}\u{2003}{}\u{2028}\r\n") == .object([]))
  }

  @Test(arguments: [
    (#""\b\f\n\r\t\v\0\'\"\\\/\x41\u674e\a""#, "\u{8}\u{C}\n\r\t\u{B}\0'\"\\/A李a"),
    (#"'\uD83D\uDE00'"#, "😀"), ("'a\\\r\nb\\\rc\\\u{2028}d'", "abcd"), ("'\t\u{2028}'", "\t\u{2028}"), ("''", ""),
    ("'😀é'", "😀é"),
  ])
  func escapesInTexts(literal: String, expected: String) throws {
    #expect(try text(literal) == expected)
  }

  @Test(
    arguments: [
      ("0", 0.0, 0), ("-0x10", -16, -16), ("5.", 5, 5), (".25", 0.25, nil), ("1e3", 1000, 1000), ("1E-2", 0.01, nil),
      ("5.0", 5, 5), ("9223372036854775807", 0x1p63, Int64.max),
      ("9223372036854775808", 0x1p63, nil), ("+7", 7, 7), ("5.e1", 50, 50),
      ("1e400", .infinity, nil),
      ("-9223372036854775808", -0x1p63, Int64.min),
    ] as [(String, Double, Int64?)])
  func numbersKnowTheirValueTheirSpellingAndWhetherTheyAreWhole(spelling: String, value: Double, integer: Int64?) throws
  {
    #expect(try number(spelling) == JSON5Number(spelling: spelling, value: value, integer: integer))
  }

  @Test func everyKeyAndValueKnowsItsLineAndColumn() throws {
    let tree = try JSON5.read("{\n  a: 1,\r\n  \"李\": [ 'x',\r 2 ],\n\t名: {}}", file: "p.json5")
    guard case .object(let members) = tree.content, case .array(let values) = members[1].value.content else {
      Issue.record("not the expected tree")
      return
    }
    let places = [tree.position] + members.map(\.keyPosition) + members.map(\.value.position) + values.map(\.position)
    #expect(
      places.map(\.description) == [
        "p.json5:1:1", "p.json5:2:3", "p.json5:3:3", "p.json5:5:2", "p.json5:2:6", "p.json5:3:8", "p.json5:5:5",
        "p.json5:3:10", "p.json5:4:2",
      ])
  }

  @Test(arguments: [
    ("{} x", "f:1:4: expected nothing after the document's value, found 'x'"),
    ("{a 1}", "f:1:4: expected ':' after the key 'a', found '1'"),
    ("{\n a: 1\n b: 2}", "f:3:2: expected ',' or '}' in the object that opens at line 1, column 1, found 'b'"),
    ("[,]", "f:1:2: expected a value, found ','"),
    ("{a:", "f:1:4: expected a value, found the end of the file"),
    ("'\\", "f:1:2: the file ends after '\\'"),
    ("'\\uDE00\\uD83D'", "f:1:2: '\\uDE00' is one half of a surrogate pair without the other"),
    ("'\\uD83D\\u0041'", "f:1:2: '\\uD83D' is one half of a surrogate pair without the other"),
    ("12px", "f:1:1: '12px' is not a number"), ("[1-2]", "f:1:2: '1-2' is not a number"),
    ("-", "f:1:1: '-' is not a number"),
    ("- 1", "f:1:1: '-' is not a number"), ("1.2.3", "f:1:1: '1.2.3' is not a number"),
    ("{\\x61: 1}", "f:1:2: in a key, '\\' must be followed by 'u' and four hex digits"),
    ("{a: \u{1}}", "f:1:5: expected a value, found '\\x01'"),
  ])
  func aMistakeIsNamedWithItsPlace(document: String, message: String) {
    let error = #expect(throws: SourceProblem.self) { try JSON5.read(document, file: "f") }
    #expect(error?.description == message)
  }

  @Test func bytesThatAreNotUTF8AreNamedWithTheirPlace() {
    let error = #expect(throws: SourceProblem.self) {
      try JSON5.read(Array("{\n '李".utf8) + [0xFF] + Array("'}".utf8), file: "f")
    }
    #expect(error?.description == "f:2:4: the byte 0xFF is not UTF-8")
  }

  @Test func sizeAndDepthAreLimited() throws {
    let deep = { (depth: Int) in String(repeating: "[", count: depth) + String(repeating: "]", count: depth) }
    _ = try JSON5.read(deep(64), file: "f")
    let tooDeep = #expect(throws: SourceProblem.self) { try JSON5.read(deep(65), file: "f") }
    #expect(tooDeep?.description == "f:1:65: lists and objects are nested deeper than 64")
    #expect(throws: SourceProblem.self) { try JSON5.read(deep(500_000), file: "f") }
    let tooLong = #expect(throws: SourceProblem.self) {
      try JSON5.read("[1,2]", file: "f", limits: .init(bytes: 4))
    }
    #expect(tooLong?.description == "f:1:1: the file has 5 bytes; the limit is 4")
  }
}
