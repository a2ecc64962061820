import AccessoryCore
import AccessoryFormats
import AccessoryHost
import AccessorySessions
import IAP2

extension Console {
  func show(_ reply: [UInt8], at time: Instant) {
    guard isJSON else { return ReplyText.lines(reply).forEach { out($0) } }
    let shown = Array(reply.prefix(ReplyText.mostInJSON))
    let text = ReplyText.text(shown)
    out(
      event: "reply", at: time, side: .app,
      ["bytes": reply.count, "text": text, "hex": text == nil ? Hex.plain(shown) : nil])
  }
}

enum ReplyText {
  static let mostShown = 4_096
  static let mostInJSON = 1 << 20

  /// Formats printable bytes as text, and all others as hex and ASCII side by side.
  static func lines(_ bytes: [UInt8]) -> [String] {
    let shown = Array(bytes.prefix(mostShown))
    let rest = bytes.count - shown.count
    let more = rest > 0 ? ["… and \(rest.counted("more byte")); --raw prints all of them"] : []
    if let text = text(bytes.count > mostShown ? wholeCharacters(shown) : shown) {
      var lines = text.replacing("\r\n", with: "\n").split(separator: "\n", omittingEmptySubsequences: false)
      if lines.last?.isEmpty == true { lines.removeLast() }
      return lines.map { $0.replacing("\r", with: "\\r").printable } + more
    }
    return stride(from: 0, to: shown.count, by: 16).map { dumpLine(shown, at: $0) } + more
  }

  /// Decodes bytes as text, or returns nil if a terminal cannot show them as text.
  static func text(_ bytes: [UInt8]) -> String? {
    guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
    let isPlain = text.unicodeScalars.allSatisfy { scalar in
      scalar == "\n" || scalar == "\r" || scalar == "\t" || (scalar.value >= 32 && scalar.value != 127)
    }
    return isPlain ? text : nil
  }

  /// Removes an incomplete multi-byte character from the end of the bytes.
  private static func wholeCharacters(_ bytes: [UInt8]) -> [UInt8] {
    let start = bytes.lastIndex { $0 & 0xC0 != 0x80 } ?? bytes.endIndex
    return start < bytes.endIndex && bytes[start] >= 0xC0 ? Array(bytes[..<start]) : bytes
  }

  static func difference(_ expectation: ReplyRule.Expectation, _ reply: [UInt8]) -> [String] {
    switch expectation {
    case .anything: []
    case .bytes(let bytes): comparison(expected: bytes, received: reply)
    case .prefix(let bytes): comparison(expected: bytes, received: Array(reply.prefix(bytes.count)))
    case .pattern(let pattern): ["the reply does not match the regular expression \(Excerpt.of(pattern.text))"]
    }
  }

  /// Shows the expected bytes above the received bytes, starting one line before the first difference, and marks the
  /// difference.
  static func comparison(expected: [UInt8], received: [UInt8]) -> [String] {
    let common = zip(expected, received).prefix { $0 == $1 }.count
    let start = max(0, common / 16 - 1) * 16
    return ["the first difference is at byte \(common)"]
      + rows("expected", Array(expected.dropFirst(start)), Array(received.dropFirst(start)), from: start, at: common)
  }

  /// Compares bytes from a replay, which may start anywhere in a session.
  static func comparison(_ recorded: [UInt8], _ received: [UInt8], from first: Int, at offset: Int) -> [String] {
    recorded.isEmpty && received.isEmpty ? [] : rows("recorded", recorded, received, from: first, at: offset)
  }

  /// Shows bytes that begin at offset `first`, up to the line with the difference at `offset`, which is marked.
  private static func rows(
    _ title: String, _ wanted: [UInt8], _ received: [UInt8], from first: Int, at offset: Int
  ) -> [String] {
    let place = offset - first
    var lines: [String] = []
    for row in stride(from: 0, through: place / 16 * 16, by: 16) {
      for (title, bytes) in [(title, wanted), ("received", received)] {
        let line =
          row < bytes.count ? dumpLine(bytes, at: row, base: first) : "\(number(first + row))  (nothing more)"
        lines.append("\(title)  \(line)")
      }
    }
    let column = "received  ".count + number(first).count + 2 + place % 16 * 3
    return lines + [String(repeating: " ", count: column) + "^^"]
  }

  private static func dumpLine(_ bytes: [UInt8], at offset: Int, base: Int = 0) -> String {
    let part = bytes[offset...].prefix(16)
    let hex = Hex.spaced(part).padded(to: 16 * 3 - 1)
    let ascii = part.map { (32..<127).contains($0) ? Character(Unicode.Scalar($0)) : "." }
    return "\(number(base + offset))  \(hex)  \(String(ascii))"
  }

  private static func number(_ offset: Int) -> String { String(offset, radix: 16).zeroPadded(to: 4) }
}
