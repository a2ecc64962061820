/// A named checksum, such as those that end frames in serial protocols.
///
/// CRCs have the names used in the "Catalogue of parametrised CRC algorithms", because "CRC-16" alone is ambiguous.
///
/// ```swift
/// FrameChecksum.named("CRC-16/MODBUS")?.value(of: Array("123456789".utf8))   // 0x4B37
/// ```
public struct FrameChecksum: Equatable, Sendable {
  private enum Algorithm: Equatable {
    case sum(isNegated: Bool)
    case xor
    case crc(polynomial: UInt32, start: UInt32, isReflected: Bool, final: UInt32)
  }

  /// The checksum's name.
  public let name: String
  /// The length in bytes: 1, 2 or 4.
  public let width: Int
  private let algorithm: Algorithm

  private init(_ name: String, _ width: Int, _ algorithm: Algorithm) {
    (self.name, self.width, self.algorithm) = (name, width, algorithm)
  }

  private init(
    crc name: String, _ width: Int, _ polynomial: UInt32, _ start: UInt32, isReflected: Bool = false,
    final: UInt32 = 0
  ) {
    self.init(
      "CRC-\(name)", width,
      .crc(polynomial: polynomial, start: start, isReflected: isReflected, final: final))
  }

  /// All checksums.
  public static let all: [FrameChecksum] = [
    FrameChecksum("sum-8", 1, .sum(isNegated: false)), FrameChecksum("sum-16", 2, .sum(isNegated: false)),
    FrameChecksum("negated-sum-8", 1, .sum(isNegated: true)), FrameChecksum("xor-8", 1, .xor),
    FrameChecksum(crc: "8/SMBUS", 1, 0x07, 0),
    FrameChecksum(crc: "16/ARC", 2, 0x8005, 0, isReflected: true),
    FrameChecksum(crc: "16/MODBUS", 2, 0x8005, 0xFFFF, isReflected: true),
    FrameChecksum(crc: "16/USB", 2, 0x8005, 0xFFFF, isReflected: true, final: 0xFFFF),
    FrameChecksum(crc: "16/MAXIM-DOW", 2, 0x8005, 0, isReflected: true, final: 0xFFFF),
    FrameChecksum(crc: "16/XMODEM", 2, 0x1021, 0),
    FrameChecksum(crc: "16/IBM-3740", 2, 0x1021, 0xFFFF),
    FrameChecksum(crc: "16/SPI-FUJITSU", 2, 0x1021, 0x1D0F),
    FrameChecksum(crc: "16/GENIBUS", 2, 0x1021, 0xFFFF, final: 0xFFFF),
    FrameChecksum(crc: "16/KERMIT", 2, 0x1021, 0, isReflected: true),
    FrameChecksum(crc: "16/IBM-SDLC", 2, 0x1021, 0xFFFF, isReflected: true, final: 0xFFFF),
    FrameChecksum(crc: "16/DNP", 2, 0x3D65, 0, isReflected: true, final: 0xFFFF),
    FrameChecksum(crc: "32", 4, 0x04C1_1DB7, .max, isReflected: true, final: .max),
    FrameChecksum(crc: "32/BZIP2", 4, 0x04C1_1DB7, .max, final: .max),
    FrameChecksum(crc: "32/MPEG-2", 4, 0x04C1_1DB7, .max),
    FrameChecksum(crc: "32/ISCSI", 4, 0x1EDC_6F41, .max, isReflected: true, final: .max),
  ]

  /// Returns the checksum with this name, or nil if there is none.
  public static func named(_ name: String) -> FrameChecksum? { all.first { $0.name == name } }

  /// Returns the checksum of these bytes.
  public func value(of bytes: some Sequence<UInt8>) -> UInt32 {
    switch algorithm {
    case .sum(let isNegated):
      let sum = bytes.reduce(UInt32(0)) { $0 &+ UInt32($1) }
      return (isNegated ? 0 &- sum : sum) & mask
    case .xor: return UInt32(bytes.reduce(UInt8(0), ^))
    case .crc(let polynomial, let start, true, let final):
      let polynomial = reflected(polynomial)
      let crc = bytes.reduce(reflected(start)) { crc, byte in
        (0..<8).reduce(crc ^ UInt32(byte)) { crc, _ in crc & 1 == 1 ? crc >> 1 ^ polynomial : crc >> 1 }
      }
      return crc ^ final
    case .crc(let polynomial, let start, false, let final):
      let top: UInt32 = 1 << (width * 8 - 1)
      let crc = bytes.reduce(start) { crc, byte in
        (0..<8).reduce(crc ^ UInt32(byte) << (width * 8 - 8)) { crc, _ in
          crc & top == 0 ? crc << 1 : crc << 1 ^ polynomial
        }
      }
      return (crc ^ final) & mask
    }
  }

  private var mask: UInt32 { UInt32.max >> (32 - width * 8) }

  private func reflected(_ value: UInt32) -> UInt32 {
    (0..<width * 8).reduce(UInt32(0)) { $0 << 1 | (value >> UInt32($1)) & 1 }
  }
}

extension Format<FrameChecksum> {
  /// The format of a checksum. A checksum is written as its name.
  public static let checksum = words(FrameChecksum.all.map { ($0.name, $0) })
}
