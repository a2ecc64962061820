import AccessoryCore
import AccessoryFormats
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

@Suite struct MessageRateTests {
  private func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

  @Test func theFirstOfAPeriodAreReportedAndTheOthersCounted() {
    var rate = MessageRate()
    for index in 0..<50 { #expect(rate.note(now: at(1_000 + Int64(index))) == (index < MessageRate.most)) }
    #expect(rate.held == 50 - MessageRate.most)
    #expect(rate.deadline == at(11_000))
    #expect(rate.handleTimeout(now: at(10_999)) == 0)
    #expect(rate.handleTimeout(now: at(11_000)) == 50 - MessageRate.most)
    #expect(rate.deadline == nil)
  }

  @Test func aFloodThatGoesOnIsOneCountAPeriod() {
    var rate = MessageRate()
    var (reported, counted) = (0, [Int]())
    for step in Int64(0)..<1_000 {
      if let due = rate.deadline, due <= at(step * 100) { counted.append(rate.handleTimeout(now: at(step * 100))) }
      if rate.note(now: at(step * 100)) { reported += 1 }
    }
    #expect(reported == MessageRate.most)
    #expect(counted == [90] + Array(repeating: 100, count: 8))
  }

  @Test func afterAQuietPeriodMessagesAreReportedAgain() {
    var rate = MessageRate()
    for _ in 0..<20 { _ = rate.note(now: at(0)) }
    _ = rate.handleTimeout(now: at(10_000))
    let early = rate.note(now: at(19_999))
    #expect(!early)
    _ = rate.handleTimeout(now: at(20_000))
    let late = rate.note(now: at(30_000))
    #expect(late)
  }

  @Test func fewMessagesNeedNoDeadline() {
    var rate = MessageRate()
    for step in Int64(0)..<500 {
      let isReported = rate.note(now: at(step * 1_100))
      #expect(isReported)
      #expect(rate.deadline == nil)
    }
  }

  @Test(arguments: [(0, "0"), (999, "999"), (1_240, "1,240"), (-1_234_567, "-1,234,567"), (100_000, "100,000")])
  func thousandsStandApart(number: Int, text: String) {
    #expect(number.groupedDigits == text)
  }
}
