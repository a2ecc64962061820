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
    ("0g", HexError.notADigit("g", position: 2)), ("a", .oddDigits), ("a b", .splitByte(position: 2)),
    ("٣٣", .notADigit("٣", position: 1)),
  ])
  func whatIsNoHexNamesThePlace(text: String, expected: HexError) {
    #expect(throws: expected) { try Hex.parse(text) }
  }

  @Test func theErrorsReadAsSentences() {
    #expect(HexError.notADigit("g", position: 2).description == "'g' at character 2 is not a hex digit")
    #expect(HexError.splitByte(position: 2).description == "a byte is two hex digits, but character 2 is a space")
    #expect(HexError.oddDigits.description == "a byte is two hex digits, but the last one has only one")
  }
}
