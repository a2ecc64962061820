import AccessoryCore
import Testing

@Suite struct SuggestionTests {
  @Test(arguments: [
    ("", "", 0), ("echo", "echo", 0), ("ehco", "echo", 1), ("eco", "echo", 1), ("", "abc", 3), ("kitten", "sitting", 3),
  ])
  func distanceCountsSlips(left: String, right: String, slips: Int) {
    #expect(Suggestion.distance(left, right) == slips)
    #expect(Suggestion.distance(right, left) == slips)
  }

  @Test func theNearestWordIsNamedAndTheFirstAmongEquals() {
    let words = ["echo", "sink", "source", "script", "exec"]
    #expect(Suggestion.nearest(to: "scirpt", among: words) == "script")
    #expect(Suggestion.nearest(to: "SINK", among: words) == "sink")
    #expect(Suggestion.nearest(to: "cat", among: ["bat", "hat"]) == "bat")
  }

  @Test func nothingIsNamedWhenNothingIsNear() {
    #expect(Suggestion.nearest(to: "burst", among: ["echo", "sink"]) == nil)
    #expect(Suggestion.nearest(to: "", among: ["a"]) == nil)
    #expect(Suggestion.nearest(to: "word", among: []) == nil)
  }

  @Test func aHostileWordCostsNoMoreThanALongOne() {
    let hostile = String(repeating: "x", count: 1_000_000)
    #expect(Suggestion.nearest(to: hostile, among: ["echo", "sink"]) == nil)
    #expect(Suggestion.distance(hostile, hostile + "y") == 0)
  }
}
