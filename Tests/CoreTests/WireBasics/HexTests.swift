import Testing
import WireBasics

@Suite struct HexTests {
  @Test func bytesAreWrittenInPairsOfDigits() {
    #expect(Hex.plain([0xFF, 0x5A, 0x00, 0x0B]) == "ff5a000b")
    #expect(Hex.spaced([0xFF, 0x5A, 0x00]) == "ff 5a 00")
    #expect(Hex.spaced([]) == "")
  }

  @Test func anExcerptNamesTheTotalOnlyWhenItIsCut() {
    #expect(Hex.excerpt([1, 2, 3], limit: 3) == "01 02 03")
    #expect(Hex.excerpt([1, 2, 3, 4], limit: 3) == "01 02 03 … (4 bytes)")
  }

  @Test func aNumberIsAsWideAsItsType() {
    #expect(Hex.number(UInt16(0xEA)) == "00EA")
    #expect(Hex.number(UInt8(10)) == "0A")
    #expect(Hex.number(UInt64(1)) == "0000000000000001")
    #expect(Hex.number(UInt16(0x5AC), uppercase: false) == "05ac")
    #expect(Hex.number(UInt32(0x1F600), digits: 4) == "1F600")
  }

  @Test func pairsOfDigitsAreReadWithOrWithoutSpaces() throws {
    #expect(try Hex.parse("ff5A 00\n0b") == [0xFF, 0x5A, 0x00, 0x0B])
    #expect(try Hex.parse("").isEmpty)
  }

  @Test(arguments: [
    ("0g", "'g' at character 2 is not a hex digit"), ("٣٣", "'٣' at character 1 is not a hex digit"),
    ("a b", "a byte is two hex digits, but character 2 is a space"),
    ("a", "a byte is two hex digits, but the last one has only one"),
  ])
  func whatIsNoHexNamesThePlace(text: String, expected: String) throws {
    let error = try #require(throws: HexError.self) { try Hex.parse(text) }
    #expect(error.description == expected)
  }
}
