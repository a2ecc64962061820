import AccessoryCore
import AccessoryFormats

/// Splits a program's output into lines that can be shown.
///
/// A line ends with a line feed; a carriage return before it is dropped. A line over `longestLine` bytes is split.
/// Invalid UTF-8 is replaced and control characters are escaped, so that a program cannot control a terminal that shows
/// the timeline.
package struct LineSplitter {
  private let longestLine: Int
  private var rest: [UInt8] = []

  /// Creates a splitter without bytes.
  package init(longestLine: Int = 4_096) { self.longestLine = longestLine }

  /// Takes bytes and calls `emit` with every complete line.
  package mutating func take(_ bytes: RawSpan, _ emit: (String) -> Void) {
    for offset in 0..<bytes.byteCount {
      let byte = bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
      if byte != UInt8(ascii: "\n") { rest.append(byte) }
      if byte == UInt8(ascii: "\n") || rest.count == longestLine { finish(emit) }
    }
  }

  /// Call this when the output has ended: calls `emit` with the last line if that line does not end with a line feed.
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
