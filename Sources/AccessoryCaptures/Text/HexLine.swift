import AccessoryCore

struct HexLine: Equatable {
  struct Offset: Equatable {
    let text: String
    /// The possible radixes, starting with the most likely.
    let radixes: [Int]

    func value(_ radix: Int) -> UInt64? { UInt64(text, radix: radix) }
  }

  enum Content: Equatable {
    /// The line contains bytes. `isWords` is true if the bytes are written as two-byte words with the low byte first.
    case bytes([UInt8], at: Offset?, isWords: Bool)
    case squeezed
    /// The line contains only an offset, which ends a dump.
    case end(Offset)
  }

  let number: Int
  let column: Int
  let indentation: Int
  /// The mark that identifies the sender, such as `TX`, or an empty string if the line has none.
  let mark: String
  let content: Content
}

/// Parses one line.
///
/// A number is considered an offset if it precedes a colon, or if it has seven digits, like the offsets of `od` and
/// `hexdump` (data has an even number of digits). A number is also considered an offset if it has at least four digits,
/// pairs follow it, and either two blanks follow or its value is zero or the expected offset.
struct HexLineScanner {
  private static let marks = [
    "<<", ">>", "<-", "->", "<", ">", "A", "D", "TX", "RX", "Tx", "Rx", "tx", "rx", "OUT", "IN", "out", "in",
  ]

  private let bytes: [UInt8]
  private let number: Int
  /// The number of columns before these bytes. For a long line that is read in parts, this number is 0 only for the
  /// first part.
  private let skippedColumns: Int
  private let offsetWidth: Int?
  private let isExpected: (HexLine.Offset) -> Bool

  /// - Parameters:
  ///   - offsetWidth: how many digits the dump's offsets have, or nil if this is not known.
  ///   - isExpected: returns whether an offset is the expected one.
  init(
    _ line: ArraySlice<UInt8>, number: Int, after skippedColumns: Int = 0, offsetWidth: Int?,
    isExpected: @escaping (HexLine.Offset) -> Bool
  ) {
    self.offsetWidth = offsetWidth
    self.skippedColumns = skippedColumns
    var bytes = Array(line)
    while let last = bytes.last, Self.isBlank(last) { bytes.removeLast() }
    self.bytes = bytes
    self.number = number
    self.isExpected = isExpected
  }

  /// A word in the line, consisting of its digits without any prefix, its position, and the number of blanks before it.
  private struct Word {
    var text: String
    var start: Int
    var end: Int
    var gap: Int
    var isPrefixed = false

    var isHex: Bool { !text.isEmpty && text.utf8.allSatisfy { HexLineScanner.isDigit($0) } }
  }

  func scan() throws(CaptureError) -> HexLine? {
    var at = 0
    if skippedColumns > 0 {
      let more = try plainBytes(from: 0)
      return HexLine(
        number: number, column: skippedColumns + 1, indentation: 0, mark: "",
        content: .bytes(more, at: nil, isWords: false))
    }
    skipBlanks(&at)
    let indentation = at
    if at == bytes.count || ["#", "//", "```"].contains(where: { bytes[at...].starts(with: $0.utf8) }) { return nil }
    let mark = takeMark(&at)
    guard let first = afterDeclaration(at) else { return nil }
    at = first
    let start = at
    func line(_ content: HexLine.Content) -> HexLine {
      HexLine(number: number, column: start + 1, indentation: indentation, mark: mark, content: content)
    }
    if bytes[at...].elementsEqual([UInt8(ascii: "*")]) { return line(.squeezed) }
    guard let offset = takeOffset(&at) else {
      let bytes = try plainBytes(from: at)
      return bytes.isEmpty ? nil : line(.bytes(bytes, at: nil, isWords: false))
    }
    if at == bytes.count { return line(.end(offset.value)) }
    let data = try dumpBytes(from: at, offset)
    return line(.bytes(data.bytes, at: offset.value, isWords: data.isWords))
  }

  // MARK: Before the data

  private func takeMark(_ at: inout Int) -> String {
    for mark in Self.marks where bytes[at...].starts(with: mark.utf8) {
      var next = at + mark.utf8.count
      guard next < bytes.count, Self.isBlank(bytes[next]) || bytes[next] == UInt8(ascii: ":") else { continue }
      if bytes[next] == UInt8(ascii: ":") { next += 1 }
      skipBlanks(&next)
      if next == bytes.count { continue }
      at = next
      return mark.uppercased()
    }
    return ""
  }

  /// Returns where the data begins in a declaration such as `{length = 6, bytes = 0xff55…}` (an `NSData` description)
  /// or `unsigned char capture[] = {` (the output of `xxd -i`). Returns nil if the line is a declaration without data.
  /// If the line is not a declaration, returns `at`.
  private func afterDeclaration(_ at: Int) -> Int? {
    let text = bytes[at...]
    if text.starts(with: "{length".utf8) { return end(of: "bytes = ", from: at) }
    let declares = ["unsigned ", "const ", "static ", "uint8_t "].contains { text.starts(with: $0.utf8) }
    return declares ? end(of: "{", from: at) : at
  }

  private func end(of words: String, from at: Int) -> Int? {
    let words = Array(words.utf8)
    return bytes[at...].indices.first { bytes[$0...].starts(with: words) }.map { $0 + words.count }
  }

  private struct FoundOffset {
    let value: HexLine.Offset
    let hasColon: Bool
    /// Whether the offset has seven digits, as in dumps of two-byte words.
    let isOdd: Bool
  }

