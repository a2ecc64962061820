/// A frame of RFCOMM (a subset of 3GPP 07.10).
///
/// ```
///  0  1    address: 1, command/response, six bits of channel (direction, number)
///  1  1    control: SABM 2F, UA 63, DM 0F, DISC 43, UIH EF; bit 4 is poll/final
///  2  1-2  length of the information, shifted by one
///     0-1  credits, in a UIH frame with poll/final
///     n    information
///     1    checksum of the first two bytes, or of the first three where it is not UIH
/// ```
struct RFCOMMFrame {
  enum Kind: UInt8 {
    case connect = 0x2F
    case accept = 0x63
    case refuse = 0x0F
    case disconnect = 0x43
    case information = 0xEF
  }

  var kind: Kind
  /// The data link: six bits, the server channel shifted by one and a bit for the direction.
  var link: Int
  var information: ArraySlice<UInt8>
  var isIntact: Bool

  /// Nil when the bytes have not the form of a frame.
  init?(_ bytes: ArraySlice<UInt8>) {
    guard bytes.count >= 4 else { return nil }
    let first = bytes.startIndex
    let address = bytes[first]
    guard address & 1 == 1, let kind = Kind(rawValue: bytes[first + 1] & ~0x10) else { return nil }
    var header = 3
    var length = Int(bytes[first + 2] >> 1)
    if bytes[first + 2] & 1 == 0 {
      guard bytes.count >= 5 else { return nil }
      length |= Int(bytes[first + 3]) << 7
      header = 4
    }
    link = Int(address >> 2)
    // Channel 0 controls the others and has no credits.
    let hasCredits = kind == .information && bytes[first + 1] & 0x10 != 0 && link != 0
    if hasCredits { header += 1 }
    guard bytes.count == header + length + 1 else { return nil }
    self.kind = kind
    information = bytes[first + header..<first + header + length]
    let covered = bytes[first..<first + (kind == .information ? 2 : 3)]
    isIntact = Self.checksum(covered) == bytes[bytes.endIndex - 1]
  }

  /// The checksum of 07.10: x⁸+x²+x+1, reflected.
  static func checksum(_ bytes: some Sequence<UInt8>) -> UInt8 {
    var value: UInt8 = 0xFF
    for byte in bytes {
      value ^= byte
      for _ in 0..<8 { value = value & 1 == 1 ? value >> 1 ^ 0xE0 : value >> 1 }
    }
    return 0xFF - value
  }
}
