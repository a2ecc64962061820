import Glibc

/// Memory for generating stream segments to send or compare.
///
/// The buffer keeps the last segment, so that an immediate echo can be compared with the sent bytes without generating
/// them again.
public struct UniqueBuffer {
  /// The maximum size of a segment that one call can provide.
  public static let longest = 65_536

  private var blocks: [SIMD2<UInt64>] = []
  private var stream: UniqueStream?
  /// The range of the stream that `blocks` contains, from one block boundary to another.
  private var covered = 0..<0

  /// Creates an empty buffer.
  public init() {}

  /// Passes the stream's bytes in `range` to `body`, up to ``longest`` bytes.
  public mutating func show<Result>(
    _ stream: UniqueStream, _ range: Range<Int>, _ body: (RawSpan) -> Result
  ) -> Result {
    let range = range.prefix(Self.longest)
    if !covers(stream, range) { make(stream, range) }
    let start = range.lowerBound - covered.lowerBound
    return body(blocks.span.bytes.extracting(start..<start + range.count))
  }

  /// Returns true if this buffer contains the stream's bytes in `range`.
  public func covers(_ stream: UniqueStream, _ range: Range<Int>) -> Bool {
    covered.lowerBound <= range.lowerBound && range.upperBound <= covered.upperBound && self.stream == stream
  }

  /// Returns how many leading bytes match the stream's bytes that start at `offset`.
  public mutating func match(_ bytes: RawSpan, _ stream: UniqueStream, from offset: Int) -> Int {
    var matched = 0
    while matched < bytes.byteCount {
      let same = show(stream, offset + matched..<offset + bytes.byteCount) { wanted in
        bytes.extracting(matched..<matched + wanted.byteCount).countOfSameBytes(as: wanted)
      }
      matched += same
      if same < min(Self.longest, bytes.byteCount - matched + same) { break }
    }
    return matched
  }

  private mutating func make(_ stream: UniqueStream, _ range: Range<Int>) {
    let first = range.lowerBound / UniqueStream.blockSize
    let end = (range.upperBound + UniqueStream.blockSize - 1) / UniqueStream.blockSize
    let count = end - first
    if blocks.count < count { blocks = [SIMD2<UInt64>](repeating: .zero, count: count) }
    blocks.withUnsafeMutableBufferPointer { buffer in
      stream.fill(UnsafeMutableBufferPointer(rebasing: buffer[..<count]), from: first)
    }
    self.stream = stream
    covered = first * UniqueStream.blockSize..<end * UniqueStream.blockSize
  }
}

extension RawSpan {
  /// Returns how many leading bytes are equal in two spans of the same length.
  public func countOfSameBytes(as other: RawSpan) -> Int {
    precondition(byteCount == other.byteCount, "spans of different lengths cannot be compared")
    let isSame = withUnsafeBytes { left in
      other.withUnsafeBytes { right in
        guard let left = left.baseAddress, let right = right.baseAddress else { return true }
        return memcmp(left, right, byteCount) == 0
      }
    }
    if isSame { return byteCount }
    return (0..<byteCount).first {
      unsafeLoad(fromByteOffset: $0, as: UInt8.self) != other.unsafeLoad(fromByteOffset: $0, as: UInt8.self)
    } ?? byteCount
  }
}
