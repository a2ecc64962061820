import Testing

@testable import AccessoryCables
@testable import AccessoryHost

@Suite struct RecentCardsTests {
  /// Returns which of `count` accessories, added one after another, are remembered if there is room for three.
  func known(of count: Int) -> [Int] {
    var earlier = RecentCards<Int>()
    for number in 1...count { earlier.note(number, as: "a\(number)", room: 3) }
    return (1...count).filter { earlier["a\($0)"] == $0 }
  }

  @Test func theLastOnesAreKnownAndThoseLongAgoAreForgotten() {
    #expect(known(of: 3) == [1, 2, 3])
    #expect(known(of: 4) == [1, 2, 3, 4])
    #expect(known(of: 6) == [1, 2, 3, 4, 5, 6])
    #expect(known(of: 7) == [4, 5, 6, 7])
    #expect(known(of: 1_000) == [997, 998, 999, 1_000])
  }

  @Test func whoComesBackAgainAndAgainTakesNoRoomAndIsSeenAsItIsNow() {
    var earlier = RecentCards<String>()
    earlier.note("another", as: "b", room: 2)
    for time in 1...100 { earlier.note("\(time)", as: "a", room: 2) }
    #expect(earlier["a"] == "100")
    #expect(earlier["b"] == "another")
  }
}
