import TestSupport
import Testing

/// What the README shows is what runs.
@Suite struct ReadmeTests {
  /// The test that every app team wants: on the page it is the one that `Scripts/outside` runs, word for word.
  @Test func theTestOfAnAppIsTheOneThatRuns() throws {
    let page = try Repository.text("README.md")
    let begin = try #require(page.range(of: "```swift\nimport ExternalAccessory\n"))
    let end = try #require(page[begin.upperBound...].range(of: "```"))
    let shown = "import ExternalAccessory\n" + page[begin.upperBound..<end.lowerBound]
    #expect(shown == (try Repository.text("Examples/AppTests/FlickerTests.swift")))
    #expect(shown.split(separator: "\n", omittingEmptySubsequences: false).count <= 25)
  }
}
