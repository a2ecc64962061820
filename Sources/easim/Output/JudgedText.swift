/// Colors for the words and signs at the beginning of lines with a verdict.
enum JudgedText {
  private static let styles = [
    ("passed", "\u{1B}[32m"), ("✓", "\u{1B}[32m"), ("failed", "\u{1B}[31m"), ("✗", "\u{1B}[31m"),
    ("skipped", "\u{1B}[33m"),
    ("!", "\u{1B}[33m"), ("warning", "\u{1B}[33m"),
  ]

  /// The same lines with the colors of a terminal.
  static func colored(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      let indent = line.prefix { $0 == " " }
      let rest = line.dropFirst(indent.count)
      for (word, style) in styles where rest.hasPrefix(word) {
        let after = rest.dropFirst(word.count)
        if after.first?.isLetter ?? false { continue }
        return "\(indent)\(style)\(word)\u{1B}[0m\(after)"
      }
      return String(line)
    }.joined(separator: "\n")
  }
}
