/// Builds whole packets at the end of a byte array. The link builds through this; so do faults and tests that need a
/// packet of their own.
public enum PacketWriter {
  /// The six bytes by which both ends find out that the other speaks iAP2; a well-formed frame of iAP1.
  public static let detection: [UInt8] = [0xFF, 0x55, 0x02, 0x00, 0xEE, 0x10]

  /// Appends a packet: header, payload and, with a payload, its checksum.
  public static func append(
    _ header: PacketHeader, payload: RawSpan, to bytes: inout [UInt8]
  ) {
    precondition(header.payloadCount == payload.byteCount, "the header must be made for this payload")
    let start = bytes.count
    bytes.reserveCapacity(start + Int(header.length))
    appendSpace(PacketHeader.size, to: &bytes)
    bytes.withUnsafeMutableBytes { header.write(to: .init(rebasing: $0[start...])) }
    guard payload.byteCount > 0 else { return }
    payload.withUnsafeBytes { bytes.append(contentsOf: $0) }
    bytes.append(Checksum.of(payload))
  }

  /// A packet on its own.
  public static func packet(_ header: PacketHeader, payload: [UInt8] = []) -> [UInt8] {
    var bytes: [UInt8] = []
    append(header, payload: payload.span.bytes, to: &bytes)
    return bytes
  }

  static func appendSpace(_ count: Int, to bytes: inout [UInt8]) {
    for _ in 0..<count { bytes.append(0) }
  }
}
