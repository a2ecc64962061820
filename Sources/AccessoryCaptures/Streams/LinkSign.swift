import IAP2

/// Looks for the first sign of iAP2 in one direction of a connection: the detection sequence or the header of a packet, at
/// the beginning of a transfer.
struct LinkSign {
  /// The last bytes, in which a sign may have begun.
  private var tail: [UInt8] = []
  private(set) var transfers = 0
  private(set) var bytes = 0

  /// Continues with a transfer; returns the bytes from the sign on, once it is there.
  mutating func find(in transfer: ArraySlice<UInt8>) -> [UInt8]? {
    transfers += 1
    bytes += transfer.count
    let held = tail + transfer.prefix(PacketHeader.size)
    for place in 0...tail.count where Self.isSign(held[place...]) {
      return Array(held[place..<tail.count]) + transfer
    }
    tail = transfer.count < PacketHeader.size ? Array(held.suffix(PacketHeader.size - 1)) : []
    return nil
  }

  private static func isSign(_ bytes: ArraySlice<UInt8>) -> Bool {
    if bytes.starts(with: PacketWriter.detection) { return true }
    guard bytes.count >= PacketHeader.size, bytes.starts(with: [0xFF, 0x5A]) else { return false }
    let header = bytes.prefix(PacketHeader.size)
    return header.u16(at: 2, .big) >= PacketHeader.size && header.reduce(0, &+) == 0
      && header[header.startIndex + 4] & 0x07 == 0
  }
}
