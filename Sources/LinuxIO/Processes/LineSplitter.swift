import AccessoryCore
import AccessoryFormats

/// Splits a program's output into lines that are safe to show.
///
/// A line ends with a line feed; a carriage return before the line feed is dropped. Lines longer than `longestLine`
/// bytes are split. Invalid UTF-8 is replaced and control characters are escaped, so that the program cannot control a
/// terminal that shows the timeline.
package struct LineSplitter {
  private let longestLine: Int
  private var rest: [UInt8] = []

  /// Creates an empty splitter.
  package init(longestLine: Int = 4_096) { self.longestLine = longestLine }

  /// Adds bytes, and calls `emit` with every line that they complete.
  package mutating func take(_ bytes: RawSpan, _ emit: (String) -> Void) {
    for offset in 0..<bytes.byteCount {
      let byte = bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
      if byte != UInt8(ascii: "\n") { rest.append(byte) }
      if byte == UInt8(ascii: "\n") || rest.count == longestLine { finish(emit) }
    }
  }

  /// Ends the output, and calls `emit` with the last line if it has no line feed.
  package mutating func end(_ emit: (String) -> Void) {
    if !rest.isEmpty { finish(emit) }
  }

  private mutating func finish(_ emit: (String) -> Void) {
    if rest.last == UInt8(ascii: "\r") { rest.removeLast() }
    let line = String(decoding: rest, as: UTF8.self).spelledOut(keeping: ["\t"])
    rest.removeAll(keepingCapacity: true)
    emit(line)
  }
}
