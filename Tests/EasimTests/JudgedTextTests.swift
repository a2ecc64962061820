import Testing

@testable import easim

/// Colors of verdicts on a terminal.
@Suite struct JudgedTextTests {
  @Test(arguments: [
    ("passed   1.1  detection", "\u{1B}[32mpassed\u{1B}[0m   1.1  detection"),
    ("  ✗ session 1", "  \u{1B}[31m✗\u{1B}[0m session 1"),
    ("skipped 2.1", "\u{1B}[33mskipped\u{1B}[0m 2.1"),
    ("failedness", "failedness"), ("12 passed", "12 passed"), ("", ""),
    ("failed: a\npassed", "\u{1B}[31mfailed\u{1B}[0m: a\n\u{1B}[32mpassed\u{1B}[0m"),
  ])
  func theWordsAtTheBeginningOfLinesAreColored(text: String, colored: String) {
    #expect(JudgedText.colored(text) == colored)
  }
}
