import AccessoryFormats

/// The lines of a text with debug descriptions in it, without their ends.
enum DumpLines {
  /// A line and its number.
  struct Line {
    var text: Substring
    var number: Int
  }

  /// What begins an accessory.
  static let opening = "<EAAccessory: 0x"

  /// The most that is read: a day's log is larger, and the accessory in it is a screenful.
  static let limit = 16 << 20

  static func split(_ bytes: [UInt8], file: String, _ problems: ProblemCollector) -> [Line] {
    guard bytes.count <= limit else {
      problems.error(
        at: SourcePosition(file: file, line: 1, column: 1),
        "the text has \(bytes.count) bytes; the limit is \(limit): extract the accessory")
      return []
    }
    var lines: [Line] = []
    for (index, slice) in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
      let content = slice.last == UInt8(ascii: "\r") ? slice.dropLast() : slice
      if String(validating: content, as: UTF8.self) == nil {
        let place = SourcePosition(file: file, line: index + 1, column: 1)
        problems.add(SourceProblem(.warning, at: place, "the line is not UTF-8; invalid bytes were replaced"))
      }
      lines += spread(String(decoding: content, as: UTF8.self), number: index + 1)
    }
    return lines
  }

  /// An accessory printed inside an array is one line, its line breaks, quotes and foreign letters written as escapes.
  private static func spread(_ text: String, number: Int) -> [Line] {
    guard let start = range(of: opening, in: text[...])?.lowerBound,
      range(of: "\\n  connected:", in: text[start...]) != nil
    else { return [Line(text: text[...], number: number)] }
    var lines = PropertyListText.unescaped(text[start...]).split(separator: "\n", omittingEmptySubsequences: false)
    if let last = lines.last, last.hasPrefix("}") { lines[lines.count - 1] = "}" }
    return lines.map { Line(text: $0, number: number) }
  }

  /// The first place of `part` in `text`.
  static func range(of part: String, in text: Substring) -> Range<Substring.Index>? {
    let bytes = text.utf8
    var start = bytes.startIndex
    while let candidate = bytes[start...].firstIndex(where: { $0 == part.utf8.first }) {
      if bytes[candidate...].starts(with: part.utf8) {
        return candidate..<bytes.index(candidate, offsetBy: part.utf8.count)
      }
      start = bytes.index(after: candidate)
    }
    return nil
  }
}
