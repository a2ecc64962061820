import AccessoryFormats
import Testing

@testable import AccessoryCaptures

/// Each dump contains the same 19 bytes in one tool's output format.
@Suite struct HexDumpTests {
  private static let bytes: [UInt8] = [
    0x6A, 0x75, 0x6E, 0x6B, 0xFF, 0x55, 0x02, 0x00, 0xEE, 0x10, 0xFF, 0x5A, 0x00, 0x09, 0x40, 0x63, 0x05, 0x00, 0xF6,
  ]

  private static let forms: [String: String] = [
    "xxd": """
    00000000: 6a75 6e6b ff55 0200 ee10 ff5a 0009 4063  junk.U.....Z..@c
    00000010: 0500 f6                                  ...
    """,
    "xxd -c 8 -g 1": """
    00000000: 6a 75 6e 6b ff 55 02 00  junk.U..
    00000008: ee 10 ff 5a 00 09 40 63  ...Z..@c
    00000010: 05 00 f6                 ...
    """,
    "xxd -p": """
    6a756e6bff550200ee10ff5a00094063
    0500f6
    """,
    "xxd -i": """
    unsigned char capture_bin[] = {
      0x6a, 0x75, 0x6e, 0x6b, 0xff, 0x55, 0x02, 0x00, 0xee, 0x10, 0xff, 0x5a,
      0x00, 0x09, 0x40, 0x63, 0x05, 0x00, 0xf6
    };
    unsigned int capture_bin_len = 19;
    """,
    "hexdump -C": """
    00000000  6a 75 6e 6b ff 55 02 00  ee 10 ff 5a 00 09 40 63  |junk.U.....Z..@c|
    00000010  05 00 f6                                          |...|
    00000013
    """,
    "hexdump": """
    0000000 756a 6b6e 55ff 0002 10ee 5aff 0900 6340
    0000010 0005 00f6                              \n0000013
    """,
    "od -t x1": """
    0000000 6a 75 6e 6b ff 55 02 00 ee 10 ff 5a 00 09 40 63
    0000020 05 00 f6
    0000023
    """,
    "od -x": """
    0000000 756a 6b6e 55ff 0002 10ee 5aff 0900 6340
    0000020 0005 00f6
    0000023
    """,
    "od -A x -t x1z": """
    000000 6a 75 6e 6b ff 55 02 00 ee 10 ff 5a 00 09 40 63  >junk.U.....Z..@c<
    000010 05 00 f6                                         >...<
    000013
    """,
    "od -A d -t x1": """
    0000000 6a 75 6e 6b ff 55 02 00 ee 10 ff 5a 00 09 40 63
    0000016 05 00 f6
    0000019
    """,
    "tcpdump -X": """
    \t0x0000:  6a75 6e6b ff55 0200 ee10 ff5a 0009 4063  junk.U.....Z..@c
    \t0x0010:  0500 f6                                  ...
    """,
    "Wireshark": """
    0000   6a 75 6e 6b ff 55 02 00 ee 10 ff 5a 00 09 40 63   junk.U.....Z..@c
    0010   05 00 f6                                          ...
    """,
    "Wireshark with a gap": """
    0000  6a 75 6e 6b ff 55 02 00  ee 10 ff 5a 00 09 40 63   junk.U.. ...Z..@c
    0010  05 00 f6                                           ...
    """,
    "a debugger": """
    0000  6a 75 6e 6b ff 55 02 00-ee 10 ff 5a 00 09 40 63   junk.U.....Z..@c
    0010  05 00 f6
    """,
    "NSData, older": "<6a756e6b ff550200 ee10ff5a 00094063 0500f6>",
    "NSData": "{length = 19, bytes = 0x6a756e6bff550200ee10ff5a000940630500f6}",
    "Python": "\\x6a\\x75\\x6e\\x6b\\xff\\x55\\x02\\x00\\xee\\x10\\xff\\x5a\\x00\\x09\\x40\\x63\\x05\\x00\\xf6",
    "a list":
      "[0x6A, 0x75, 0x6E, 0x6B, 0xFF, 0x55, 0x2, 0x0, 0xEE, 0x10, 0xFF, 0x5A, 0x0, 0x9, 0x40, 0x63, 0x5, 0x0, 0xF6]",
    "colons": "6A:75:6E:6B:FF:55:02:00:EE:10:FF:5A:00:09:40:63:05:00:F6",
    "a bug report": """
    ```
    # what the dock sent after the reset
    6a 75 6e 6b ff 55 02 00 ee 10

      ff 5a 00 09 40 63 05 00 f6\r
    ```
    """,
    "a first line that lost its indentation": """
    00000000  6a 75 6e 6b ff 55 02 00  ee 10 ff 5a 00 09 40 63  |junk.U.....Z..@c|
        00000010  05 00 f6                                          |...|
    """,
    "text that looks like hex": """
    00000000: 6a75 6e6b ff55 0200 ee10 ff5a 0009 4063  ab cd ef 01 23
    00000010: 0500 f6                                  beef
    """,
  ]

  @Test(arguments: forms.keys.sorted()) func everyFormGivesTheSameBytes(form: String) throws {
    let text = try #require(Self.forms[form])
    let dump = try HexDump(Array(text.utf8))
    #expect(dump.runs.flatMap(\.bytes) == Self.bytes)
    #expect(dump.streams == [""])
    #expect(CaptureForm(of: Array(text.utf8)) == .hex)
  }

