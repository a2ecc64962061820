import TestSupport
import Testing

@testable import AccessorySoak
@testable import AccessoryWorlds

/// Checks that docs/scenarios.md lists every scenario with the description in the scenario's file. `EASIM_REWRITE=1`
/// rewrites the list.
@Suite struct ScenarioIndexTests {
  @Test func theDocumentListsEveryScenario() throws {
    let entries = try ScenarioLibrary().names.map { entry(try ScenarioLibrary().scenario($0)) }
    let difference = try CommittedText.difference(
      "docs/scenarios.md", part: "scenarios", from: entries.joined(separator: "\n"))
    #expect(difference == nil, "\(difference ?? "")")
  }

  @Test(arguments: ScenarioLibrary().names) func theTableOfTopicsHasEveryScenario(name: String) throws {
    #expect(try Repository.text("docs/scenarios.md").contains("[\(name)](#\(name))"))
  }

  private func entry(_ scenario: Scenario) -> String {
    let about = scenario.about
    var facts = "Reproduces \(about.reproduces.map(FieldNumber.described).joined(separator: ", "))."
    if let client = scenario.naiveClient { facts += " Naive client: \(client)." }
    facts += " Source: \(Self.linked(about.source))."
    let paragraphs = ["\(about.summary.prefix(1).uppercased())\(about.summary.dropFirst()).", about.survival, facts]
    return "### \(about.name)\n\n"
      + paragraphs.map { TextWrap.lines($0, width: 128) + "\n" }.joined(separator: "\n")
  }

  private static func linked(_ source: String) -> String {
    var repository = ""
    var text = ""
    for list in source.split(separator: ";", omittingEmptySubsequences: false) {
      if !text.isEmpty { text += "; " }
      let pieces = list.split(separator: ",").map { String($0.drop { $0 == " " }) }
      text += pieces.map { link($0, &repository) }.joined(separator: ", ")
    }
    return text.replacing("Apple, EADemo read-me", with: "Apple, sample code *EADemo*, read-me")
      .replacing(
        "Apple, Monitoring Accessory-Related Events",
        with: "Apple, *External Accessory Programming Topics*, Monitoring Accessory-Related Events")
  }

  private static func link(_ text: String, _ repository: inout String) -> String {
    let github = "https://github.com"
    if let match = text.wholeMatch(of: /(#(\d+))(.*)/), !repository.isEmpty {
      return "[\(match.1)](\(github)/\(repository)/issues/\(match.2))\(match.3)"
    }
    if let match = text.wholeMatch(of: /([\w.-]+\/[\w.-]+)#(\d+)(.*)/) {
      repository = String(match.1)
      return "[\(match.1)#\(match.2)](\(github)/\(match.1)/issues/\(match.2))\(match.3)"
    }
    if text.wholeMatch(of: /[\w.-]+\/[\w.-]+/) != nil { return "[\(text)](\(github)/\(text))" }
    if let match = text.wholeMatch(of: /openradar (\d+)/) {
      return "[\(text)](https://openradar.appspot.com/\(match.1))"
    }
    if let match = text.wholeMatch(of: /thread (\d+)/) {
      return "[\(text)](https://developer.apple.com/forums/thread/\(match.1))"
    }
    if let match = text.wholeMatch(of: /SO (\d+)/) {
      return "[Stack Overflow \(match.1)](https://stackoverflow.com/questions/\(match.1))"
    }
    if let match = text.wholeMatch(of: /(EA\w+) documentation/) {
      return "[\(text)](https://developer.apple.com/documentation/externalaccessory/\(match.1.lowercased()))"
    }
    if let match = text.wholeMatch(of: /([\w-]+)#(\d+)/) { return "\(match.1) (GitHub), issue \(match.2)" }
    return text
  }
}
