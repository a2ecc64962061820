/// Bytes outside packets, collected until they can be reported.
public struct SkippedBytes: Equatable, Sendable, CustomStringConvertible {
  /// The number of skipped bytes.
  public private(set) var count = 0
  /// The first skipped bytes, up to sixteen, not counting leading zeros.
  public private(set) var sample: [UInt8] = []

  /// The number of leading zero bytes dropped since the scanner was created. In reports, the number is 0.
  private(set) var padding = 0

  static let sampleSize = 16
  /// Endless garbage is reported in chunks of this many bytes, so that it does not accumulate.
  static let reportSize = 4096

  var isDue: Bool { count >= Self.reportSize }

  init() {}

  /// Collects all of `bytes` except leading zeros.
  init(_ bytes: some Sequence<UInt8>) {
    _ = Array(bytes).withUnsafeBytes { add($0, isEnd: true) }
    padding = 0
  }

  mutating func join(_ next: SkippedBytes) {
    sample.append(contentsOf: next.sample.prefix(Self.sampleSize - sample.count))
    count += next.count
  }

  /// Takes bytes until a report is complete or the input ends. Returns how many bytes were taken, including leading
  /// padding. Reports therefore depend only on the bytes, not on how they were split.
  mutating func add(_ bytes: UnsafeRawBufferPointer, isEnd: Bool = false) -> Int {
    var start = 0
    if sample.isEmpty {
      while start < bytes.count, bytes[start] == 0 { start += 1 }
      padding += start
    }
    let taken = isEnd ? bytes.count - start : min(bytes.count - start, Self.reportSize - count)
    if sample.count < Self.sampleSize {
      sample.append(contentsOf: bytes[start..<start + min(taken, Self.sampleSize - sample.count)])
    }
    count += taken
    return start + taken
  }

  /// Takes bytes that cannot start a piece, until the next report is due.
  mutating func addUpToMark(_ bytes: UnsafeRawBufferPointer) -> Int {
    var offset = 0
    while offset < bytes.count, bytes[offset] != 0xFF, !isDue {
      let limit = min(bytes.count, offset + Self.reportSize)
      var end = offset + 1
      while end < limit, bytes[end] != 0xFF { end += 1 }
      offset += add(.init(rebasing: bytes[offset..<end]))
    }
    return offset
  }

  /// Returns the collected bytes, or nil if there was only padding, and starts a new collection.
  mutating func take() -> SkippedBytes? {
    if count == 0 { return nil }
    var taken = self
    self = SkippedBytes()
    swap(&padding, &taken.padding)
    return taken
  }

  /// Text such as "3 bytes that belong to no packet: 01 02 03".
  public var description: String {
    let shown = Hex.spaced(sample) + (count > sample.count ? " …" : "")
    return "\(count) \(count == 1 ? "byte that belongs" : "bytes that belong") to no packet: \(shown)"
  }
}
