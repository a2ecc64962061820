/// Cuts quoted text in messages, so that no file and no argument can fill the screen.
public enum Excerpt {
  /// More characters than these are not shown.
  public static let longest = 40

  /// The text on one line, at most 40 characters of it.
  public static func of(_ text: some StringProtocol) -> String {
    var shown = ""
    for scalar in text.unicodeScalars.prefix(longest) {
      switch scalar {
      case "\n": shown += "\\n"
      case "\r": shown += "\\r"
      case "\t": shown += "\\t"
      case _ where scalar.value < 0x20 || scalar.value == 0x7F: shown += "\\x" + Hex.number(scalar.value, digits: 2)
      case _ where scalar.isUnprintable: shown += String(scalar).spelledOut
      default: shown.unicodeScalars.append(scalar)
      }
    }
    return text.unicodeScalars.count > longest ? shown + "…" : shown
  }

  /// The longest line of a message.
  public static let longestLine = 1_000

  /// A message without the middle of each line of more than 1,000 characters: what is wrong stands at its beginning, and
  /// what to do at its end, whatever the message quotes.
  public static func ofLines(_ message: String) -> String {
    guard message.utf8.count > longestLine else { return message }
    let lines = message.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      let scalars = line.unicodeScalars
      guard scalars.count > longestLine else { return String(line) }
      return String(scalars.prefix(longestLine * 2 / 3)) + " … " + String(scalars.suffix(longestLine / 3))
    }
    return lines.joined(separator: "\n")
  }
}
