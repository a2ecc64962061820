import AccessoryCore

/// Reads other programs' logs line by line. A log may be any text that contains bytes in hex, the log of iOS's
/// `accessoryd`, the text of `btmon`, or a CSV file of UART data from Saleae Logic or PulseView (sigrok).
///
/// The reader uses the lines that it recognizes and counts the others. Unknown lines are not errors, because most of
/// these formats are not fully documented and users often paste only part of a log.
struct LogReader {
  struct Run: Equatable {
    /// The direction: The direction ("RX" or "TX") or the logic analyzer channel, or an empty string if neither is
    /// known.
    var name: String
    var bytes: [UInt8]
    var line: Int
    /// The time since the first time in the log.
    var time: Duration
  }

  /// The maximum number of ranges of skipped lines to keep.
  private static let mostRanges = 20

  private(set) var skipped: [ClosedRange<Int>] = []
  private(set) var skippedCount = 0
  private var table: UARTTable?
  private var isBtmon = false
  /// The most recent direction, which also applies to the lines that follow if they contain only bytes.
  private var direction = ""
  /// How many bytes remain in the current RFCOMM frame of btmon's text, or nil outside a frame.
  private var frameRest: Int?
  private var first: Duration?
  private var now = Duration.zero

  /// Returns true if a line cannot be part of a hex dump, which shows that the text is a log.
  static func recognizes(_ line: ArraySlice<UInt8>) -> Bool {
    if UARTTable(header: line) != nil { return true }
    let text = String(decoding: line, as: UTF8.self)
    if text.contains("ACL Data RX:") || text.contains("ACL Data TX:") { return true }
    let found = LogLine(line)
    if found.direction != nil || found.decoder != nil { return !found.bytes.isEmpty }
    return found.time != nil && found.bytes.count >= 4
  }

  mutating func read(_ line: LineCutter.Line) -> Run? {
    let text = String(decoding: line.bytes, as: UTF8.self)
    guard text.contains(where: { !$0.isWhitespace }) else { return nil }
    if let header = UARTTable(header: line.bytes) {
      table = header
      return nil
    }
    if let table {
      guard let row = table.row(text) else { return skip(line) }
      note(row.time)
      return Run(name: row.name, bytes: [row.byte], line: line.number, time: now)
    }
    let found = LogLine(line.bytes)
    if text.contains("ACL Data RX:") || text.contains("ACL Data TX:") {
      (isBtmon, frameRest) = (true, nil)
      direction = found.direction ?? ""
      note(found.time ?? Self.lastTime(text))
      return nil
    }
    if isBtmon { return readBtmon(text, found, line) }
    // Times in other text are ignored because a version number can look like a time ("monitor ver 5.66").
    if found.direction != nil || !found.bytes.isEmpty { note(found.time) }
    if let own = found.direction { direction = own }
    guard !found.bytes.isEmpty, found.direction != nil || found.isBare || found.time != nil || found.decoder != nil
    else {
      return skip(line)
    }
    // A line that consists only of bytes continues the previous line.
    let name = found.direction ?? found.decoder ?? (found.isBare ? direction : "")
    return Run(name: name, bytes: found.bytes, line: line.number, time: now)
  }

  /// Reads btmon's text: the lines `RFCOMM: Unnumbered Info …` and `Length: N` are followed by a hex dump of N bytes.
  private mutating func readBtmon(_ text: String, _ found: LogLine, _ line: LineCutter.Line) -> Run? {
    let plain = text.drop(while: \.isWhitespace)
    if plain.hasPrefix("RFCOMM:") {
      frameRest = plain.contains("UIH") ? .max : nil
      return nil
    }
    guard let rest = frameRest else { return skip(line) }
    if plain.hasPrefix("Length:"), let count = Int(plain.dropFirst(7).drop(while: \.isWhitespace)) {
      frameRest = count
      return nil
    }
    guard found.isBare else {
      // In btmon's text, lines with the address, control field, credits or checksum precede the frame's bytes.
      if !plain.contains(": ") { frameRest = nil }
      return nil
    }
    let bytes = Array(found.bytes.prefix(rest))
    frameRest = rest == .max ? rest : rest - bytes.count
    return bytes.isEmpty ? nil : Run(name: direction, bytes: bytes, line: line.number, time: now)
  }

  private mutating func skip(_ line: LineCutter.Line) -> Run? {
    skippedCount += 1
    if let last = skipped.last, last.upperBound + 1 == line.number {
      skipped[skipped.count - 1] = last.lowerBound...line.number
    } else if skipped.count < Self.mostRanges {
      skipped.append(line.number...line.number)
    }
    return nil
  }

  private mutating func note(_ time: Duration?) {
    guard let time else { return }
    first = first ?? time
    now = max(.zero, time - (first ?? time))
  }

  /// Reads the time at the end of a line of btmon's text.
  private static func lastTime(_ text: String) -> Duration? {
    text.split(separator: " ").last.flatMap(LogLine.time)
  }
}

/// A CSV file in which each row contains one byte of UART data. The supported header lines are those written by Saleae
/// Logic (`name,type,start_time,duration,data`, and `Time [s],Value,Parity Error,Framing Error` in version 1) and by
/// PulseView (`Sample,Time,Decoder,Ann Row,Ann Class,Value`, and `Sample,UART: TX data` with a column for each line).
struct UARTTable {
  /// The columns that contain bytes. If a column's title is just "data" or "value", which does not identify the line,
  /// the title is replaced with an empty string.
  private let values: [(column: Int, title: String)]
  private var time: Int?
  private var name: Int?
  private var kind: Int?

