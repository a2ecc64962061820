import AccessoryCore

package enum CSVText {
  /// Returns a CSV cell that conforms to RFC 4180. If a spreadsheet would treat the text as a formula, it is escaped so
  /// that it remains text. Such text could be the name of a hostile accessory.
  package static func cell(_ text: String) -> String {
    var text = String(text.printable(keeping: ["\t", "\n"]))
    if let first = text.first, "=+-@".contains(first), Double(text) == nil { text = "'\(text)" }
    guard text.contains(where: { ",\"\n\r".contains($0) }) else { return text }
    return "\"\(text.replacing("\"", with: "\"\""))\""
  }
}