  private func takeOffset(_ at: inout Int) -> FoundOffset? {
    var next = at
    guard let word = self.word(&next), word.isHex, word.text.utf8.count <= 16 else { return nil }
    let hasColon =
      next < bytes.count && bytes[next] == UInt8(ascii: ":")
      && (next + 1 == bytes.count || Self.isBlank(bytes[next + 1]))
    let isOdd = word.text.utf8.count == 7 && !word.isPrefixed
    var after = next
    let following = self.word(&after)
    // A seven-digit offset that precedes pairs was printed by `od`, whose offsets are octal by default.
    let isFromOd = isOdd && following?.text.utf8.count ?? 2 == 2
    let offset = HexLine.Offset(text: word.text, radixes: isFromOd ? [8, 10, 16] : [16, 8, 10])
    let isOffset: Bool
    if hasColon {
      isOffset = word.text.utf8.count >= 3
      next += 1
    } else if let following {
      let isBeforePairs = word.text.utf8.count >= 4 && following.text.utf8.count == 2
      let isPlausible = following.gap >= 2 || UInt64(word.text, radix: 16) == 0 || isExpected(offset)
      isOffset = isOdd || isBeforePairs && isPlausible
    } else {
      isOffset = isOdd || word.text.utf8.count == offsetWidth || isExpected(offset)
    }
    guard isOffset else { return nil }
    at = next
    return FoundOffset(value: offset, hasColon: hasColon, isOdd: isOdd)
  }

  // MARK: The data

  private func plainBytes(from start: Int) throws(CaptureError) -> [UInt8] {
    var out: [UInt8] = []
    var at = start
    while let word = word(&at) { out += try pairs(word) }
    return out
  }

  /// Reads the pairs or two-byte words of a dump, up to the text column.
  private func dumpBytes(
    from start: Int, _ offset: FoundOffset
  ) throws(CaptureError) -> (bytes: [UInt8], isWords: Bool) {
    var out: [UInt8] = []
    var isWords = offset.isOdd && !offset.hasColon
    var at = start
    while let word = word(&at, isDump: true) {
      let isFirst = out.isEmpty
      if isFirst, word.text.utf8.count != 4 { isWords = false }
      if !isFirst, !isWords, isText(gap: word.gap, offset, out.count) { break }
      if !word.isHex, !isFirst, word.gap >= 1 { break }
      let bytes = try pairs(word)
      out += isWords && bytes.count == 2 ? bytes.reversed() : bytes
    }
    return (out, isWords)
  }

  /// Returns true if `gap` blanks that follow `count` bytes separate the data from the text column.
  private func isText(gap: Int, _ offset: FoundOffset, _ count: Int) -> Bool {
    offset.hasColon ? gap >= 2 : gap >= 3 || gap >= 2 && count >= 16
  }

  private func pairs(_ word: Word) throws(CaptureError) -> [UInt8] {
    let shown = String(word.text.prefix(24))
    guard word.isHex else {
      throw CaptureError(
        number, skippedColumns + word.start + 1,
        "'\(shown)' is not hex; expected raw bytes, a hex dump or a transcript")
    }
    var digits = Array(word.text.utf8)
    if word.isPrefixed, digits.count == 1 { digits.insert(UInt8(ascii: "0"), at: 0) }
    guard let bytes = Self.bytes(ofPairs: digits) else {
      throw CaptureError(
        number, skippedColumns + word.start + 1,
        "'\(shown)' is not a whole number of bytes: each byte is two hex digits")
    }
    return bytes
  }

  /// Converts pairs of hex digits to bytes. Returns nil if a digit is unpaired or is not a hex digit.
  static func bytes(ofPairs digits: [UInt8]) -> [UInt8]? {
    guard digits.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let high = Hex.digit(digits[index]), let low = Hex.digit(digits[index + 1]) else { return nil }
      bytes.append(high << 4 | low)
    }
    return bytes
  }

  private func skipBlanks(_ at: inout Int) {
    while at < bytes.count, Self.isBlank(bytes[at]) { at += 1 }
  }

  /// Returns the next word. In a dump, the word may contain characters that are not digits, because it may belong to
  /// the text column.
  private func word(_ at: inout Int, isDump: Bool = false) -> Word? {
    var gap = 0
    // Skips an offset in the middle of a line, which some debuggers print.
    if isDump, at > 0, at + 1 < bytes.count, "-:,".utf8.contains(bytes[at]), Self.isDigit(bytes[at - 1]),
      Self.isDigit(bytes[at + 1])
    {
      at += 1
    }
    while at < bytes.count, Self.isBlank(bytes[at]) || !isDump && Self.isSeparator(bytes[at]) {
      if Self.isBlank(bytes[at]) { gap += bytes[at] == 0x09 ? 2 : 1 }
      at += 1
    }
    guard at < bytes.count else { return nil }
    let start = at
    let isPrefixed = bytes[at...].starts(with: "0x".utf8) || bytes[at...].starts(with: "\\x".utf8)
    if isPrefixed { at += 2 }
    let digits = at
    while at < bytes.count, !Self.isBlank(bytes[at]), !Self.isSeparator(bytes[at]), bytes[at] != UInt8(ascii: "\\") {
      at += 1
    }
    if at == start { at += 1 }
    let text = String(decoding: bytes[digits..<max(digits, at)], as: UTF8.self)
    return Word(text: text, start: start, end: at, gap: gap, isPrefixed: isPrefixed)
  }

  static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0C }

  static func isSeparator(_ byte: UInt8) -> Bool {
    ",;:-{}[]()<>\"'".utf8.contains(byte)
  }

  fileprivate static func isDigit(_ byte: UInt8) -> Bool { Hex.digit(byte) != nil }
}
