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

  // MARK: Strings

  mutating func string() throws(SourceProblem) -> String {
    let opening = self
    let quote = peek
    advance()
    var text = ""
    while let (value, _) = scalar {
      if peek == quote {
        advance()
        return text
      }
      switch value {
      case "\\":
        if let escaped = try escape() { text.unicodeScalars.append(escaped) }
      case _ where isStrict && value.value < 0x20:
        throw problem("a control character in text must be escaped")
      case "\n", "\r":
        throw opening.problem("this text does not end on its line: the closing \(opening.quoteName) is missing")
      default:
        text.unicodeScalars.append(value)
        advance()
      }
    }
    throw opening.problem("this text does not end: the closing \(opening.quoteName) is missing")
  }

  private var quoteName: String {
    peek == UInt8(ascii: "'") ? "single quote" : "double quote"
  }

  /// Reads the rest of an escape sequence after its backslash. Returns nil for an escaped line break.
  private mutating func escape() throws(SourceProblem) -> Unicode.Scalar? {
    let here = self
    advance()
    guard let (value, _) = scalar else { throw here.problem("the file ends after '\\'") }
    advance()
    if isStrict, !"\"\\/bfnrtu".unicodeScalars.contains(value) {
      throw here.problem("'\\\(value)' is not a JSON escape")
    }
    switch value {
    case "b": return "\u{8}"
    case "f": return "\u{C}"
    case "n": return "\n"
    case "r": return "\r"
    case "t": return "\t"
    case "v": return "\u{B}"
    case "0":
      if let next = peek, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(next) {
        throw here.problem("'\\0' must not be followed by a digit: write '\\x00'")
      }
      return "\0"
    case "1"..."9": throw here.problem("'\\\(value)' is not an escape: write '\\x..' with two hex digits")
    case "x": return Unicode.Scalar(UInt8(try hexDigits(2, from: here)))
    case "u": return try unicodeEscape(from: here)
    case "\r":
      _ = take(UInt8(ascii: "\n"))
      return nil
    case _ where Self.endsLine(value): return nil
    default: return value
    }
  }

  /// Reads the four digits after `\u` and, if they begin a surrogate pair, the second half of the pair.
  mutating func unicodeEscape(from start: JSON5Scanner) throws(SourceProblem) -> Unicode.Scalar {
    let first = try hexDigits(4, from: start)
    if let scalar = Unicode.Scalar(first) { return scalar }
    guard first < 0xDC00, take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else {
      throw start.problem("'\\u\(Hex.number(first, digits: 4))' is one half of a surrogate pair without the other")
    }
    let second = try hexDigits(4, from: start)
    guard (0xDC00...0xDFFF).contains(second),
      let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    else {
      throw start.problem("'\\u\(Hex.number(first, digits: 4))' is one half of a surrogate pair without the other")
    }
    return scalar
  }

  private mutating func hexDigits(_ count: Int, from start: JSON5Scanner) throws(SourceProblem) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<count {
      guard let byte = peek, let digit = Hex.digit(byte) else {
        throw start.problem("the escape needs \(count) hex digits")
      }
      value = value << 4 | UInt32(digit)
      advance()
    }
    return value
  }

  // MARK: Numbers

  static func startsNumber(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): true
    default: false
    }
  }

  /// Reads a number. A number extends to the next blank or delimiter, so `12px` and `1-2` are errors.
  mutating func number() throws(SourceProblem) -> JSON5Number {
    let here = self
    while let (value, _) = scalar, Self.mayStand(value, first: false) || ".+-".unicodeScalars.contains(value) {
      advance()
    }
    let spelling = text(from: here.index)
    guard let number = Self.number(spelling), !isStrict || Self.isJSON(spelling) else {
      throw here.problem("'\(Excerpt.of(spelling))' is not a number")
    }
    return number
  }

  private static func number(_ spelling: String) -> JSON5Number? {
    let isNegative = spelling.hasPrefix("-")
    let digits = isNegative || spelling.hasPrefix("+") ? spelling.dropFirst() : spelling[...]
    if digits == "Infinity" || digits == "NaN" {
      let value = digits == "NaN" ? Double.nan : isNegative ? -.infinity : .infinity
      return JSON5Number(spelling: spelling, value: value, integer: nil)
    }
    if digits.hasPrefix("0x") || digits.hasPrefix("0X") {
      let hex = digits.dropFirst(2)
      guard !hex.isEmpty, hex.utf8.allSatisfy({ Hex.digit($0) != nil }) else { return nil }
      let value = hex.utf8.reduce(0.0) { $0 * 16 + Double(Hex.digit($1) ?? 0) }
      let integer = Int64((isNegative ? "-" : "") + hex, radix: 16)
      return JSON5Number(spelling: spelling, value: isNegative ? -value : value, integer: integer)
    }
    guard isPlain(digits) else { return nil }
    if let integer = Int64(spelling) {
      return JSON5Number(spelling: spelling, value: Double(integer), integer: integer)
    }
    return Double(digits).map { value in
      let signed = isNegative ? -value : value
      return JSON5Number(spelling: spelling, value: signed, integer: Int64(exactly: signed))
    }
  }

  /// Returns true for a decimal number that has no second sign and no superfluous leading zero. Swift's own readers of
  /// numbers, which check the rest, also accept these, hexadecimal numbers and words such as `inf`.
  private static func isPlain(_ digits: Substring) -> Bool {
    func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
    let bytes = digits.utf8
    guard let first = bytes.first, isDigit(first) || first == UInt8(ascii: ".") else { return false }
    if first == UInt8(ascii: "0"), let second = bytes.dropFirst().first, isDigit(second) { return false }
    return bytes.allSatisfy { isDigit($0) || ".eE+-".utf8.contains($0) }
  }

  /// Returns true if a JSON5 number is also valid in JSON. JSON requires digits on both sides of a decimal point and
  /// allows no plus sign.
  private static func isJSON(_ spelling: String) -> Bool {
    let digits = spelling.hasPrefix("-") ? spelling.dropFirst() : spelling[...]
    guard let first = digits.utf8.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else { return false }
    guard !digits.hasPrefix("0x"), !digits.hasPrefix("0X") else { return false }
    guard let point = digits.firstIndex(of: ".") else { return true }
    return digits[digits.index(after: point)...].first?.isNumber ?? false
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
