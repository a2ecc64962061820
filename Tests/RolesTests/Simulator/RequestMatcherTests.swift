import AccessoryFormats
import AccessoryProfiles
import Testing

@testable import AccessorySimulator

/// Tests which requests a script finds in a stream. Each test compares the requests found in the given bytes with a
/// list.
@Suite struct RequestMatcherTests {
  private static func script(_ framing: Script.Framing, _ requests: String...) -> Script {
    Script(framing: framing, rules: requests.map { .init(request: Array($0.utf8), response: []) })
  }

  /// Returns the requests found in a stream that arrives in these pieces, one line per request.
  private static func transcript(_ script: Script, _ pieces: [[UInt8]]) -> [String] {
    var matcher = RequestMatcher(script)
    var lines: [String] = []
    for piece in pieces {
      var offset = 0
      while let request = matcher.next(in: piece.span.bytes, at: &offset) {
        switch request {
        case .whole(let bytes):
          let first = String(decoding: bytes.prefix(16), as: UTF8.self)
          lines.append(script.rules.contains { $0.request == bytes } ? first : "unknown \(first) (\(bytes.count))")
        case .endless: lines.append("endless")
        case .skipped, .wrongLength, .wrongChecksum: Issue.record("there are no frames")
        }
      }
      #expect(offset == piece.count)
    }
    return lines
  }

  @Test(arguments: [
    (script(.delimiter([0x0A]), "HELLO", "BYE"), "HELLO\nBYE\n", ["HELLO", "BYE"]),
    (script(.delimiter([0x0A]), "HELLO"), "hello\n\nHELLO\nHEL", ["unknown hello (5)", "unknown  (0)", "HELLO"]),
    (
      script(.delimiter([0x0D, 0x0A]), "A", "A\r"), "A\r\nA\r\r\nB\n\r\n",
      ["A", "A\r", "unknown B\n (2)"]
    ),
    (script(.delimiter(Array("--".utf8)), "a", "-b"), "a---b--", ["a", "-b"]),
    (
      script(.delimiter([0x0A]), "a very long request of thirty!"), "a very long request of thirty?\n",
      [
        "unknown a very long requ (30)"
      ]
    ),
    (script(.fixed(3), "abc", "xyz"), "abcxyzabdab", ["abc", "xyz", "unknown abd (3)"]),
    (script(.fixed(1), "a"), "aab", ["a", "a", "unknown b (1)"]),
    (script(.any, "AT", "AT+X", "PING"), "ATPINGAT", ["AT", "PING", "AT"]),
    (script(.any, "AB", "ACD"), "AXACDACEAB", ["unknown AX (2)", "ACD", "unknown ACE (3)", "AB"]),
    (script(.any, "AB"), "???", ["unknown ? (1)", "unknown ? (1)", "unknown ? (1)"]),
    (script(.any), "x", ["unknown x (1)"]),
  ]) func aStreamGivesTheSameRequestsHoweverItIsSplit(script: Script, stream: String, expected: [String]) {
    let bytes = Array(stream.utf8)
    #expect(Self.transcript(script, [bytes]) == expected)
    #expect(Self.transcript(script, bytes.map { [$0] }) == expected)
    for cut in 0...bytes.count {
      #expect(Self.transcript(script, [Array(bytes[..<cut]), Array(bytes[cut...])]) == expected)
    }
  }

  @Test func theFirstOfTwoRulesWithOneRequestAnswers() {
    let book = RuleBook(Self.script(.delimiter([0x0A]), "B", "A", "A").rules)
    let memory = ScriptMemory(random: SeededRandom(seed: 1))
    #expect(book.rule(for: Array("A".utf8), of: "com.example.a", memory)?.rule == 1)
  }

  @Test func aRequestOfTheLongestLengthIsOne() {
    let longest = [UInt8](repeating: 0x41, count: RequestMatcher.longestRequest)
    let script = Self.script(.delimiter([0x0D, 0x0A]), "B")
    let lines = Self.transcript(script, [longest + [0x0D, 0x0A], Array("B\r\n".utf8)])
    #expect(lines == ["unknown AAAAAAAAAAAAAAAA (65536)", "B"])
  }

  @Test func anEndlessRequestIsCutOffOnceAndDroppedUpToItsDelimiter() {
    let script = Self.script(.delimiter([0x0D, 0x0A]), "B")
    let flood = [UInt8](repeating: 0x0D, count: 300_000)
    let expected = ["endless", "B"]
    #expect(Self.transcript(script, [flood, [0x0A], Array("B\r\n".utf8)]) == expected)
    #expect(Self.transcript(script, (flood + [0x0A] + Array("B\r\n".utf8)).map { [$0] }) == expected)
  }
}
