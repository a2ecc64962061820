import AccessoryFormats
import IAP2

/// A log that contains bytes in hex, or a hex dump. Bytes in a log are redacted like those in a capture. All other text
/// is replaced, except numbers and the words that a decoder needs.
///
/// The reader guesses which digits represent bytes. If a wrong guess changes the decoder's output or leaves a secret in
/// it, the file is refused.
struct LogDocument: RedactedDocument {
  let isCapture = true
  let namesSecrets = true
  private var bytes: [UInt8]
  private var streams: [String: WireStream] = [:]
  private var lines: [Line] = []

  private struct Line {
    let stream: String
    let range: Range<Int>
    /// The position of the first digit of each byte.
    let digits: [Int]
    /// The part of the line that follows the bytes.
    let rest: Range<Int>
  }

  private static let received: Set<String> = ["rx", "in", "recv", "received", "receive", "read", "incoming", "rcvd"]
  private static let sent: Set<String> = ["tx", "out", "send", "sent", "write", "wrote", "outgoing", "transmit"]
  /// The words to keep, because the decoder or a reader of the log needs them.
  private static let kept: Set<String> = [
    "a", "d", "acl", "data", "rfcomm", "uih", "unnumbered", "info", "length", "packet", "packets", "bytes", "byte",
    "uart",
    "accessoryd", "hci", "handle", "dlen", "flags", "frame", "channel", "len", "ms", "s", "us", "iap", "iap2", "link",
  ]

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    var start = 0
    var direction = ""
    /// Whether lines begin with an offset. If they do, a number that is alone on a line is the dump's final offset.
    var hasOffsets = false
    var texts: [Range<Int>] = []
    while start < bytes.count {
      let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
      let words = Self.words(in: bytes, start..<end)
      let run = Self.run(of: words, in: bytes, &hasOffsets)
      let before = words[..<run.words.lowerBound]
      if let own = Self.direction(before, bytes) ?? Self.direction(words[run.words.upperBound...], bytes) {
        direction = own
      }
      if run.digits.isEmpty {
        texts.append(start..<end)
      } else {
        let first = words[run.words.lowerBound].lowerBound
        let last = words[run.words.upperBound - 1].upperBound
        let found = run.digits.map { UInt8(String(decoding: bytes[$0..<$0 + 2], as: UTF8.self), radix: 16) ?? 0 }
        let range = streams[direction, default: WireStream()].append(found)
        lines.append(Line(stream: direction, range: range, digits: run.digits, rest: last..<end))
        texts.append(start..<first)
      }
      start = end + 1
    }
    self.texts = texts
  }

  /// The lines without bytes and, for all other lines, the text that precedes the bytes.
  private let texts: [Range<Int>]

  mutating func collect(into names: inout SecretNames, _: (Double) -> Void) {
    for key in streams.keys.sorted() { streams[key]?.collect(into: &names) }
    ShownMessages.collect(bytes, into: &names)
  }

  mutating func rewrite(_ names: inout SecretNames, _: (Double) -> Void) -> [UInt8] {
    for key in streams.keys.sorted() { streams[key]?.rewrite(&names) }
    for range in texts { bytes.replaceSubrange(range, with: Self.plain(Array(bytes[range]))) }
    for line in lines {
      guard let stream = streams[line.stream] else { continue }
      let new = Array(stream.bytes[line.range])
      let old = line.digits.map { Array(bytes[$0..<$0 + 2]) }
      for (index, place) in line.digits.enumerated() {
        let isUpper = old[index].contains { UInt8(ascii: "A")...UInt8(ascii: "F") ~= $0 }
        let text = Hex.number(UInt(new[index]), digits: 2, uppercase: isUpper)
        if Array(text.lowercased().utf8) != old[index].map({ $0 | 0x20 }) {
          bytes.replaceSubrange(place..<place + 2, with: Array(text.utf8))
        }
      }
      bytes.replaceSubrange(line.rest, with: Self.column(Array(bytes[line.rest]), of: new))
    }
    return bytes
  }

  // MARK: Words

  private static func words(in bytes: [UInt8], _ range: Range<Int>) -> [Range<Int>] {
    bytes[range].split { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }.map { $0.startIndex..<$0.endIndex }
  }

  private static func isHex(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
      UInt8(ascii: "A")...UInt8(ascii: "F"):
      true
    default: false
    }
  }

  /// Returns the position of the first digit of each byte in a word, or nil if the word does not consist of bytes.
  private static func digits(_ word: Range<Int>, in bytes: [UInt8]) -> [Int]? {
    let marks = Array(",;{}[]<>\"'".utf8)
    var range = word
    while let first = range.first, marks.contains(bytes[first]) { range = range.dropFirst() }
    while let last = range.last, marks.contains(bytes[last]) { range = range.dropLast() }
    if bytes[range].starts(with: "0x".utf8) || bytes[range].starts(with: "0X".utf8) { range = range.dropFirst(2) }
    let separators = range.filter { bytes[$0] == UInt8(ascii: ":") || bytes[$0] == UInt8(ascii: "-") }
    if separators.count > 5, separators.enumerated().allSatisfy({ $1 == range.lowerBound + 2 + 3 * $0 }) {
      let places = Array(stride(from: range.lowerBound, to: range.upperBound, by: 3))
      return places.allSatisfy { $0 + 1 < range.upperBound && isHex(bytes[$0]) && isHex(bytes[$0 + 1]) } ? places : nil
    }
    guard !range.isEmpty, range.count.isMultiple(of: 2), bytes[range].allSatisfy(isHex) else { return nil }
    return Array(stride(from: range.lowerBound, to: range.upperBound, by: 2))
  }

  /// Returns the longest run of words in which every word is a sequence of hex bytes. An offset that precedes the run
  /// is not part of it.
  private static func run(
    of words: [Range<Int>], in bytes: [UInt8], _ hasOffsets: inout Bool
  ) -> (words: Range<Int>, digits: [Int]) {
    var best: (words: Range<Int>, digits: [Int]) = (words.count..<words.count, [])
    var index = 0
    while index < words.count {
      let start = index
      var digits: [Int] = []
      while index < words.count, let more = Self.digits(words[index], in: bytes) {
        // Lines such as `0000 ff 5a` and `00000010 ff 5a` begin with an offset.
        let isOffset =
          index == 0 && more.count >= 2 && (words.count > 1 ? words[1].count == 2 : hasOffsets && more.count < 5)
        hasOffsets = hasOffsets || isOffset
        index += 1
        if isOffset { break }
        digits += more
      }
      if digits.count > best.digits.count { best = (start..<index, digits) }
      if index == start { index += 1 }
    }
    // A single number that follows other words is usually not a byte.
    if best.digits.count == 1, best.words.lowerBound > 0 {
      let before = bytes[words[best.words.lowerBound - 1]]
      let isOffset = best.words.lowerBound == 1 && before.allSatisfy { isHex($0) || $0 == UInt8(ascii: ":") }
      let isLast = best.words.upperBound == words.count && before.last == UInt8(ascii: ":")
      if !isOffset, !isLast { return (words.count..<words.count, []) }
    }
    return best
  }

  private static func direction(_ words: ArraySlice<Range<Int>>, _ bytes: [UInt8]) -> String? {
    let arrows = ["<-": "RX", "<<": "RX", "<": "RX", "->": "TX", ">>": "TX", ">": "TX", "A:": "A", "D:": "D"]
    for word in words {
      let text = String(decoding: bytes[word], as: UTF8.self)
      if let arrow = arrows[text] { return arrow }
      for part in text.lowercased().split(whereSeparator: { !$0.isLetter }) {
        if received.contains(String(part)) { return "RX" }
        if sent.contains(String(part)) { return "TX" }
      }
    }
    return nil
  }

  /// Returns the text with every word replaced, except for numbers and words in `kept`.
  private static func plain(_ text: [UInt8]) -> [UInt8] {
    var text = text
    var start = 0
    while start < text.count {
      guard isWord(text[start]) else {
        start += 1
        continue
      }
      let end = text[start...].firstIndex { !isWord($0) } ?? text.count
      let word = String(decoding: text[start..<end], as: UTF8.self).lowercased()
      let isNumber = text[start..<end].allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
      let isOffset = start == 0 && 4...8 ~= end && text[..<end].allSatisfy(isHex)
      if !isNumber, !isOffset, !received.contains(word), !sent.contains(word), !kept.contains(word) {
        for place in start..<end { text[place] = UInt8(ascii: "x") }
      }
      start = end
    }
    return text
  }

  private static func isWord(_ byte: UInt8) -> Bool {
    byte >= 0x80 || isHex(byte) || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
  }

  /// Redacts the text that follows the bytes. This text either shows the bytes as characters or contains unrelated
  /// words.
  private static func column(_ rest: [UInt8], of bytes: [UInt8]) -> [UInt8] {
    let shown = bytes.map { 0x20...0x7E ~= $0 ? $0 : UInt8(ascii: ".") }
    var frame = (rest.prefix { $0 == 0x20 }.count, 0)
    let isFramed = rest.dropFirst(frame.0).first == UInt8(ascii: "|")
    if isFramed { frame = (frame.0 + 1, 1) }
    let count = rest.count - frame.0 - frame.1
    guard frame.0 > 1, count > 0, count <= bytes.count else { return plain(rest) }
    // Trailing blanks may have been removed from the log.
    return Array(rest.prefix(frame.0)) + shown.prefix(count) + rest.suffix(frame.1)
  }
}
