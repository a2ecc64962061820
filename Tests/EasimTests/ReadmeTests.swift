import TestSupport
import Testing

@Suite(.waits) struct ReadmeTests {
  @Test func theTestOfAnAppIsTheOneThatRuns() throws {
    let page = try Repository.text("docs/README.md")
    let begin = try #require(page.range(of: "```swift\nimport ExternalAccessory\n"))
    let end = try #require(page[begin.upperBound...].range(of: "```"))
    let shown = "import ExternalAccessory\n" + page[begin.upperBound..<end.lowerBound]
    #expect(shown == (try Repository.text("Examples/AppTests/FlickerTests.swift")))
    #expect(shown.split(separator: "\n", omittingEmptySubsequences: false).count <= 25)
  }

  /// The page must list every environment variable that the sources read.
  @Test func theTableOfVariablesIsComplete() throws {
    let page = try Repository.text("docs/commands.md")
    let read = /(?:getenv|environment)\("([A-Z_]+)"\)|\b(EASIM_[A-Z_]*[A-Z])\b/
    var found: Set<String> = []
    for file in Repository.files(under: "Sources", suffix: ".swift") + ["Package.swift"] {
      // Lines are filtered first, because a regular expression over all sources takes ten seconds.
      for line in try Repository.text(file).split(separator: "\n")
      where line.contains("EASIM_") || line.contains("getenv") || line.contains("environment(") {
        for match in line.matches(of: read) { found.insert(String(match.1 ?? match.2 ?? "")) }
      }
    }
    #expect(found.count > 15)
    for name in found.sorted() { #expect(page.contains("`\(name)`"), "\(name) is not in docs/commands.md") }
  }

  /// The figures on a page must match those that the command prints, unless they vary between runs.
  @Test(arguments: [
    ("", "47 passed in 5.139 s", "47 passed in 4.2 s", false),
    ("varies=times", "47 passed in 5.139 s", "47 passed in 4.2 s", true),
    ("varies=times", "46 passed in 5.139 s", "47 passed in 4.2 s", false),
    ("", "47 passed …", "47 passed in 4.2 s", true),
    ("", "47 passed", "147 passed", false),
    ("varies=times", "0.263  device", "12.031  device", true), ("varies=ids", "0.263  device", "12.031  device", false),
    ("varies=times,ids", "0.2  on  connectionID 21", "0.3  on  connectionID 77", true),
    ("varies=times", "0.2  on  connectionID 21", "0.3  on  connectionID 77", false),
    ("varies=sizes", "3 sessions, 48 KiB", "3 sessions, 1,072 KiB", true), ("varies=figures", "1", "1", false),
  ])
  func figuresOfAPageAreComparedUnlessTheyAreMarked(
    words: String, shown: String, printed: String, passes: Bool
  ) throws {
    let (check, page) = try check("```sh\necho '\(printed)'\n```\n```text \(words)\n\(shown)\n```\n")
    #expect(check.ending == .exit(passes ? 0 : 1), "\(check.out)\(check.err)")
    #expect(passes || check.out.contains("\(page):4: "), "\(check.out)")
  }

  @Test(arguments: [("#a-heading", true), ("page.md#a-heading", true), ("#heading", false), ("missing.md", false)])
  func aLinkLeadsToAFileAndAHeading(link: String, passes: Bool) throws {
    let (check, _) = try check("# A heading\n[here](\(link))\n")
    #expect(check.ending == .exit(passes ? 0 : 1), "\(check.out)\(check.err)")
  }

  private func check(_ text: String) throws -> (Program.Remains, page: String) {
    let place = TemporaryFolder()
    let page = place.write(text, to: "page.md")
    let words = ["\(Repository.root)/Scripts/check-docs", "--easim", BuiltProducts.easim, page]
    return (try Program(path: "/usr/bin/python3", words).wait(), page)
  }
}
