import AccessoryFormats
import AccessoryProfiles

enum DumpLines {
  struct Line {
    var text: Substring
    var number: Int
  }

  static let opening = "<EAAccessory: 0x"

  /// The maximum number of bytes read. A day's log may be larger, but a description takes up only a few lines.
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

  /// Splits the description of an accessory that was printed as part of an array. Such a description is a single line,
  /// with line breaks, quotation marks and non-ASCII letters escaped.
  private static func spread(_ text: String, number: Int) -> [Line] {
    guard let start = range(of: opening, in: text[...])?.lowerBound,
      range(of: "\\n  connected:", in: text[start...]) != nil
    else { return [Line(text: text[...], number: number)] }
    var lines = PropertyListText.unescaped(text[start...]).split(separator: "\n", omittingEmptySubsequences: false)
    if let last = lines.last, last.hasPrefix("}") { lines[lines.count - 1] = "}" }
    return lines.map { Line(text: $0, number: number) }
  }

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

/// Splits a line of a debug description into its parts. Logs may put any prefix in front of a line, so the parser
/// searches for known field names. To find a closing brace, the parser looks at the line's last word.
enum DumpLine {
  static let fields = [
    "connected", "connectionID", "name", "manufacturer", "modelNumber", "serialNumber", "ppid", "regioncode",
    "firmwareRevisionActive", "firmwareRevisionPending", "hardwareRevision", "dockType", "certSerial", "certData",
    "protocols", "delegate",
  ]

  /// Returns the address in an opening line, or nil for any other line.
  static func address(in line: Substring) -> UInt64? {
    guard let opening = DumpLines.range(of: DumpLines.opening, in: line) else { return nil }
    let digits = line[opening.upperBound...].prefix { $0.isHexDigit && $0.isASCII }
    guard line[digits.endIndex...].hasPrefix(">") else { return nil }
    return UInt64(digits, radix: 16)
  }

  static func isClosing(_ line: Substring) -> Bool {
    lastWord(of: line) == "}"
  }

  /// Returns the field in a line and the text after its colon. A field name after two spaces (the usual layout) takes
  /// precedence over one after a single space or at the start of a line (in a log that has lost its indentation).
  static func field(in line: Substring) -> (name: String, value: Substring)? {
    let bytes = line.utf8
    var best: (margin: Int, name: String, end: Substring.Index)?
    for colon in bytes.indices where bytes[colon] == UInt8(ascii: ":") {
      guard let name = fields.first(where: { bytes[..<colon].hasSuffix($0) }) else { continue }
      let before = bytes[..<colon].dropLast(name.utf8.count)
      let margin = before.hasSuffix("  ") ? 2 : before.hasSuffix(" ") || before.hasSuffix("\t") ? 1 : 0
      guard margin > 0 || before.isEmpty, margin > best?.margin ?? -1 else { continue }
      best = (margin, name, bytes.index(after: colon))
      if margin == 2 { break }
    }
    return best.map { ($0.name, line[$0.end...]) }
  }

  /// Returns a value without surrounding spaces, or nil for `(null)`.
  static func value(_ text: Substring) -> String? {
    let inner = text.hasPrefix(" ") ? text.dropFirst() : text
    let value = inner.hasSuffix(" ") ? inner.dropLast() : inner
    return value == "(null)" ? nil : String(value)
  }

  /// Returns the list elements on one line. The closing `)` counts as an element.
  static func elements(of line: Substring) -> [String] {
    line.split(separator: ",").flatMap { piece -> [String] in
      guard let word = lastWord(of: piece) else { return [] }
      if word == ")" { return [")"] }
      if word.hasSuffix(")") { return elements(of: word.dropLast()) + [")"] }
      return [PropertyListText.unescaped(quoted(piece) ?? word)]
    }
  }

  /// Returns the text between the last two quotation marks of a piece that ends with a quotation mark.
  private static func quoted(_ piece: Substring) -> Substring? {
    guard lastWord(of: piece)?.hasSuffix("\"") == true, let closing = piece.lastIndex(of: "\""),
      let opening = piece[..<closing].lastIndex(of: "\"")
    else { return nil }
    return piece[piece.index(after: opening)..<closing]
  }

  private static func lastWord(of line: Substring) -> Substring? {
    line.split(whereSeparator: \.isWhitespace).last
  }
}

extension Substring.UTF8View {
  fileprivate func hasSuffix(_ text: String) -> Bool {
    suffix(text.utf8.count).elementsEqual(text.utf8)
  }
}
