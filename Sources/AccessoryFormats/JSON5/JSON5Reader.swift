/// Reads JSON5 as json5.org defines it for ES5.1: all of JSON, plus comments, trailing commas, single quotes, keys
/// without quotes, and hexadecimal numbers.
///
/// easim has its own reader because error messages need the line and column of every value. The input is untrusted.
/// Size and depth are limited, memory use is proportional to the size, and invalid bytes cause an error but never a
/// trap. The reader stops at the first syntax error. If the syntax is correct, ``ObjectReader`` collects all other
/// mistakes.
///
/// ```swift
/// let tree = try JSON5.read(bytes, file: "mine.json5")
/// tree["accessory"]?.position.line
/// ```
public enum JSON5 {
  /// The grammar of a document.
  public enum Grammar: Equatable, Sendable {
    /// JSON5, for files that people write by hand.
    case json5
    /// JSON as in RFC 8259, for input from programs. An object must not contain the same key twice.
    case json
  }

  /// The limits of a document.
  public struct Limits: Equatable, Sendable {
    /// The maximum length of a document in bytes.
    public var bytes: Int
    /// The maximum nesting depth of lists and objects.
    public var depth: Int

    /// Creates limits. The defaults are far larger than any real profile or scenario needs.
    public init(bytes: Int = 1 << 20, depth: Int = 64) {
      self.bytes = bytes
      self.depth = depth
    }
  }

  /// Reads one document.
  public static func read(
    _ bytes: [UInt8], file: String, limits: Limits = Limits(), as grammar: Grammar = .json5
  ) throws(SourceProblem) -> JSON5Value {
    let start = SourcePosition(file: file, line: 1, column: 1)
    guard bytes.count <= limits.bytes else {
      throw SourceProblem(at: start, "the file has \(bytes.count) bytes; the limit is \(limits.bytes)")
    }
    var scanner = JSON5Scanner(bytes, file: file, isStrict: grammar == .json)
    try scanner.checkEncoding()
    return try JSON5Parser(scanner: scanner, depthLimit: limits.depth).document()
  }

  /// Reads a sequence of documents, as in JSON lines.
  ///
  /// - Returns: the documents, and the byte range of each string that is a value. The ranges are in order, and do not
  ///   include quotation marks.
  public static func readAll(
    _ bytes: [UInt8], file: String, limits: Limits, as grammar: Grammar
  ) throws(SourceProblem) -> (documents: [JSON5Value], texts: [Range<Int>]) {
    var scanner = JSON5Scanner(bytes, file: file, isStrict: grammar == .json)
    try scanner.checkEncoding()
    return try JSON5Parser(scanner: scanner, depthLimit: limits.depth).documents()
  }

  /// Reads one document from a string.
  public static func read(_ text: String, file: String, limits: Limits = Limits()) throws(SourceProblem) -> JSON5Value {
    try read(Array(text.utf8), file: file, limits: limits)
  }
}

struct JSON5Parser {
  private var scanner: JSON5Scanner
  private let depthLimit: Int
  private var depth = 0
  private var texts: [Range<Int>] = []

  init(scanner: JSON5Scanner, depthLimit: Int) {
    self.scanner = scanner
    self.depthLimit = depthLimit
  }

  consuming func document() throws(SourceProblem) -> JSON5Value {
    try scanner.skipBlanks()
    if scanner.atEnd { throw scanner.problem("the file is empty: expected a value") }
    let value = try self.value()
    try scanner.skipBlanks()
    guard scanner.atEnd else { throw scanner.expected("nothing after the document's value") }
    return value
  }

  consuming func documents() throws(SourceProblem) -> ([JSON5Value], [Range<Int>]) {
    var values: [JSON5Value] = []
    try scanner.skipBlanks()
    while !scanner.atEnd {
      values.append(try value())
      try scanner.skipBlanks()
    }
    return (values, texts)
  }

