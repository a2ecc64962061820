import Testing

@testable import AccessorySimulator

@Suite struct ReceivedSearchTests {
  private func search(
    _ wanted: String, times: Int? = nil, in streams: String..., dropped: Int = 0
  ) -> ReceivedSearch {
    var search = ReceivedSearch(for: Array(wanted.utf8), times: times)
    for stream in streams { search.look(in: Array(stream.utf8), on: "com.example.echo", afterDropping: dropped) }
    return search
  }

  @Test(arguments: [
    ("VERSION?", ["VERSION?"], 1), ("VERSION?", ["VERSION?\nVERSION?"], 2),
    ("VERSION?", ["VERSION?", "aVERSION?b"], 2),
    ("aab", ["aaab"], 1), ("aa", ["aaaaa"], 2), ("abab", ["abababab"], 2), ("abcabd", ["abcabcabd"], 1),
    ("VERSION?", ["VERSI", "ON?"], 0), ("VERSION?", [], 0),
  ])
  func occurrencesAreCountedInEachStream(wanted: String, streams: [String], count: Int) {
    var search = ReceivedSearch(for: Array(wanted.utf8), times: nil)
    for stream in streams { search.look(in: Array(stream.utf8), on: "com.example.echo", afterDropping: 0) }
    #expect(search.count == count)
    #expect(search.isMet == (count > 0))
  }

  @Test func theNumberOfTimesIsExact() {
    #expect(search("A", times: 2, in: "A A").isMet)
    #expect(search("A", times: 0, in: "B").isMet)
    #expect(!search("A", times: 1, in: "A A").isMet)
    #expect("\(search("A", times: 1, in: "A A"))" == "received 'A' 2 times, not 1")
    #expect("\(search("A", times: 0, in: "B"))" == "never received 'A'")
    #expect("\(search("A", in: "A"))" == "received 'A' 1 time")
  }

  @Test func theNearestBytesAreShownWithTheFirstThatDiffers() {
    let near = "never received 'VERSION?'; nearest on com.example.echo: "
    #expect(
      "\(search("VERSION?", in: "VERBOSE", "xVERSON?\n"))" == near
        + "'VERSON?\\n', where byte 4 is 4f ('O'), not 49 ('I')")
    #expect("\(search("VERSION?", in: "VERSION"))" == near + "'VERSION', where the bytes end after 7")
    #expect("\(search("VERSION?", in: "GET"))" == near + "'GET', where byte 0 is 47 ('G'), not 56 ('V')")
    #expect("\(search("VERSION?"))" == "never received 'VERSION?'; no session was opened")
    #expect(
      "\(search("VERSION?", in: ""))" == "never received 'VERSION?'; nothing was received on com.example.echo")
    #expect("\(search("A", in: "B", dropped: 3))".hasSuffix("; 3 earlier bytes are no longer kept"))
  }
}
