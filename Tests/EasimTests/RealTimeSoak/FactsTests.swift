import Testing

@testable import RealTimeSoak

@Suite struct FactsTests {
  private func facts(_ lines: String...) -> Facts {
    var facts = Facts()
    for line in lines { facts.take(line) }
    return facts
  }

  @Test func anAccessorysSessionsAndBytesAreAddedUp() {
    let facts = facts(
      #"{"v":1,"t":0.1,"event":"attach","on":"unix:/tmp/a"}"#,
      #"{"v":1,"t":0.2,"event":"session.open","session":1}"#,
      #"{"v":1,"t":0.3,"event":"session.close","session":1,"reason":"the device closed it","bytesRead":70}"#,
      #"{"v":1,"t":0.4,"event":"session.open","session":2}"#,
      #"{"v":1,"t":0.5,"event":"session.close","session":2,"reason":"","bytesRead":30}"#)
    #expect(facts.address == "unix:/tmp/a")
    #expect(facts.opened == 2)
    #expect(facts.closed == 2)
    #expect(facts.bytesRead == 100)
    #expect(facts.unexplained == 1)
    #expect(facts.last == "session.close: ")
  }

  @Test func theLastProgressOrTheReportCounts() {
    let progress = #"{"v":1,"t":1,"event":"progress","bursts":20,"bytes":200000,"errors":0,"fraction":0.5}"#
    #expect(facts(progress).bytes == 200_000)
    let whole = facts(
      progress,
      #"""
      {"v":1,"t":2,"event":"result","passed":false,"text":"t","report":{"completed":21,"bytes":210000,
      "reconnections":2,"lost":3,"errors":[{"kind":"lost","count":3,"first":"f"},{"kind":"different","count":1,"first":"g"}]}}
      """#.replacing("\n", with: ""))
    #expect(whole.bursts == 21)
    #expect(whole.reconnections == 2)
    #expect(whole.lost == 3)
    #expect(whole.passed == false)
    #expect(whole.wrongs == ["1 × different: g"])
  }

  @Test func aWarningIsWrongAndIsTakenOnce() {
    var facts = facts(#"{"v":1,"t":1,"event":"warning","text":"byte 5 is 00"}"#, "no line at all")
    #expect(facts.takeWrongs() == ["warning: byte 5 is 00"])
    #expect(facts.takeWrongs() == [])
    #expect(facts.unreadable == 1)
  }

  @Test func numbersDoNotMakeAnEndAnotherOne() {
    #expect(Tally.shape("39 bursts of 10,000 bytes") == "# bursts of # bytes")
    #expect(Tally.shape("after 1.5 s, on 12") == "after # s, on #")
  }

  @Test func columnsStandBelowEachOther() {
    #expect(Columns.lines([["a", "b"], ["long", "c"]]) == ["  a     b", "  long  c"])
  }
}
