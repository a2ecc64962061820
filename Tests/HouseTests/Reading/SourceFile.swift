/// One Swift file of the house, as far as checks look at it.
struct SourceFile {
  /// From the repository's root: `Sources/IAP2/Link/Link.swift`.
  let path: String
  /// How many lines it has.
  let lineCount: Int
  /// What it imports, with the line of each.
  let imports: [(module: String, line: Int)]
  private let code: [Substring]

  init(path: String, text: String) {
    self.path = path
    lineCount = text.utf8.reduce(text.hasSuffix("\n") ? 0 : 1) { $1 == UInt8(ascii: "\n") ? $0 + 1 : $0 }
    code = SwiftText(text).code.split(separator: "\n", omittingEmptySubsequences: false)
    imports = Self.lines(of: code, with: "import").compactMap { line, number in
      Self.imported(line).map { ($0, number) }
    }
  }

  /// The lines whose code has this word in it, comments and literals blanked, with their numbers.
  func lines(with word: StaticString) -> [(line: Substring, number: Int)] {
    Self.lines(of: code, with: word)
  }

  private static func lines(of code: [Substring], with word: StaticString) -> [(line: Substring, number: Int)] {
    // By bytes, because searching strings for strings takes seconds in a debug build.
    let first = word.utf8Start.pointee
    return code.enumerated().compactMap { index, line in
      let isThere = line.utf8.indices.contains { place in
        line.utf8[place] == first && line.utf8[place...].starts(with: word.withUTF8Buffer { Array($0) })
      }
      return isThere ? (line, index + 1) : nil
    }
  }

  private static func imported(_ line: Substring) -> String? {
    var words = line.split(separator: " ")[...]
    let modifiers: Set<Substring> = ["public", "package", "internal", "fileprivate", "private"]
    while let first = words.first, first.hasPrefix("@") || modifiers.contains(first) { words.removeFirst() }
    guard words.popFirst() == "import", var module = words.popFirst() else { return nil }
    let kinds: Set<Substring> = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias"]
    if kinds.contains(module), let next = words.first { module = next }
    return module.split(separator: ".").first.map(String.init)
  }
}