  @Test func aStarStandsForLinesThatRepeat() throws {
    let text = """
      00000000  ff 5a 40 40 00 00 00 00  00 00 00 00 00 00 00 00  |.Z@@............|
      00000010  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|
      *
      00000040  01                                                |.|
      00000041
      """
    let bytes = try HexDump(Array(text.utf8)).runs.flatMap(\.bytes)
    #expect(bytes == [0xFF, 0x5A, 0x40, 0x40] + [UInt8](repeating: 0, count: 60) + [1])
    let zeros = [UInt8](repeating: 0, count: 64)
    // Unlike hexdump, od prints offsets in octal.
    let pairs = "0000000 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00\n*\n0000100\n"
    #expect(try HexDump(Array(pairs.utf8)).runs.flatMap(\.bytes) == zeros)
    let words = "0000000 0000 0000 0000 0000 0000 0000 0000 0000\n*\n0000040\n"
    #expect(try HexDump(Array(words.utf8)).runs.flatMap(\.bytes) == zeros)
  }

  @Test func bothDirectionsOfAFollowedStreamAreKeptApart() throws {
    let text = """
      00000000  ff 55 02 00 ee 10                                 .U....
          00000000  ff 55 02 00 ee 10                                 .U....
      00000006  ff 5a                                             .Z
          00000006  ff                                                .
      """
    let dump = try HexDump(Array(text.utf8))
    #expect(dump.streams == ["1", "2"])
    #expect(dump.runs.map(\.stream) == [0, 1, 0, 1])
    #expect(dump.runs.map(\.bytes.count) == [6, 6, 2, 1])
    #expect(dump.runs.map(\.line) == [1, 2, 3, 4])
  }

  @Test func whoSentALineMayStandBeforeIt() throws {
    let dump = try HexDump(Array("A: ff 55 02\nD ff55\nA: 00 ee 10\n  TX> 01\n".utf8.filter { $0 != 0x3E }))
    #expect(dump.streams == ["A", "D", "TX"])
    #expect(dump.runs.filter { $0.stream == 0 }.flatMap(\.bytes) == [0xFF, 0x55, 0x02, 0x00, 0xEE, 0x10])
    let arrows = try HexDump(Array("> ff55\n< ee\n>> 01\n".utf8))
    #expect(arrows.streams == [">", "<", ">>"])
  }

  @Test func aDumpThatBeginsAgainGoesOnWithItsStream() throws {
    let text = "0000   ff 5a\n0002   00\n\n0000   09 40\n0002   63\n"
    let dump = try HexDump(Array(text.utf8))
    #expect(dump.streams == [""])
    #expect(dump.runs.flatMap(\.bytes) == [0xFF, 0x5A, 0x00, 0x09, 0x40, 0x63])
  }

  @Test func aDumpMayBeginAnywhere() throws {
    let text = "00001230: ff5a 0009\n00001234: 4063\n"
    #expect(try HexDump(Array(text.utf8)).runs.flatMap(\.bytes) == [0xFF, 0x5A, 0x00, 0x09, 0x40, 0x63])
  }

  @Test(arguments: [
    ("ff 5a\nhello world", "2:1: 'hello' is not hex; expected raw bytes, a hex dump or a transcript"),
    ("ff 5a 0\n", "1:7: '0' is not a whole number of bytes: each byte is two hex digits"),
    ("ff 5a 0g\n", "1:7: '0g' is not hex; expected raw bytes, a hex dump or a transcript"),
    ("ff 5a …\n", "1:7: '…' is not hex; expected raw bytes, a hex dump or a transcript"),
    ("00000000: zz\n", "1:11: 'zz' is not hex; expected raw bytes, a hex dump or a transcript"),
    ("00000000: ff5a0\n", "1:11: 'ff5a0' is not a whole number of bytes: each byte is two hex digits"),
    (
      "00000000: ff5a\n00000010: 00\n",
      "2:1: the offset 00000010 does not fit the 2 bytes after 00000000: is a line missing?"
    ),
    ("00000000: ff5a\nff5a\n", "2:1: an offset is missing here: previous lines have one"),
    ("00000000  ff 5a\n00000003\n", "2:1: the dump ends at offset 00000003 but contains 2 bytes: is a line missing?"),
    ("*\n", "1:1: a '*' repeats the previous line, but there is none"),
    ("00000000: ff5a\n*\n00000005: 00\n", "3:1: the offset 00000005 does not fit the preceding '*'"),
    (
      "00000000: ff5a\n*\nffffffff0: 00\n",
      "3:1: the preceding '*' would stand for too many repeated bytes: 68719476718"
    ),
    (
      "00000000: ff5a\n*\n00200000: 0000\n*\n00500000: 00\n",
      "5:1: the preceding '*' would stand for too many repeated bytes: 3145726"
    ),
  ]) func whatIsNoHexIsAnErrorWithItsPlace(text: String, expected: String) {
    #expect {
      try HexDump(Array(text.utf8))
    } throws: { error in
      "\(error)" == expected
    }
  }

  /// A dump with changed characters, or with lost, truncated or duplicated lines, must yield either an error or some
  /// bytes, and do nothing else.
  @Test func noTextDoesMoreHarmThanAnError() {
    var random = SeededRandom(seed: 11)
    let forms = Self.forms.values.sorted().map { Array($0.utf8) }
    let letters = Array("0123456789abcdefxX:*|<>-\n\n  \t{}zé#/`".utf8)
    var errors = 0
    for _ in 0..<4_000 {
      var text = forms[Int.random(in: 0..<forms.count, using: &random)]
      for _ in 0..<Int.random(in: 1...6, using: &random) where !text.isEmpty {
        let at = Int.random(in: 0..<text.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: text[at] = letters[Int.random(in: 0..<letters.count, using: &random)]
        case 1: text.remove(at: at)
        case 2: text.insert(letters[Int.random(in: 0..<letters.count, using: &random)], at: at)
        default: text.removeSubrange(at..<min(text.count, at + 30))
        }
      }
      do { _ = try HexDump(text) } catch { errors += 1 }
    }
    #expect(errors > 200)
  }
}
