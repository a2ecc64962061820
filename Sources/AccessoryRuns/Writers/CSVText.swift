import AccessoryCore

package enum CSVText {
  /// Returns a CSV cell that conforms to RFC 4180. Text that a spreadsheet would treat as a formula, such as the name
  /// of a hostile accessory, is escaped so that it remains text.
  package static func cell(_ text: String) -> String {
    var text = String(text.printable(keeping: ["\t", "\n"]))
    if let first = text.first, "=+-@".contains(first), Double(text) == nil { text = "'\(text)" }
    guard text.contains(where: { ",\"\n\r".contains($0) }) else { return text }
    return "\"\(text.replacing("\"", with: "\"\""))\""
  }
}
