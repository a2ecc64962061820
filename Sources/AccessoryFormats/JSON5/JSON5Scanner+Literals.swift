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
    if let integer = plainInteger(spelling) {
      return JSON5Number(spelling: spelling, value: Double(integer), integer: integer)
    }
    var digits = Substring(spelling)
    let negative = digits.first == "-"
    if negative || digits.first == "+" { digits = digits.dropFirst() }
    if digits == "Infinity" || digits == "NaN" {
      let value = digits == "NaN" ? Double.nan : negative ? -.infinity : .infinity
      return JSON5Number(spelling: spelling, value: value, integer: nil)
    }
    if digits.hasPrefix("0x") || digits.hasPrefix("0X") {
      let hex = digits.dropFirst(2)
      guard !hex.isEmpty, hex.utf8.allSatisfy({ Hex.digit($0) != nil }) else { return nil }
      let value = hex.utf8.reduce(0.0) { $0 * 16 + Double(Hex.digit($1) ?? 0) }
      let integer = Int64((negative ? "-" : "") + hex, radix: 16)
      return JSON5Number(spelling: spelling, value: negative ? -value : value, integer: integer)
    }
    guard isDecimal(digits), let value = Double(completed(digits)) else { return nil }
    let signed = negative ? -value : value
    let integer = Int64((negative ? "-" : "") + digits) ?? Int64(exactly: signed)
    return JSON5Number(spelling: spelling, value: signed, integer: integer)
  }

  /// A fast path for the numbers that are most common in large files: integers of one to eighteen digits without a
  /// superfluous zero. Returns nil for numbers in any other form.
  private static func plainInteger(_ spelling: String) -> Int64? {
    let digits = spelling.utf8
    guard (1...18).contains(digits.count), digits.count == 1 || digits.first != UInt8(ascii: "0") else { return nil }
    var integer: Int64 = 0
    for digit in digits {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
      integer = integer * 10 + Int64(digit - UInt8(ascii: "0"))
    }
    return integer
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

  /// Returns true for digits that have no superfluous leading zero. A decimal point and an exponent are optional.
  private static func isDecimal(_ text: Substring) -> Bool {
    var rest = text
    func digits() -> Int {
      let count = rest.utf8.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }.count
      rest = rest.dropFirst(count)
      return count
    }
    let leadingZero = rest.first == "0"
    let whole = digits()
    if leadingZero, whole > 1 { return false }
    var fraction = 0
    if rest.first == "." {
      rest = rest.dropFirst()
      fraction = digits()
    }
    guard whole + fraction > 0 else { return false }
    if rest.first == "e" || rest.first == "E" {
      rest = rest.dropFirst()
      if rest.first == "+" || rest.first == "-" { rest = rest.dropFirst() }
      guard digits() > 0 else { return false }
    }
    return rest.isEmpty
  }

  /// Returns the number with digits on both sides of its decimal point, as Swift requires.
  private static func completed(_ digits: Substring) -> String {
    var text = digits.hasPrefix(".") ? "0" + digits : String(digits)
    if let point = text.firstIndex(of: ".") {
      let next = text.index(after: point)
      if next == text.endIndex || text[next].isLetter { text.insert("0", at: next) }
    }
    return text
  }
}
