import AccessoryCore
import AccessoryFormats
import LinuxIO
import Testing

@Suite struct PrintableTextTests {
  static let harmful: [Unicode.Scalar] = [
    "\0", "\u{1B}", "\n", "\r", "\u{7F}", "\u{9B}",  // control characters
    "\u{2028}", "\u{2029}",  // line and paragraph separators
    "\u{202A}", "\u{202B}", "\u{202C}", "\u{202D}", "\u{202E}", "\u{2066}", "\u{2067}", "\u{2068}", "\u{2069}",
    "\u{200E}", "\u{200F}", "\u{061C}",  // characters that change the writing direction
    "\u{200B}", "\u{200C}", "\u{200D}", "\u{2060}", "\u{FEFF}", "\u{00AD}", "\u{180E}", "\u{2061}", "\u{206A}",
    "\u{115F}", "\u{3164}", "\u{FFA0}", "\u{034F}", "\u{FFF9}", "\u{FFFB}",  // characters without width
    "\u{E0001}", "\u{E0041}", "\u{E007F}", "\u{1D173}",  // tag characters, and invisible characters of musical notation
  ]

  @Test(arguments: harmful) func whatShowsNothingIsReplaced(scalar: Unicode.Scalar) {
    let text = "exe\(scalar)gnp"
    #expect(text.printable == "exe\u{FFFD}gnp")
    #expect(text.spelledOut == "exe\\u{\(String(scalar.value, radix: 16))}gnp")
    #expect(!text.shellWord.unicodeScalars.contains(scalar))
    let quoted = JSONObject.quoted(text)
    #expect(!quoted.unicodeScalars.contains(scalar))
    #expect(Excerpt.of(text).unicodeScalars.contains(scalar) == false)
  }

  @Test func jsonKeepsWhatItEscapes() {
    #expect(JSONObject.quoted("a\u{202E}b\u{E0041}\u{9B}") == #""a\u202eb\udb40\udc41\u009b""#)
  }

  @Test(arguments: [
    "李未可 View AI眼镜", "Größe ½ “x” – 1 €", "עברית", "العربية", "हिन्दी", "한국어", "e\u{301}", "👍🏽", "👨‍👩‍👧", "❤️", "क्‍ष", "می‌خواهم",
    "tab-free text with  spaces", "\u{A0}\u{3000}", "🇨🇳", "①",
  ]) func whatPeopleWriteIsShownAsItIs(text: String) {
    #expect(text.printable == text)
    #expect(text.spelledOut == text)
  }

  @Test func aJoinerHidesNothingBetweenLatinLetters() {
    #expect("easim\u{200D}x".printable == "easim\u{FFFD}x")
    #expect("\u{200C}x".printable == "\u{FFFD}x")
  }

  @Test func whatMayStayStays() {
    #expect("a\tb\u{202E}\n".spelledOut(keeping: ["\t", "\n"]) == "a\tb\\u{202e}\n")
    #expect("a\tb\u{202E}\n".printable(keeping: ["\t", "\n"]) == "a\tb\u{FFFD}\n")
  }
}

@Suite struct ReportLimitTests {
  private let loop = VirtualLoop()

  /// Reports a message every 100 ms, and returns what was logged.
  private func logged(_ counts: [Int], pause: Duration = .zero) throws -> [String] {
    var texts: [String] = []
    let limit = ReportLimit("messages", on: loop) { texts.append($0) }
    for count in counts {
      for number in 0..<count {
        limit.report("\(number)")
        try loop.advance(by: .milliseconds(100))
      }
      try loop.advance(by: pause)
    }
    limit.flush()
    return texts
  }

  private let first = (0..<ReportLimit.most).map(String.init)

  @Test func theFirstOfAPeriodAreReportedAndTheOthersCounted() throws {
    #expect(try logged([50]) == first + ["and 40 more messages in the last 4 s"])
  }

  @Test func aFloodThatGoesOnIsOneCountAPeriod() throws {
    let later = Array(repeating: "and 100 more messages in the last 10 s", count: 2)
    #expect(try logged([300]) == first + ["and 90 more messages in the last 9 s"] + later)
  }

  @Test func afterAQuietPeriodMessagesAreReportedAgain() throws {
    let all = try logged([20, 1], pause: .seconds(20))
    #expect(all == first + ["and 10 more messages in the last 9 s", "0"])
    #expect(try logged([5, 5, 5], pause: .seconds(10)).count == 15)
  }

  @Test(arguments: [(0, "0"), (999, "999"), (1_240, "1,240"), (-1_234_567, "-1,234,567"), (100_000, "100,000")])
  func thousandsStandApart(number: Int, text: String) {
    #expect(number.groupedDigits == text)
  }
}
