import AccessoryCore

/// Cuts what a program writes to its standard error into lines that are fit to be shown.
///
/// A line ends with a line feed; a carriage return before it is dropped. A line over ``longestLine`` bytes is cut into
/// several. What is not UTF-8 is replaced, and control characters are spelled out: a program must not steer the terminal
/// of whoever reads the timeline.
struct LineSplitter {
  static let longestLine = 4_096

  private var rest: [UInt8] = []

  /// Takes bytes and calls `tell` with every line that ends in them.
  mutating func take(_ bytes: RawSpan, _ tell: (String) -> Void) {
    for offset in 0..<bytes.byteCount {
      let byte = bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
      if byte != UInt8(ascii: "\n") { rest.append(byte) }
      if byte == UInt8(ascii: "\n") || rest.count == Self.longestLine { finish(tell) }
    }
  }

  /// The end: tells a last line without a line feed, if there is one.
  mutating func end(_ tell: (String) -> Void) {
    if !rest.isEmpty { finish(tell) }
  }

  private mutating func finish(_ tell: (String) -> Void) {
    if rest.last == UInt8(ascii: "\r") { rest.removeLast() }
    let line = String(decoding: rest, as: UTF8.self).spelledOut(keeping: ["\t"])
    rest.removeAll(keepingCapacity: true)
    tell(line)
  }
}