  private mutating func value() throws(SourceProblem) -> JSON5Value {
    let position = scanner.position
    switch scanner.peek {
    case UInt8(ascii: "{"): return JSON5Value(.object(try object()), at: position)
    case UInt8(ascii: "["): return JSON5Value(.array(try array()), at: position)
    case UInt8(ascii: "\""), UInt8(ascii: "'"):
      let start = scanner.index + 1
      let text = try text()
      texts.append(start..<scanner.index - 1)
      return JSON5Value(.text(text), at: position)
    case let byte? where JSON5Scanner.startsNumber(byte): return JSON5Value(.number(try scanner.number()), at: position)
    default: return JSON5Value(try word(), at: position)
    }
  }

  private mutating func word() throws(SourceProblem) -> JSON5Value.Content {
    var ahead = scanner
    switch try ahead.identifier() {
    case "null"?: scanner = ahead; return .null
    case "true"?: scanner = ahead; return .boolean(true)
    case "false"?: scanner = ahead; return .boolean(false)
    case let word? where !scanner.isStrict && (word == "NaN" || word == "Infinity"):
      return .number(try scanner.number())
    case let word?:
      throw scanner.problem("expected a value, found the word '\(Excerpt.of(word))': put text in quotes")
    case nil: throw scanner.expected("a value")
    }
  }

  private mutating func array() throws(SourceProblem) -> [JSON5Value] {
    var values: [JSON5Value] = []
    let opening = try open()
    while true {
      try scanner.skipBlanks()
      if scanner.peek == UInt8(ascii: "]") {
        try refuseTrailingComma(after: values.count)
        scanner.advance()
        break
      }
      values.append(try value())
      try scanner.skipBlanks()
      if scanner.take(UInt8(ascii: ",")) { continue }
      if scanner.take(UInt8(ascii: "]")) { break }
      throw scanner.expected("',' or ']' in the list that opens at line \(opening.line), column \(opening.column)")
    }
    depth -= 1
    return values
  }

  private mutating func object() throws(SourceProblem) -> [JSON5Member] {
    var members: [JSON5Member] = []
    var keys: Set<String> = []
    let opening = try open()
    let place = "in the object that opens at line \(opening.line), column \(opening.column)"
    while true {
      try scanner.skipBlanks()
      if scanner.peek == UInt8(ascii: "}") {
        try refuseTrailingComma(after: members.count)
        scanner.advance()
        break
      }
      let position = scanner.position
      guard let key = try key() else { throw scanner.expected("a key or '}' \(place)") }
      if scanner.isStrict, !keys.insert(key).inserted {
        throw SourceProblem(at: position, "the key '\(Excerpt.of(key))' occurs twice \(place)")
      }
      try scanner.skipBlanks()
      guard scanner.take(UInt8(ascii: ":")) else { throw scanner.expected("':' after the key '\(Excerpt.of(key))'") }
      try scanner.skipBlanks()
      members.append(JSON5Member(key, try value(), at: position))
      try scanner.skipBlanks()
      if scanner.take(UInt8(ascii: ",")) { continue }
      if scanner.take(UInt8(ascii: "}")) { break }
      throw scanner.expected("',' or '}' \(place)")
    }
    depth -= 1
    return members
  }

  private mutating func key() throws(SourceProblem) -> String? {
    switch scanner.peek {
    case UInt8(ascii: "\""), UInt8(ascii: "'"): return try text()
    default:
      let here = scanner
      let word = try scanner.identifier()
      if scanner.isStrict, let word { throw here.problem("put the key '\(Excerpt.of(word))' in double quotes") }
      return word
    }
  }

  private mutating func text() throws(SourceProblem) -> String {
    if scanner.isStrict, scanner.peek == UInt8(ascii: "'") {
      throw scanner.problem("put text in double quotes, not in single quotes")
    }
    return try scanner.string()
  }

  private func refuseTrailingComma(after count: Int) throws(SourceProblem) {
    if scanner.isStrict, count > 0 { throw scanner.problem("a comma must be followed by a value") }
  }

  private mutating func open() throws(SourceProblem) -> SourcePosition {
    let position = scanner.position
    guard depth < depthLimit else {
      throw scanner.problem("lists and objects are nested deeper than \(depthLimit)")
    }
    depth += 1
    scanner.advance()
    return position
  }
}
