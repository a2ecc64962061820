import AccessoryFormats
import AccessoryProfiles
import Testing

@Suite struct PropertyListTests {
  static func complaint(_ bytes: [UInt8]) -> String {
    do {
      return "none: \(try PropertyList(bytes, path: "Info.plist"))"
    } catch {
      return error.description
    }
  }

  static func complaint(_ text: String) -> String { complaint(Array(text.utf8)) }

  // MARK: XML

  @Test(
    arguments: [
      ("<plist><dict/></plist>", .dictionary([:])),
      ("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<plist version=\"1.0\"><dict/></plist>", .dictionary([:])),
      ("<array/><!-- without <plist> -->", .array([])),
      ("\u{FEFF}<plist><string>a > b</string><!-- <array> ' --></plist>", .text("a > b")),
      ("<plist><string>a<![CDATA[<array>]]><!-- b -->&#x63;&quot;</string></plist>", .text("a<array>c\"")),
      (
        "<dict><key>a&amp;b</key><true/>\n<key/><array><integer>1</integer><data/></array></dict>",
        .dictionary(["a&b": .other("a boolean"), "": .array([.other("a number"), .other("data")])])
      ),
    ] as [(String, PropertyList)])
  func xmlIsAccepted(text: String, expected: PropertyList) throws {
    #expect(try PropertyList(Array(text.utf8), path: "Info.plist") == expected)
  }

  @Test(arguments: [
    ("<html></html>", "1:1", "<html> is no value of a property list"),
    ("<plist/>", "1:1", "<plist> is empty"),
    ("<plist></plist>", "1:8", "</plist> closes nothing"),
    ("<plist>\n<array/>", "2:9", "it ends too early"),
    ("<plist><array/><array/></plist>", "1:16", "expected </plist>"),
    ("<array/>\n<array/>", "2:1", "expected the end of the file"),
    ("<plist><array><string>a</array></plist>", "1:24", "expected </string>"),
    ("<string>a", "1:1", "<string> is not closed"),
    ("<array>a</array>", "1:8", "text outside of <string>"),
    ("<array><![CDATA[</array>]]>", "1:8", "text outside of <string>"),
    ("<dict><string/></dict>", "1:7", "expected <key> or </dict>, found <string>"),
    ("<dict><key>a</key></dict>", "1:19", "</dict> closes nothing"),
    ("<string>&a;</string>", "1:9", "'&' must begin a reference such as &amp;"),
    ("<string>&#0;</string>", "1:9", "'&' must begin a reference such as &amp;"),
    ("<string>a&", "1:10", "'&' must begin a reference such as &amp;"),
  ])
  func xmlThatIsNoPropertyListIsRefusedAtItsPlace(text: String, place: String, reason: String) {
    #expect(Self.complaint(text) == "Info.plist:\(place): this is not a valid property list: \(reason)")
  }

  @Test(arguments: [
    ("", "Info.plist is not a property list: expected XML that begins with <?xml or <plist>"),
    ("{}", "Info.plist is not a property list: expected XML that begins with <?xml or <plist>"),
    ("<plist>\n <!-- ", "Info.plist:2:2: this tag or comment is not closed: '-->' is missing"),
    ("<plist", "Info.plist:1:1: this tag or comment is not closed: '>' is missing"),
    (
      "<!DOCTYPE plist [<!ENTITY a \"b\">]><plist/>",
      "Info.plist:1:1: document types with their own definitions are not supported"
    ),
    ("<plist><string a=\"b\"/></plist>", "Info.plist:1:8: attributes of <string> are not supported"),
    ("<?xml encoding=\"UTF-16\"?><plist/>", "Info.plist:1:1: the encoding is not UTF-8"),
    ("<plist>\0</plist>", "Info.plist is neither a binary property list nor UTF-8 XML"),
  ])
  func xmlThatReadersUnderstandDifferentlyIsRefused(text: String, expected: String) {
    #expect(Self.complaint(text) == expected)
  }

  @Test(arguments: [0, 1]) func xmlIsNestedSixtyFourDeepAndNotDeeper(more: Int) {
    let depth = PropertyList.deepest + more
    let text =
      "<plist>" + String(repeating: "<array>", count: depth) + String(repeating: "</array>", count: depth) + "</plist>"
    let expected =
      more == 0 ? Self.nested(depth) : "Info.plist:1:456: arrays and dictionaries are nested deeper than 64"
    #expect(Self.complaint(text) == expected)
  }

  private static func nested(_ depth: Int) -> String {
    "none: \((1..<depth).reduce(PropertyList.array([])) { list, _ in .array([list]) })"
  }

  /// Closing tags inside comments, processing instructions and document types are ignored.
  @Test(arguments: ["<!--</array>-->", "<?a </array>?>", "<!DOCTYPE </array>"])
  func aHiddenClosingTagDoesNotHideTheDepth(hidden: String) {
    let text = "<plist>" + String(repeating: "<array>\(hidden)", count: 70)
    #expect(Self.complaint(text).hasSuffix("are nested deeper than 64"))
  }

