import AccessoryCore
import Testing

@Suite struct BytePatternTests {
  /// The groups of a whole match as text, or nil.
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
    ("(?<low>\\d+)-(?<high>\\d+)", "3-17", ["3-17", "3", "17"]),
  ]

  @Test(arguments: matches) func aPatternMatchesAWholeInput(pattern: String, text: String, expected: [String]?) throws {
    #expect(try groups(pattern, text) == expected)
  }

  @Test func groupsHaveNames() throws {
    #expect(try BytePattern("(a)(?<low>\\d+)-(?<high>\\d+)").names == ["low": 2, "high": 3])
  }

  private static let mistakes: [(String, String)] = [
    ("a)", "at character 2: this ) has no ("), ("(a", "at character 1: this ( has no )"),
    ("[a", "at character 1: this [ has no ]"),
    ("[z-a]", "at character 2: a range goes from a lower to a higher character; a literal - is \\-"),
    ("*a", "at character 1: nothing before this * can be repeated; a literal one is \\*"),
    ("a**", "at character 3: a repetition of a repetition needs a group"),
    ("a{3,2}", "at character 2: a repetition is written {2}, {2,} or {2,5}; a literal { is \\{"),
    ("a{x}", "at character 2: a repetition is written {2}, {2,} or {2,5}; a literal { is \\{"),
    ("^a", "at character 1: a regex always matches a whole request: leave out ^; a literal one is \\^"),
    ("\\q", "at character 1: unknown \\q: there are \\d \\w \\s \\r \\n \\t \\0 \\xHH, and \\ before a sign"),
    ("\\x0g", "at character 1: \\x has two hex digits"),
    ("a\\", "at character 2: a \\ ends the pattern; a literal one is \\\\"),
    ("(?=a)", "at character 1: expected (?: …) or (?<name> …)"),
    ("(?<1>a)", "at character 1: a group's name has letters, digits and _ and is written (?<name> …)"),
    ("(?<a>x)(?<a>y)", "at character 8: two groups are named 'a'"),
    ("[é]", "at character 2: a set has bytes, and 'é' is more than one: use ( | )"),
    ("(a{500}){500}", "the pattern is too large: repetitions such as {1,500} count as often as they may repeat"),
    ("((((((((((((((((((a))))))))))))))))))", "at character 17: there are more than 16 groups; (?: …) does not count"),
  ]

  @Test(arguments: mistakes) func aWrongPatternNamesItsCharacter(pattern: String, complaint: String) {
    #expect { try BytePattern(pattern) } throws: { "\($0)" == complaint }
  }

  @Test func deepNestingIsRefused() {
    let deep = String(repeating: "(?:", count: 100_000)
    #expect(throws: BytePatternError.self) { try BytePattern(deep) }
    #expect(throws: Never.self) { try BytePattern("(?:(?:(?:){9999}){9999}){9999}") }
  }

  /// Patterns on which matchers that try one alternative after the other take longer than the universe is old.
  @Test(arguments: ["(a*)*b", "(a|aa)+b", "(a|a)*b", "(.*)(.*)(.*)(.*)(.*)b", "(?:a?){100}a{100}b"])
  func noInputHoldsUpAPattern(pattern: String) throws {
    let pattern = try BytePattern(pattern)
    #expect(pattern.match([UInt8](repeating: 0x61, count: BytePattern.longestInput)) == nil)
    #expect(pattern.match([UInt8](repeating: 0x61, count: BytePattern.longestInput + 1)) == nil)
  }

  /// What it matches is what Swift's own regular expressions match.
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
