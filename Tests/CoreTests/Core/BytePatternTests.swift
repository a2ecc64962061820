import AccessoryFormats
import Testing

@Suite struct BytePatternTests {
  private func groups(_ pattern: String, _ text: String) throws -> [String]? {
    let bytes = Array(text.utf8)
    return try BytePattern(pattern).match(bytes)?.map { range in
      range.map { String(decoding: bytes[$0], as: UTF8.self) } ?? "-"
    }
  }

  private static let matches: [(String, String, [String]?)] = [
    ("abc", "abc", ["abc"]), ("abc", "abcd", nil), ("abc", "xabc", nil), ("", "", [""]), ("a|b|", "", [""]),
    ("SET (\\w+)=(\\d+)", "SET volume=11", ["SET volume=11", "volume", "11"]),
    ("SET (\\w+)=(\\d+)", "SET volume=loud", nil), ("(a)|(b)", "b", ["b", "-", "b"]),
    ("(a+)(a*)", "aaa", ["aaa", "aaa", ""]), ("(a+?)(a*)", "aaa", ["aaa", "a", "aa"]),
    ("(ab|a)(bc|c)?", "abc", ["abc", "ab", "c"]), ("(?:ab)+", "ababab", ["ababab"]), ("(a|b)*", "abb", ["abb", "b"]),
    ("a{2,3}", "aaa", ["aaa"]), ("a{2,3}", "aaaa", nil), ("a{2}", "aa", ["aa"]), ("a{2,}", "aaaaa", ["aaaaa"]),
    ("[^a-c]x", "dx", ["dx"]), ("[^a-c]x", "bx", nil), ("[]a]+", "a]", ["a]"]), ("[a\\-z]+", "-az", ["-az"]),
    ("\\x02.\\xfF?", "\u{2}\n", ["\u{2}\n"]), ("\\$\\{\\*\\}", "${*}", ["${*}"]), ("é+", "éé", ["éé"]),
    ("(?:é)+", "éé", ["éé"]), ("\\s\\S\\d\\D\\w\\W", " a1a_-", [" a1a_-"]), ("(a*)*", "aa", ["aa", "aa"]),
    ("(?<low>\\d+)-(?<high>\\d+)", "3-17", ["3-17", "3", "17"]), ("(?P<low>\\d+)", "3", ["3", "3"]),
    ("^abc$", "abc", ["abc"]), ("a^b", "ab", nil), ("a$b", "ab", nil), ("(?:^|,)a", "a", ["a"]),
    ("(?:^|b)*a", "ba", ["ba"]),
    ("(?i)ok é", "oK é", ["oK é"]), ("(?i:o)k", "Ok", ["Ok"]), ("(?i:o)k", "OK", nil), ("((?i)o)k", "OK", nil),
    ("(?i)[a-c]+[^x]", "AbCX", nil), ("(?i)[a-c]+[^x]", "AbCY", ["AbCY"]), ("(?i)\\x4f", "o", ["o"]),
    ("\\bone\\b \\bt\\Bwo", "one two", ["one two"]), ("\\Aa\\z", "a", ["a"]), ("a\\zb", "ab", nil),
    ("o\\bne", "one", nil), ("-\\b-", "--", nil), ("a$\\nb", "a\nb", nil),
    ("(?m)a$\\n^b", "a\nb", ["a\nb"]), ("a$\\n^b", "a\nb", nil), ("(?s)a.b", "a\nb", ["a\nb"]),
    ("\\f\\v\\a\\e", "\u{C}\u{B}\u{7}\u{1B}", ["\u{C}\u{B}\u{7}\u{1B}"]),
  ]

  @Test(arguments: matches) func aPatternMatchesAWholeInput(pattern: String, text: String, expected: [String]?) throws {
    #expect(try groups(pattern, text) == expected)
  }

  @Test func groupsHaveNames() throws {
    #expect(try BytePattern("(a)(?<low>\\d+)-(?<high>\\d+)").names == ["low": 2, "high": 3])
  }

