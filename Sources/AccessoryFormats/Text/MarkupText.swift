/// Text as XML and HTML carry it.
package enum MarkupText {
  /// Escapes markup, and replaces characters that XML does not allow or a page would not show.
  package static func escaped(_ text: some StringProtocol) -> String {
    var out = ""
    for scalar in text.printable(keeping: ["\t", "\n", "\r"]).unicodeScalars {
      switch scalar {
      case "&": out += "&amp;"
      case "<": out += "&lt;"
      case ">": out += "&gt;"
      case "\"": out += "&quot;"
      case "'": out += "&#39;"
      case "\u{FFFE}", "\u{FFFF}": out += "\u{FFFD}"
      default: out.unicodeScalars.append(scalar)
      }
    }
    return out
  }
}
