import AccessoryCore

/// Writes tables for spreadsheets.
package enum CSVText {
  /// A cell of CSV according to RFC 4180. Text that a spreadsheet would interpret as a formula, for example in an
  /// accessory's name, is kept as text.
  package static func cell(_ text: String) -> String {
    var text = String(text.printable(keeping: ["\t", "\n"]))
    if let first = text.first, "=+-@".contains(first), Double(text) == nil { text = "'\(text)" }
    guard text.contains(where: { ",\"\n\r".contains($0) }) else { return text }
    return "\"\(text.replacing("\"", with: "\"\""))\""
  }
}
