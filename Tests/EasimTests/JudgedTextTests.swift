import Testing

@testable import easim

@Suite struct JudgedTextTests {
  @Test(arguments: [
    ("passed   1.1  detection", "\u{1B}[32mpassed\u{1B}[0m   1.1  detection"),
    ("  ✗ session 1", "  \u{1B}[31m✗\u{1B}[0m session 1"),
    ("skipped 2.1", "\u{1B}[33mskipped\u{1B}[0m 2.1"),
    ("failedness", "failedness"), ("", ""), ("0 failed, none passed", "0 failed, none passed"),
    ("12 passed, 1 failed", "\u{1B}[32m12 passed\u{1B}[0m, \u{1B}[31m1 failed\u{1B}[0m"),
    ("failed: a\npassed", "\u{1B}[31mfailed\u{1B}[0m: a\n\u{1B}[32mpassed\u{1B}[0m"),
  ])
  func theWordsAtTheBeginningOfLinesAndCountsAreColored(text: String, colored: String) {
    #expect(JudgedText.colored(text) == colored)
  }
}
