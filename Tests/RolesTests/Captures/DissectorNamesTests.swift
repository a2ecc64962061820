import IAP2
import TestSupport
import Testing

/// Compares the dissector's names with those in the message catalog. `EASIM_REWRITE=1` rewrites the dissector's names.
@Suite struct DissectorNamesTests {
  @Test func theDissectorHasEveryNameOfTheCatalogue() throws {
    let messages = MessageCatalog.all.map { entry in
      "  [0x\(Hex.number(entry.id.rawValue))] = { \(Self.quoted(entry.name))\(Self.table(of: entry.parameters)) },\n"
    }
    let text = "local names = {\n\(messages.joined())}\n-- "
    let difference = try CommittedText.difference("Wireshark/easim.lua", part: "names", from: text)
    #expect(difference == nil, "\(difference ?? "")")
  }

  private static func quoted(_ text: String) -> String { "\"\(text)\"" }

  private static func table(of parameters: [MessageCatalog.ParameterEntry]) -> String {
    if parameters.isEmpty { return "" }
    let entries = parameters.map { entry in
      "[\(entry.id)] = { \(quoted(entry.name)), \(quoted(entry.kind.rawValue))\(table(of: entry.group)) }"
    }
    return ", { \(entries.joined(separator: ", ")) }"
  }
}
