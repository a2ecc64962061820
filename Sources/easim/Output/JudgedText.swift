/// Colors verdicts in lines: the word or symbol at the beginning, and counts such as "2 failed".
enum JudgedText {
  private static let green = "\u{1B}[32m"
  private static let red = "\u{1B}[31m"
  private static let yellow = "\u{1B}[33m"
  private static let styles = [
    ("passed", green), ("✓", green), ("failed", red), ("✗", red), ("skipped", yellow), ("!", yellow),
    ("warning", yellow),
  ]
  private static let counted = ["passed": green, "failed": red, "skipped": yellow]

  static func colored(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      let indent = line.prefix { $0 == " " }
      let rest = line.dropFirst(indent.count)
      for (word, style) in styles where rest.hasPrefix(word) {
        let after = rest.dropFirst(word.count)
        if after.first?.isLetter ?? false { continue }
        return "\(indent)\(style)\(word)\u{1B}[0m\(after)"
      }
      return counts(line)
    }.joined(separator: "\n")
  }

  /// Colors counts such as "61 passed, 2 failed": each number except 0 gets the color of its word.
  private static func counts(_ line: Substring) -> String {
    var words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    for (index, word) in words.enumerated().dropFirst() {
      let bare = word.prefix { $0.isLetter }
      let number = words[index - 1]
      guard let style = counted[String(bare)], number != "0", !number.isEmpty,
        number == "all" || number.allSatisfy({ $0.isNumber || $0 == "," })
      else { continue }
      words[index - 1] = style + number
      words[index] = "\(bare)\u{1B}[0m\(word.dropFirst(bare.count))"
    }
    return words.joined(separator: " ")
  }
}