  init?(header line: some Sequence<UInt8>) {
    let columns = Self.columns(String(decoding: Array(line), as: UTF8.self)).map { $0.lowercased() }
    let value = columns.lastIndex { ["data", "value"].contains($0) }
    let titled = columns.indices.filter { columns[$0].hasSuffix(" data") }.map { ($0, columns[$0]) }
    values = value.map { [($0, "")] } ?? titled
    time = ["start_time", "time [s]", "time", "sample"].lazy.compactMap(columns.firstIndex(of:)).first
    guard columns.count >= 2, !values.isEmpty, time != nil else { return nil }
    name = columns.firstIndex { ["name", "analyzer name", "ann row", "channel"].contains($0) }
    kind = columns.firstIndex { ["type", "ann class"].contains($0) }
  }

  func row(_ text: String) -> (name: String, byte: UInt8, time: Duration?)? {
    let columns = Self.columns(text)
    let filled = values.first { $0.column < columns.count && !columns[$0.column].isEmpty }
    guard let (value, title) = filled, let byte = Self.byte(columns[value]) else { return nil }
    // Rows for start, stop and parity bits are skipped.
    if let kind, kind < columns.count, !columns[kind].lowercased().contains("data") { return nil }
    let place = name.flatMap { $0 < columns.count ? columns[$0] : nil } ?? title
    let found = LogLine("\(place) : 00".utf8).direction ?? place
    return (found, byte, time.flatMap { $0 < columns.count ? LogLine.time(columns[$0][...]) : nil })
  }

  private static func columns(_ line: String) -> [String] {
    var columns = [""]
    var isQuoted = false
    for character in line where character != "\r" {
      if character == "\"" {
        isQuoted.toggle()
      } else if !isQuoted, character == "," || character == ";" {
        columns.append("")
      } else {
        columns[columns.count - 1].append(character)
      }
    }
    return columns.map { $0.trimmed(\.isWhitespace) }
  }

  /// Reads a byte written as `0xFF`, `FF`, `255` (three digits) or Saleae's `ÿ (0xFF)`.
  private static func byte(_ text: String) -> UInt8? {
    if let start = text.firstRange(of: "0x") {
      return UInt8(text[start.upperBound...].prefix { $0.isHexDigit }, radix: 16)
    }
    return text.utf8.count == 2 ? UInt8(text, radix: 16) : UInt8(text)
  }
}

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

  static let received: Set<String> = ["rx", "in", "recv", "received", "receive", "read", "incoming", "rcvd"]
  static let sent: Set<String> = ["tx", "out", "send", "sent", "write", "wrote", "outgoing", "transmit"]
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

/// One parsed line of a transcript: `0.000213 D DATA seq=1 ack=0 session=1 AA00 …`.
struct TranscriptLine {
  /// The time as written, in seconds.
  let time: String
  /// The side that sent the packet, or the side that the line describes.
  let end: Cable.End
  let text: String

  /// Parses a line. Returns nil if the line is not from a transcript, for example because other text precedes the time.
  init?(_ line: some Sequence<UInt8>) {
    var text = String(decoding: Array(line), as: UTF8.self)
    while text.last?.isWhitespace == true { text.removeLast() }
    let words = text.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: true)
    guard words.count == 3, Self.isTime(words[0]), let end = Cable.End(rawValue: String(words[1])) else {
      return nil
    }
    time = String(words[0])
    self.end = end
    self.text = String(words[2])
  }

  private static func isTime(_ word: Substring) -> Bool {
    let parts = word.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 2 && parts.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy { 0x30...0x39 ~= $0 } }
  }

  /// Returns the number that follows `name=` among the first words of a packet's line, or nil if there is none.
  func number(_ name: String) -> Int? {
    for word in text.split(separator: " ").prefix(5) where word.hasPrefix("\(name)=") {
      return Int(word.dropFirst(name.count + 1))
    }
    return nil
  }
}

/// Splits text into lines. The text may arrive in chunks that begin and end anywhere.
///
/// A line that is too long to buffer is delivered in parts. A line that is too long is split between words or, within a
/// long word of hex digits, between two bytes.
struct LineCutter {
  struct Line {
    var bytes: ArraySlice<UInt8>
    var number: Int
    /// The part's offset in the line, which is greater than 0 for all parts except the first.
    var offset: Int
  }

  static let longest = 1 << 16

  private var rest: [UInt8] = []
  private var number = 1
  private var offset = 0

  mutating func take<Failure>(_ bytes: [UInt8], _ emit: (Line) throws(Failure) -> Void) throws(Failure) {
    var position = 0
    while position < bytes.count {
      // At most one part is added at a time to limit memory use.
      let limit = min(bytes.count, position + Self.longest)
      let end = bytes[position..<limit].firstIndex(of: UInt8(ascii: "\n"))
      rest += bytes[position..<(end ?? limit)]
      position = end.map { $0 + 1 } ?? limit
      while rest.count > Self.longest { try emitFirst(Self.cut(rest), emit) }
      guard end != nil else { continue }
      try emitFirst(rest.count, emit)
      number += 1
      offset = 0
    }
  }

  mutating func finish<Failure>(_ emit: (Line) throws(Failure) -> Void) throws(Failure) {
    try emitFirst(rest.count, emit)
  }

  private mutating func emitFirst<Failure>(_ count: Int, _ emit: (Line) throws(Failure) -> Void) throws(Failure) {
    try emit(Line(bytes: rest[..<count], number: number, offset: offset))
    rest.removeFirst(count)
    offset += count
  }

  private static func cut(_ bytes: [UInt8]) -> Int {
    let word = bytes[..<longest].lastIndex { HexLineScanner.isBlank($0) || HexLineScanner.isSeparator($0) }
    guard let word else { return longest }
    // If a word fills the second half of a part, it is split, but never in the middle of a byte.
    return word >= longest / 2 ? word + 1 : word + 1 + (longest - word - 1) / 2 * 2
  }
}
