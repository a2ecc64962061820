/// Bytes that were part of no packet, gathered until they can be reported.
public struct SkippedBytes: Equatable, Sendable {
  /// How many bytes.
  public private(set) var count = 0
  /// The first of them, at most sixteen, zeros in front left out.
  public private(set) var sample: [UInt8] = []

  static let sampleSize = 16
  /// Endless garbage is reported in steps of this many bytes, not held back for ever.
  static let reportSize = 4096

  /// Whether enough has gathered to be reported without waiting for the next packet.
  var isDue: Bool { count >= Self.reportSize }

  mutating func add(_ bytes: UnsafeRawBufferPointer) {
    var bytes = bytes[...]
    if sample.isEmpty { bytes = bytes.drop { $0 == 0 } }
    count += bytes.count
    if sample.count < Self.sampleSize { sample.append(contentsOf: bytes.prefix(Self.sampleSize - sample.count)) }
  }

  /// What gathered, and starts anew; nil when there was nothing but padding.
  mutating func take() -> SkippedBytes? {
    if count == 0 { return nil }
    let taken = self
    self = SkippedBytes()
    return taken
  }
}

extension SkippedBytes: CustomStringConvertible {
  /// "3 bytes that belong to no packet: 01 02 03".
  public var description: String {
    let shown = Hex.spaced(sample) + (count > sample.count ? " …" : "")
    return "\(count) \(count == 1 ? "byte that belongs" : "bytes that belong") to no packet: \(shown)"
  }
}
