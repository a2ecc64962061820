/// Cuts a text that comes in parts into lines, however it is split.
///
/// A line that is too long to be held is given in several parts, cut where hex digits may be cut: between words, or after
/// whole bytes of a word.
struct LineCutter {
  /// A line, or a part of one.
  struct Line {
    /// Without its line feed.
    var bytes: ArraySlice<UInt8>
    /// Which line of the text, from 1.
    var number: Int
    /// Where in the line it begins; more than 0 for the second part of a long line and those after it.
    var offset: Int
  }

  /// The longest part of a line.
  static let longest = 1 << 16

  private var rest: [UInt8] = []
  private var number = 1
  private var offset = 0

  /// Continues with `bytes`, and passes on every line that is complete now.
  mutating func take<Failure>(_ bytes: [UInt8], _ give: (Line) throws(Failure) -> Void) throws(Failure) {
    var position = 0
    while position < bytes.count {
      // At most one part at a time, so that memory is bounded.
      let limit = min(bytes.count, position + Self.longest)
      let end = bytes[position..<limit].firstIndex(of: UInt8(ascii: "\n"))
      rest += bytes[position..<(end ?? limit)]
      position = end.map { $0 + 1 } ?? limit
      while rest.count > Self.longest { try giveFirst(Self.cut(rest), give) }
      guard end != nil else { continue }
      try giveFirst(rest.count, give)
      number += 1
      offset = 0
    }
  }

  /// The end of the text: gives its last line.
  mutating func finish<Failure>(_ give: (Line) throws(Failure) -> Void) throws(Failure) {
    try giveFirst(rest.count, give)
  }

  private mutating func giveFirst<Failure>(_ count: Int, _ give: (Line) throws(Failure) -> Void) throws(Failure) {
    try give(Line(bytes: rest[..<count], number: number, offset: offset))
    rest.removeFirst(count)
    offset += count
  }

  /// Where a long line may be cut.
  private static func cut(_ bytes: [UInt8]) -> Int {
    let word = bytes[..<longest].lastIndex { HexLineScanner.isBlank($0) || HexLineScanner.isSeparator($0) }
    guard let word else { return longest }
    // A word that fills half of it is cut after a whole byte.
    return word >= longest / 2 ? word + 1 : word + 1 + (longest - word - 1) / 2 * 2
  }
}
