/// A regular expression over bytes, with captures. easim uses no other kind of regular expression.
///
/// The matching time is limited by the number of instructions times the number of bytes, for any pattern and any input.
/// All alternatives advance in parallel, byte by byte, without backtracking (Thompson's construction with Pike's
/// captures). The number of instructions is also limited, so no input can cause a hang.
///
/// ```swift
/// let pattern = try BytePattern("SET (\\w+)=(?<value>\\d+)")
/// pattern.match(Array("SET volume=11".utf8))   // [0..<13, 4..<10, 11..<13]
/// pattern.names                                // ["value": 2]
/// ```
///
/// Supported: `.` (any byte), `[a-z]`, `[^…]`, `\d \w \s \D \W \S`, `\xHH`, `\r \n \t \f \v \a \e \0`, `^ $ \A \z \b
/// \B`, groups `( )`, `(?: )`, `(?<name> )`, `|`, `* + ? {m,n}` and their lazy forms `*? +? ??`, and two flags: `(?i)`
/// ignores the case of ASCII letters, and `(?m)` makes `^` and `$` match at line breaks. A character outside ASCII
/// matches its UTF-8 bytes.
public struct BytePattern: Equatable, Sendable {
  /// The longest input that ``match(_:)`` accepts. A longer input never matches.
  public static let longestInput = 4_096
  static let mostInstructions = 500
  static let mostGroups = 16
  static let deepestNesting = 40

  /// The pattern as written.
  public let text: String
  /// The number of capture groups.
  public let groupCount: Int
  /// The numbers of the named groups, keyed by name.
  public let names: [String: Int]
  let program: [PatternInstruction]

  /// Parses a pattern. The error gives the position of the invalid character.
  public init(_ text: String) throws(OptionError) {
    self.text = text
    var parser = PatternParser(text)
    let node = try parser.parse()
    (groupCount, names) = (parser.groupCount, parser.names)
    var compiler = PatternCompiler()
    try compiler.emit(.group(node, number: 0))
    try compiler.emit(.match)
    program = compiler.program
  }

  /// Two patterns are equal if their source text is the same.
  public static func == (one: BytePattern, other: BytePattern) -> Bool { one.text == other.text }

  /// Returns the range of the whole match and the range of each group. The range of a group that did not participate is
  /// nil. The result is nil if the pattern does not match the entire input, or if the input is longer than
  /// ``longestInput``.
  public func match(_ bytes: [UInt8]) -> [Range<Int>?]? {
    guard bytes.count <= Self.longestInput else { return nil }
    var run = PatternRun(program, groups: groupCount + 1)
    run.begin()
    for byte in bytes where !run.isOver { _ = run.advance(over: byte) }
    return run.advance(over: nil).map { saved in
      (0...groupCount).map { saved[$0 * 2 + 1] < 0 ? nil : saved[$0 * 2]..<saved[$0 * 2 + 1] }
    }
  }
}

struct ByteSet: Equatable, Sendable {
  private var words = SIMD4<UInt64>()

  init(_ bytes: some Sequence<UInt8> = []) { for byte in bytes { insert(byte) } }

  static let all = ByteSet(0...255)
  static let digits = ByteSet(0x30...0x39)
  static let letters = ByteSet(Array(0x30...0x39) + Array(0x41...0x5A) + Array(0x61...0x7A) + [0x5F])
  static let spaces = ByteSet([0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x20])

  mutating func insert(_ byte: UInt8) { words[Int(byte >> 6)] |= 1 << (UInt64(byte) & 63) }

  mutating func formUnion(_ other: ByteSet) { words |= other.words }

  func contains(_ byte: UInt8) -> Bool { words[Int(byte >> 6)] >> (UInt64(byte) & 63) & 1 == 1 }

  var inverted: ByteSet {
    var result = self
    result.words = ~words
    return result
  }

  /// The set, extended with the other case of each ASCII letter that it contains.
  var caseless: ByteSet {
    var result = self
    for byte in UInt8(ascii: "A")...UInt8(ascii: "Z") where contains(byte) || contains(byte | 0x20) {
      result.formUnion(ByteSet([byte, byte | 0x20]))
    }
    return result
  }
}
