extension JSON5Scanner {
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
}
