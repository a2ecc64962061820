import AccessoryCore

/// Tables for spreadsheets.
package enum CSVText {
  /// As RFC 4180 has it. A text that a spreadsheet would take for a formula, perhaps from an accessory's name, is kept one.
  package static func cell(_ text: String) -> String {
    var text = String(text.printable(keeping: ["\t", "\n"]))
    if let first = text.first, "=+-@".contains(first), Double(text) == nil { text = "'\(text)" }
    guard text.contains(where: { ",\"\n\r".contains($0) }) else { return text }
    return "\"\(text.replacing("\"", with: "\"\""))\""
  }
}
