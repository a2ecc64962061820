import AccessoryCore
import AccessoryFormats
import Testing

@Suite struct DurationTextTests {
  @Test(arguments: [
    ("250ms", Duration.milliseconds(250)), ("1.5s", .milliseconds(1500)), ("2m", .seconds(120)), ("0s", .zero),
    ("1h", .seconds(3600)), ("0.25us", .nanoseconds(250)), ("7ns", .nanoseconds(7)), ("1.50s", .milliseconds(1500)),
    ("0.5h", .seconds(1800)), ("8760h", .seconds(31_536_000)), ("001s", .seconds(1)), ("0.000000001s", .nanoseconds(1)),
    ("1.0000000000000000000000s", .seconds(1)),
  ])
  func aNumberAndAUnitAreADuration(text: String, duration: Duration) throws {
    #expect(try DurationText.parse(text) == duration)
  }

  @Test(arguments: [
    ("", "'' is not a duration: write a number and a unit, such as '250ms', '1.5s' or '2m'"),
    ("1..5s", "'1..5s' is not a duration: write a number and a unit, such as '250ms', '1.5s' or '2m'"),
    ("5 parsecs", "'5 parsecs' has the unknown unit ' parsecs': the units are ns, us, ms, s, m and h"),
    ("0.5ns", "'0.5ns' is more precise than a nanosecond"),
    ("0.00000000000000000000001s", "'0.00000000000000000000001s' is more precise than a nanosecond"),
    ("99999999999999999h", "'99999999999999999h' is too long: at most 8760h (a year)"),
    ("99999999999999999999h", "'99999999999999999999h' is too long: at most 8760h (a year)"),
  ])
  func anErrorQuotesTheTextAndShowsTheRightForm(text: String, message: String) {
    let error = #expect(throws: OptionError.self) { try DurationText.parse(text) }
    #expect(error?.description == message)
  }

  @Test(arguments: [
    (Duration.zero, "0ms"), (.milliseconds(250), "250ms"), (.milliseconds(1500), "1.5s"), (.seconds(90), "90s"),
    (.seconds(120), "2m"), (.seconds(7200), "2h"), (.nanoseconds(1_500_250), "1.50025ms"), (.nanoseconds(3), "3ns"),
    (.milliseconds(-20), "-20ms"),
  ])
  func aDurationIsWrittenInTheUnitThatReadsBest(duration: Duration, text: String) {
    #expect(DurationText.format(duration) == text)
  }

  @Test func whatIsWrittenIsReadBackToTheNanosecond() throws {
    var random = SeededRandom(seed: 3)
    for _ in 0..<2_000 {
      let limit = Int64(1) << Int64.random(in: 1...54, using: &random)
      let duration = Duration.nanoseconds(Int64.random(in: 0..<limit, using: &random))
      #expect(try DurationText.parse(DurationText.format(duration)) == duration)
    }
  }
}

@Suite struct SuggestionTests {
  let names = ["echo", "lawk-view", "older-auth", "protocols", "serialNumber", "sensor", "sink"]

  @Test(arguments: [
    ("lawkview", "lawk-view"), ("protocol", "protocols"), ("ehco", "echo"), ("SINK", "sink"), ("sensr", "sensor"),
    ("serialNum", "serialNumber"), ("oldre-auth", "older-auth"),
  ])
  func aSlipOfTheFingerFindsTheName(word: String, name: String) {
    #expect(Suggestion.nearest(to: word, in: names) == name)
  }

  @Test(arguments: ["printer", "", "e", "zzzz", "se", String(repeating: "protocols", count: 10_000)])
  func whatIsNotNearFindsNothing(word: String) {
    #expect(Suggestion.nearest(to: word, in: names) == nil)
  }

  @Test func ofSeveralEquallyNearTheFirstIsTaken() {
    #expect(Suggestion.nearest(to: "cat", in: ["bat", "rat"]) == "bat")
    #expect(Suggestion.nearest(to: "cat", in: ["rat", "bat"]) == "rat")
  }

  @Test func aBeginningIsOnlyTakenWhenOneNameBeginsSo() {
    #expect(Suggestion.nearest(to: "max", in: ["maximumPacketLength", "minimum"]) == "maximumPacketLength")
    #expect(Suggestion.nearest(to: "max", in: ["maximumPacketLength", "maximumCurrent"]) == nil)
  }
}

@Suite struct BoundedLogTests {
  @Test func theFirstThousandTextsAreKeptAndTheOthersCounted() {
    var log = BoundedLog()
    for number in 0..<1_000 { log.add("\(number)") }
    #expect(log.texts == (0..<1_000).map(String.init))
    for _ in 0..<3 { log.add("again") }
    #expect(log.texts.count == 1_001)
    #expect(log.texts.last == "and 3 more, which were not kept")
  }
}

@Suite struct ShellTextTests {
  @Test(arguments: [
    ("/tmp/local", "/tmp/local"), ("local:EW1-0001", "local:EW1-0001"), ("a=b,c@d+e%f", "a=b,c@d+e%f"),
    ("李未可", "李未可"), ("", "''"), ("a b", "'a b'"), ("it's", #"'it'\''s'"#), ("'", #"''\'''"#),
    ("$(touch x)", "'$(touch x)'"), ("`x`", "'`x`'"), ("~", "'~'"), ("*", "'*'"), ("{a,b}", "'{a,b}'"),
    ("a!b", "'a!b'"), ("#", "'#'"), ("=x", "'=x'"), ("\\", #"'\'"#), ("two\nlines", #"$'two\nlines'"#),
    ("\t'\\\n", #"$'\t\'\\\n'"#), ("\u{1B}[2J", #"$'\033[2J'"#), ("\u{202E}x", #"$'\342\200\256x'"#),
    ("\u{7F}1", #"$'\1771'"#),
  ])
  func aWordMeansItselfToAShell(text: String, word: String) {
    #expect(text.shellWord == word)
  }
}
