/// The bytes of a JSON5 document and the current position in them. Reads blanks, comments and identifiers.
///
/// Invariant: after ``checkEncoding()``, the bytes are valid UTF-8, and the index is at the first byte of a scalar or
/// at the end. `line` and `column` are updated together with the index, because computing them on demand would take
/// quadratic time for a document with one long line.
struct JSON5Scanner {
  private let bytes: [UInt8]
  private let file: String
  let isStrict: Bool
  private(set) var index = 0
  private var line = 1
  private var column = 1

  init(_ bytes: [UInt8], file: String, isStrict: Bool = false) {
    self.bytes = bytes
    self.file = file
    self.isStrict = isStrict
  }

  mutating func checkEncoding() throws(SourceProblem) {
    do {
      _ = try UTF8Span(validating: bytes.span)
    } catch {
      let bad = error.byteOffsets.lowerBound
      var text = JSON5Scanner(Array(bytes[..<bad]), file: file)
      while !text.atEnd { text.advance() }
      throw text.problem("the byte 0x\(Hex.number(bytes[bad])) is not UTF-8")
    }
  }

  var atEnd: Bool { index >= bytes.count }

  var peek: UInt8? { atEnd ? nil : bytes[index] }

  var peekNext: UInt8? { index + 1 < bytes.count ? bytes[index + 1] : nil }

  var position: SourcePosition { SourcePosition(file: file, line: line, column: column) }

  /// The scalar at the index and its length in bytes, or nil at the end.
  var scalar: (value: Unicode.Scalar, length: Int)? {
    guard let first = peek else { return nil }
    if first < 0x80 { return (Unicode.Scalar(first), 1) }
    var iterator = bytes[index...].prefix(4).makeIterator()
    var decoder = UTF8()
    guard case .scalarValue(let value) = decoder.decode(&iterator) else { return nil }
    return (value, UTF8.width(value))
  }

  /// Advances past one scalar and counts lines: LF, CR and CR LF each end one line.
  mutating func advance() {
    guard let scalar else { return }
    let isLineFeed = scalar.value == "\n"
    let isBareReturn = scalar.value == "\r" && peekNext != UInt8(ascii: "\n")
    index += scalar.length
    column += 1
    if isLineFeed || isBareReturn {
      line += 1
      column = 1
    }
  }

  mutating func take(_ byte: UInt8) -> Bool {
    guard peek == byte else { return false }
    advance()
    return true
  }

  func text(from start: Int) -> String {
    String(decoding: bytes[start..<index], as: UTF8.self)
  }

  // MARK: Blanks and comments

  mutating func skipBlanks() throws(SourceProblem) {
    while let (value, _) = scalar {
      if value == "/" {
        if isStrict { throw problem("JSON has no comments") }
        try skipComment()
      } else if isStrict ? " \t\n\r".unicodeScalars.contains(value) : Self.isBlank(value) {
        advance()
      } else {
        return
      }
    }
  }

  private mutating func skipComment() throws(SourceProblem) {
    switch peekNext {
    case UInt8(ascii: "/"):
      while let (value, _) = scalar, !Self.endsLine(value) { advance() }
    case UInt8(ascii: "*"):
      let opening = position
      advance()
      advance()
      while !(peek == UInt8(ascii: "*") && peekNext == UInt8(ascii: "/")) {
        if atEnd { throw SourceProblem(at: opening, "this comment does not end: '*/' is missing") }
        advance()
      }
      advance()
      advance()
    default:
      throw problem("a single '/' is not valid: a comment is '// …' or '/* … */'")
    }
  }

  private static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case " ", "\t", "\n", "\r", "\u{B}", "\u{C}", "\u{A0}", "\u{FEFF}", "\u{2028}", "\u{2029}": true
    default: scalar.value > 0x7F && scalar.properties.generalCategory == .spaceSeparator
    }
  }

  static func endsLine(_ scalar: Unicode.Scalar) -> Bool {
    scalar == "\n" || scalar == "\r" || scalar == "\u{2028}" || scalar == "\u{2029}"
  }

  // MARK: Identifiers

  /// Reads a word or an unquoted key. Returns nil if no word or key starts at the current position.
  mutating func identifier() throws(SourceProblem) -> String? {
    var name = ""
    while let (value, _) = scalar {
      let here = self
      var part = value
      if value == "\\" {
        advance()
        guard take(UInt8(ascii: "u")) else {
          throw here.problem("in a key, '\\' must be followed by 'u' and four hex digits")
        }
        part = try unicodeEscape(from: here)
        guard Self.mayStand(part, first: name.isEmpty) else {
          throw here.problem("a key without quotes cannot contain this escaped character")
        }
      } else if Self.mayStand(part, first: name.isEmpty) {
        advance()
      } else {
        break
      }
      name.unicodeScalars.append(part)
    }
    return name.isEmpty ? nil : name
  }

  static func mayStand(_ scalar: Unicode.Scalar, first: Bool) -> Bool {
    switch scalar {
    case "a"..."z", "A"..."Z", "$", "_": return true
    case "0"..."9": return !first
    case _ where scalar.isASCII: return false
    case "\u{200C}", "\u{200D}": return !first
    default: break
    }
    switch scalar.properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .letterNumber: return true
    case .nonspacingMark, .spacingMark, .decimalNumber, .connectorPunctuation: return !first
    default: return false
    }
  }

  // MARK: Errors

  func problem(_ message: String) -> SourceProblem {
    SourceProblem(at: position, message)
  }

  func expected(_ what: String) -> SourceProblem {
    problem("expected \(what), found \(found)")
  }

  private var found: String {
    guard let (value, _) = scalar else { return "the end of the file" }
    var ahead = self
    if let word = try? ahead.identifier() { return "'\(Excerpt.of(word))'" }
    return "'\(Excerpt.of(String(Character(value))))'"
  }
}
