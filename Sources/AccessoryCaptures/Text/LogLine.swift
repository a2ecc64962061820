import AccessoryCore

/// A log line that contains bytes in hex: `12:00:01.250 accessoryd[77] Packet RX 6: FF 55 02 00 EE 10`.
///
/// - The bytes are the longest run of hex digits, which may be pairs separated by blanks, commas, colons or `0x`, or a
///   single unbroken string. A single byte is accepted only if it is at the end of the line and follows a colon, as in
///   `uart-1: FF`.
/// - The direction is a word before the bytes or, if there is none, after them: RX, in, received, recv, `<-`; TX, out,
///   sent, `->`.
/// - The time is the first word that is a clock time, seconds with a fraction, or a number of milliseconds.
struct LogLine: Equatable {
  /// "RX" or "TX", or nil if the line shows no direction.
  var direction: String?
  var time: Duration?
  var bytes: [UInt8]
  /// Whether the line consists only of bytes, possibly with an offset before them and a text column after them.
  var isBare: Bool
  /// The decoder's name in a sigrok-cli line, when it is the only thing before the byte: "uart-1" in `uart-1: FF`.
  var decoder: String?

  private static let received: Set<String> = ["rx", "in", "recv", "received", "receive", "read", "incoming", "rcvd"]
  private static let sent: Set<String> = ["tx", "out", "send", "sent", "write", "wrote", "outgoing", "transmit"]
  private static let arrows = ["<-": "RX", "<<": "RX", "<": "RX", "->": "TX", ">>": "TX", ">": "TX"]

  init(_ line: some Sequence<UInt8>) {
    let text = String(decoding: Array(line), as: UTF8.self)
    let words = text.split(whereSeparator: \.isWhitespace)
    var best = 0..<0
    var bytes: [UInt8] = []
    var index = 0
    while index < words.count {
      var run: [UInt8] = []
      let start = index
      while index < words.count, let more = Self.bytes(of: words[index], isAlone: words.count == 1 || start < index) {
        run += more
        index += 1
      }
      if run.count > bytes.count { (bytes, best) = (run, start..<index) }
      if index == start { index += 1 }
    }
    if bytes.count == 1 {
      let isLast = best.upperBound == words.count && best.lowerBound > 0
      if !isLast || words[best.lowerBound - 1].last != ":" { (bytes, best) = ([], 0..<0) }
    }
    self.bytes = bytes
    let around = bytes.isEmpty ? words[...] : words[..<best.lowerBound]
    direction = Self.direction(in: around) ?? Self.direction(in: words[best.upperBound...])
    time =
      zip(around, around.dropFirst() + [""]).lazy.compactMap { word, unit in
        Self.time(word) ?? Self.milliseconds(word, unit)
      }.first
    if words.count == 2, bytes.count == 1, words[0].hasPrefix("uart"), words[0].contains("-") {
      decoder = String(words[0].dropLast())
    }
    let isOffset = best.lowerBound == 1 && words[0].allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "x" }
    isBare = bytes.count > 0 && (best.lowerBound == 0 || isOffset)
  }

  // MARK: Words

  private static func direction(in words: ArraySlice<Substring>) -> String? {
    for word in words {
      // Finds the direction in words such as "rx-data", "UART_TX:" and "[RX]".
      for part in word.lowercased().split(whereSeparator: { !$0.isLetter }) {
        if received.contains(String(part)) { return "RX" }
        if sent.contains(String(part)) { return "TX" }
      }
    }
    return words.lazy.compactMap { arrows[String($0)] }.first
  }

  /// Converts a word to bytes. Returns nil if the word does not represent bytes. A long string of digits might be an
  /// ordinary number, so it is treated as bytes only if it starts like an iAP2 packet, follows other bytes, is alone on
  /// its line, or contains at least eight bytes and a letter.
  private static func bytes(of word: Substring, isAlone: Bool) -> [UInt8]? {
    var word = word.trimmed { ",;{}[]<>\"'".contains($0) }
    if word.hasPrefix("0x") || word.hasPrefix("0X") { word = String(word.dropFirst(2)) }
    for separator: Character in [":", "-", ","] where word.contains(separator) {
      let parts = word.split(separator: separator, omittingEmptySubsequences: false)
      // A word with six parts could be a MAC address, and a word with three parts could be a time.
      let isRun = parts.count > 6 || (parts.count > 1 && ["ff", "FF", "0xff", "0xFF"].contains(String(parts[0])))
      guard isRun else { return nil }
      var all: [UInt8] = []
      for part in parts {
        guard let more = pairs(part.hasPrefix("0x") ? String(part.dropFirst(2)) : String(part)), more.count == 1 else {
          return nil
        }
        all += more
      }
      return all
    }
    guard let found = pairs(word) else { return nil }
    if found.count == 1 || isAlone { return found }
    let isLink = found.starts(with: [0xFF, 0x5A]) || found.starts(with: [0xFF, 0x55])
    return isLink || (found.count >= 8 && word.contains(where: \.isLetter)) ? found : nil
  }

  private static func pairs(_ text: String) -> [UInt8]? {
    text.isEmpty ? nil : HexLineScanner.bytes(ofPairs: Array(text.utf8))
  }

  /// Reads times such as `12:00:01.250`, `2026-01-02T12:00:01,250Z`, `[12.345678]` and `12.5s`.
  static func time(_ word: Substring) -> Duration? {
    let text = word.trimmed { !$0.isNumber }
    let clock = (text.split(whereSeparator: { "T ".contains($0) }).last ?? "").prefix { $0 != "+" }
    let parts = clock.replacing(",", with: ".").split(separator: ":", omittingEmptySubsequences: false)
    if parts.count == 3, let hours = Int(parts[0]), let minutes = Int(parts[1]), let seconds = seconds(parts[2]),
      0...23 ~= hours, 0...59 ~= minutes, seconds < .seconds(61)
    {
      return .seconds(hours * 3_600 + minutes * 60) + seconds
    }
    guard parts.count == 1, text.contains(".") else { return nil }
    return seconds(parts[0])
  }

  /// Reads times such as `250ms` and `250 ms`.
  private static func milliseconds(_ word: Substring, _ unit: Substring) -> Duration? {
    let text = word.trimmed { "[]()".contains($0) }
    let digits = text.hasSuffix("ms") ? text.dropLast(2) : unit.hasPrefix("ms") ? text[...] : ""
    guard let count = Int(digits), 0..<(1 << 42) ~= count else { return nil }
    return .milliseconds(count)
  }

  /// Reads a number of seconds, with or without a fraction, to nanosecond precision.
  private static func seconds(_ text: some StringProtocol) -> Duration? {
    let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard let whole = Int(parts[0]), 0..<(1 << 32) ~= whole, parts[0].allSatisfy(\.isNumber) else { return nil }
    guard parts.count == 2 else { return .seconds(whole) }
    let digits = parts[1].prefix { $0.isASCII && $0.isNumber }.prefix(9)
    guard let fraction = Int(digits + String(repeating: "0", count: 9 - digits.count)) else { return nil }
    return .seconds(whole) + .nanoseconds(fraction)
  }
}

extension StringProtocol {
  fileprivate func trimmed(_ fits: (Character) -> Bool) -> String {
    var rest = self[...]
    while let first = rest.first, fits(first) { rest = rest.dropFirst() }
    while let last = rest.last, fits(last) { rest = rest.dropLast() }
    return String(rest)
  }
}
