import AccessoryFormats
import IAP2

/// A log that contains bytes in hex, or a hex dump. Bytes in a log are redacted like those in a capture. All other text
/// is replaced, except numbers and the words that a decoder needs.
///
/// The decoder's readers find the bytes of each line. If the digits of these bytes are not in the line in the same order,
/// or if other text that the decoder needs is replaced, the file is refused.
struct LogDocument: RedactedDocument {
  private var bytes: [UInt8]
  private var streams: [String: WireStream] = [:]
  private var lines: [Line] = []

  private struct Line {
    let stream: String
    let range: Range<Int>
    /// The position of the first digit of each byte.
    let digits: [Int]
    let rest: Range<Int>
  }

  /// The words to keep, because the decoder or a reader of the log needs them.
  private static let kept: Set<String> = [
    "a", "d", "acl", "data", "rfcomm", "uih", "unnumbered", "info", "length", "packet", "packets", "bytes", "byte",
    "uart",
    "accessoryd", "hci", "handle", "dlen", "flags", "frame", "channel", "len", "ms", "s", "us", "iap", "iap2", "link",
  ]

  init(_ bytes: [UInt8], as form: CaptureForm) {
    self.bytes = bytes
    var (log, dump) = (LogReader(), HexDumpReader())
    var texts: [Range<Int>] = []
    var (start, number) = (0, 1)
    while start < bytes.count {
      let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
      let line = LineCutter.Line(bytes: bytes[start..<end], number: number, offset: 0)
      var found: (stream: String, bytes: [UInt8])?
      if form == .log {
        found = log.read(line).map { ($0.name, $0.bytes) }
      } else if (try? dump.read(line)) != nil {
        let run = dump.takeRuns().last { $0.run.line == number && $0.times == 1 }?.run
        found = run.map { ("\($0.stream)", $0.bytes) }
      }
      if let found, !found.bytes.isEmpty, let digits = Self.digits(of: found.bytes, in: bytes[start..<end]) {
        let range = streams[found.stream, default: WireStream()].append(found.bytes)
        let isPrefixed = Self.prefixes.contains { bytes[start..<digits[0]].suffix(2).elementsEqual($0) }
        let last = digits[digits.count - 1] + 2
        lines.append(Line(stream: found.stream, range: range, digits: digits, rest: last..<end))
        texts.append(start..<digits[0] - (isPrefixed ? 2 : 0))
      } else {
        texts.append(start..<end)
      }
      (start, number) = (end + 1, number + 1)
    }
    self.texts = texts
  }

  /// Returns the position of the first digit of each byte, or nil if the line does not show the bytes in this order. If
  /// the digits occur more than once, the last occurrence counts, because an offset or a time may precede the bytes.
  private static func digits(of found: [UInt8], in line: ArraySlice<UInt8>) -> [Int]? {
    for start in line.indices.reversed() where Hex.digit(line[start]) == found[0] >> 4 {
      var (places, place): ([Int], Int) = ([], start)
      for byte in found {
        while !places.isEmpty, place < line.endIndex, between.contains(line[place]) { place += 1 }
        if !places.isEmpty, prefixes.contains(where: line[place...].starts(with:)) { place += 2 }
        guard place + 1 < line.endIndex, Hex.digit(line[place]) == byte >> 4, Hex.digit(line[place + 1]) == byte & 15
        else { break }
        places.append(place)
        place += 2
      }
      if places.count == found.count { return places }
    }
    return nil
  }

  private static let prefixes = ["0x", "\\x"].map { Array($0.utf8) }
  private static let between = Array(" \t,;:-{}[]<>\"'".utf8)

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

  /// Returns the text with every word replaced, except for numbers and words in `kept`.
  private static func plain(_ text: [UInt8]) -> [UInt8] {
    var text = text
    var start = 0
    while start < text.count {
      guard SecretNames.isWord(text[start]) else {
        start += 1
        continue
      }
      let end = text[start...].firstIndex { !SecretNames.isWord($0) } ?? text.count
      let word = String(decoding: text[start..<end], as: UTF8.self).lowercased()
      let isNumber = text[start..<end].allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
      let isOffset = start == 0 && 4...8 ~= end && text[..<end].allSatisfy { Hex.digit($0) != nil }
      let isDirection = LogLine.received.contains(word) || LogLine.sent.contains(word)
      if !isNumber, !isOffset, !isDirection, !kept.contains(word) {
        for place in start..<end { text[place] = UInt8(ascii: "x") }
      }
      start = end
    }
    return text
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