  // MARK: Binary

  static func binary(_ objects: [[UInt8]], top: UInt8 = 0) -> [UInt8] {
    var bytes = Array("bplist00".utf8)
    var offsets: [UInt8] = []
    for object in objects {
      offsets.append(UInt8(bytes.count))
      bytes += object
    }
    let table = UInt8(bytes.count)
    let count = UInt8(objects.count)
    bytes += offsets + [0, 0, 0, 0, 0, 0, 1, 1]
    for number in [count, top, table] { bytes += [0, 0, 0, 0, 0, 0, 0, number] }
    return bytes
  }

  @Test func binaryIsAccepted() throws {
    let values = { (objects: [[UInt8]]) in try PropertyList(Self.binary(objects), path: "Info.plist") }
    #expect(try values([[0xD1, 1, 2], [0x51, 0x61], [0xA0]]) == .dictionary(["a": .array([])]))
    #expect(try values([[0x51, 0x61]]) == .text("a"))
    // The dictionary contains the same key twice. The first value is used.
    #expect(try values([[0xD2, 1, 1, 1, 2], [0x51, 0x61], [0xA0]]) == .dictionary(["a": .text("a")]))
    #expect(
      try values([[0xA2, 1, 2], [0x09], [0x00]]) == .array([.other("a boolean"), .other("a value of another kind")]))
    // Both UTF-16 text and data may contain zero bytes.
    #expect(
      try values([[0xA2, 1, 2], [0x61, 0x00, 0x61], [0x42, 0x00, 0x00]]) == .array([.text("a"), .other("data")]))
  }

  @Test(arguments: [
    (Array("bplist00".utf8), "the file has only 8 bytes"),
    (binary([[0x08]], top: 1), "the trailer refers to missing bytes"),
    (binary([[0xA1, 0]]), "arrays and dictionaries are nested deeper than 64"),
    (binary([[0xA1, 7], [0x08]]), "byte 9 refers to a missing object"),
    (binary([[0xD1, 1, 1], [0x08]]), "a key of object 0 is not text"),
    (binary([[0xA9, 0]]), "object 0 is longer than the file"),
    (binary([[0xAF, 0x08]]), "object 0 has a wrong length"),
    (
      binary((0..<40).map { [0xA2, $0 + 1, $0 + 1] } + [[0x08]]), "the file has more than 100000 values"
    ),
    (
      // The list contains 59,049 references to the same 145-byte text.
      binary(
        (0..<10).map { [0xA3, $0 + 1, $0 + 1, $0 + 1] } + [[0x5F, 0x10, 145] + [UInt8](repeating: 0x78, count: 145)]),
      "the file has more than 8388608 bytes of text and data"
    ),
    (binary([[0x52, 0x61, 0x00]]), "object 0 is text with a NUL character"),
    (binary([[0xD1, 1, 2], [0x62, 0x67, 0x4E, 0x00, 0x00], [0x08]]), "object 1 is text with a NUL character"),
    (binary([[0x59, 0x61]]), "object 0 is longer than the file"),
  ])
  func damagedBinaryIsRefused(bytes: [UInt8], reason: String) {
    #expect(Self.complaint(bytes) == "Info.plist is a damaged binary property list: \(reason)")
  }

  @Test func everyCutAndEveryChangedByteIsAnAnswerAndNeverATrap() {
    let bytes = Self.binary([[0xD2, 1, 2, 3, 4], [0x51, 0x61], [0x51, 0x62], [0xAF, 0x10, 1, 1], [0x09]])
    for count in bytes.indices { _ = Self.complaint(Array(bytes[..<count])) }
    for index in bytes.indices {
      for mask in (0..<8).map({ UInt8(1) << $0 }) + [0xFF] {
        var changed = bytes
        changed[index] ^= mask
        _ = Self.complaint(changed)
      }
    }
  }

  // MARK: Files and values

  @Test func aFileThatIsNotThereIsNamed() {
    let error = #expect(throws: SourceProblem.self) { try PropertyList(path: "/nowhere/Info.plist") }
    #expect(error?.description == "/nowhere/Info.plist cannot be read: No such file or directory")
  }

  @Test func aLargeFileIsNotRead() {
    let text = "<plist>" + String(repeating: " ", count: PropertyList.longest)
    #expect(Self.complaint(text) == "Info.plist is larger than the limit of 1048576 bytes")
  }

  @Test func aValueOfTheWrongKindIsNamedWithItsKey() throws {
    #expect(try PropertyList.text("a").texts(of: "k") == ["a"])
    let mixed = #expect(throws: SourceProblem.self) {
      try PropertyList.array([.text("a"), .other("a boolean")]).texts(of: "k")
    }
    #expect(mixed?.description == "k: expected a string in the array, found a boolean")
    let number = #expect(throws: SourceProblem.self) { try PropertyList.other("a number").texts(of: "k") }
    #expect(number?.description == "k: expected an array of strings, found a number")
  }
}