  private static let mistakes: [(String, String)] = [
    ("a)", "at character 2: this ) has no matching ("), ("(a", "at character 1: this ( has no matching )"),
    ("[a", "at character 1: this [ has no matching ]"),
    ("[z-a]", "at character 2: a range goes from a lower to a higher character; a literal - is \\-"),
    ("*a", "at character 1: there is nothing to repeat before this *; a literal * is \\*"),
    ("a**", "at character 3: a repetition of a repetition needs a group"),
    ("a{3,2}", "at character 2: a repetition is written {2}, {2,} or {2,5}; a literal { is \\{"),
    (
      "\\q",
      "at character 1: unknown \\q: expected \\d \\w \\s \\b \\A \\z \\r \\n \\t \\f \\v \\a \\e \\0 \\xHH, or \\ before a symbol"
    ),
    ("(a)\\1", "at character 4: backreferences are not supported: repeat the group's contents"),
    (
      "[[:digit:]]",
      "at character 2: named classes are not supported in a set: write \\d, \\w, \\s or a-z; a literal [ is \\["
    ),
    ("[\\b]", "at character 2: a set contains bytes, but \\b is not a byte"),
    ("(?x)a", "at character 1: expected (?: …), (?<name> …), or (?i) for either case and (?m) for lines"),
    ("(?<=a)b", "at character 1: lookahead and lookbehind are not supported: match that text as well"),
    ("\\x0g", "at character 1: \\x needs two hex digits"),
    ("a\\", "at character 2: the pattern ends with a \\; a literal \\ is \\\\"),
    ("(?<1>a)", "at character 1: a group's name consists of letters, digits and _, and is written (?<name> …)"),
    ("(?<a>x)(?<a>y)", "at character 8: two groups are named 'a'"),
    ("[é]", "at character 2: a set contains bytes, but 'é' is more than one byte: use ( | )"),
    (
      "(a{500}){500}",
      "at character 3: the pattern has more than 500 steps: use smaller numbers, because a repetition such as {1,500} "
        + "counts once for each possible repetition"
    ),
    ("((((((((((((((((((a))))))))))))))))))", "at character 17: there are more than 16 groups; (?: …) does not count"),
  ]

  @Test(arguments: mistakes) func aWrongPatternNamesItsCharacter(pattern: String, complaint: String) {
    #expect { try BytePattern(pattern) } throws: { "\($0)" == complaint }
  }

  @Test func deepNestingIsRefused() {
    let deep = String(repeating: "(?:", count: 100_000)
    #expect(throws: OptionError.self) { try BytePattern(deep) }
    #expect(throws: Never.self) { try BytePattern("(?:(?:(?:){9999}){9999}){9999}") }
  }

  /// Patterns on which a backtracking matcher would take practically forever.
  @Test(arguments: ["(a*)*b", "(a|aa)+b", "(a|a)*b", "(.*)(.*)(.*)(.*)(.*)b", "(?:a?){100}a{100}b"])
  func noInputHoldsUpAPattern(pattern: String) throws {
    let pattern = try BytePattern(pattern)
    #expect(pattern.match([UInt8](repeating: 0x61, count: BytePattern.longestInput)) == nil)
    #expect(pattern.match([UInt8](repeating: 0x61, count: BytePattern.longestInput + 1)) == nil)
  }

  private static let finds: [(String, String, Bool)] = [
    ("b", "abc", true), ("d", "abc", false), ("^b", "abc", false), ("^a.*c$", "abc", true), ("^a.*b$", "abc", false),
    ("", "", true), ("^$", "", true), ("^$", "a", false), ("(?m)^b$", "a\nb\n", true), ("\\bb", "ab b", true),
    ("OK\r", "OK\r\n", true), ("\u{FFFD}", "caf\u{E9}", false), ("(?i)ERR", "no error", true), ("aab", "aaab", true),
  ]

  @Test(arguments: finds) func aSearchFindsAMatchAnywhereHoweverTheBytesAreCut(
    pattern: String, text: String, isThere: Bool
  ) throws {
    let bytes = Array(text.utf8)
    for size in 1...max(1, bytes.count) {
      var search = PatternSearch(try BytePattern(pattern))
      for start in stride(from: 0, to: bytes.count, by: size) {
        search.take(bytes.span.bytes.extracting(start..<min(start + size, bytes.count)))
      }
      #expect(search.isFound == isThere)
    }
  }

  @Test(arguments: ["^(a+)+$", "(a|aa)+$", "(.*)(.*)(.*)b", "(?:a?){60}a{60}b"])
  func noReplyHoldsUpASearch(pattern: String) throws {
    var search = PatternSearch(try BytePattern(pattern))
    search.take([UInt8](repeating: 0x61, count: 1_000).span.bytes)
    search.take([0x21].span.bytes)
    #expect(!search.isFound)
  }

  @Test(arguments: 0..<4) func itMatchesWhatOthersMatch(seed: Int) throws {
    var random = SeededRandom(seed: UInt64(seed))
    func pattern(_ depth: Int) -> String {
      let inner = { depth > 3 ? "a" : pattern(depth + 1) }
      switch Int.random(in: 0..<8, using: &random) {
      case 0: return inner() + inner()
      case 1: return "(\(inner())|\(inner()))"
      case 2: return "(?:\(inner()))*"
      case 3: return "(?:\(inner()))?"
      case 4: return "(?:\(inner()))+?"
      case 5: return "(?:\(inner())){1,2}"
      case 6: return "[ab]"
      default: return ["a", "b", ".", ""][Int.random(in: 0..<4, using: &random)]
      }
    }
    for _ in 0..<60 {
      let text = pattern(0)
      guard let ours = try? BytePattern(text) else { continue }
      let reference = try Regex(text)
      for _ in 0..<8 {
        var input = ""
        for _ in 0..<Int.random(in: 0...6, using: &random) { input += Bool.random(using: &random) ? "a" : "b" }
        let matches = try reference.wholeMatch(in: input) != nil
        #expect((ours.match(Array(input.utf8)) != nil) == matches, "\(text) on \(input)")
      }
    }
  }
}
