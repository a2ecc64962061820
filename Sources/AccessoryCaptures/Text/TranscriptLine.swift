import AccessoryCore

/// One parsed line of a transcript: `0.000213 D DATA seq=1 ack=0 session=1 AA00 …`.
struct TranscriptLine {
  /// The time as written, in seconds.
  let time: String
  /// The side that sent the packet, or the side that the line describes.
  let end: Cable.End
  /// The packet's contents, as text.
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
    /// The text, without the line feed.
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
