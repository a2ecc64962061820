/// The nine-byte header of every link packet.
///
/// ```
///  0  2  FF 5A
///  2  2  total length: header, payload, payload checksum
///  4  1  control bits
///  5  1  sequence number
///  6  1  acknowledgement number
///  7  1  session id (0: the link itself)
///  8  1  header checksum
/// ```
public struct PacketHeader: Hashable, Sendable {
  /// The size of a header in bytes.
  public static let size = 9
  /// The number of bytes that a packet adds to its payload: a header and a payload checksum.
  public static let overhead = 10

  /// The total length of the packet in bytes.
  public var length: UInt16
  /// The control bits, which determine the kind of packet.
  public var control: ControlBits
  /// The packet's sequence number. A header-only packet repeats the last number sent, so receivers do not check its
  /// number.
  public var sequence: UInt8
  /// If ``ControlBits/ack`` is set, the last sequence number that the sender received in order.
  public var acknowledgement: UInt8
  /// The link session, or 0 for the link's own packets.
  public var session: UInt8

  /// Creates a header for a payload of `payloadCount` bytes; a packet without a payload has no payload checksum.
  public init(
    control: ControlBits, sequence: UInt8, acknowledgement: UInt8, session: UInt8 = 0, payloadCount: Int = 0
  ) {
    precondition(
      payloadCount <= Int(UInt16.max) - Self.overhead, "a link packet can contain at most 65,525 payload bytes")
    length = UInt16(payloadCount == 0 ? Self.size : payloadCount + Self.overhead)
    self.control = control
    self.sequence = sequence
    self.acknowledgement = acknowledgement
    self.session = session
  }

  /// The size of the payload. A packet of length 10 has an empty payload with a checksum; easim accepts such packets
  /// but never sends them.
  public var payloadCount: Int { max(0, Int(length) - Self.overhead) }

  /// Decodes a header from at least nine bytes that start with FF 5A. Returns nil if the checksum is wrong or the
  /// length is impossible, because such bytes are not a packet.
  init?(_ bytes: UnsafeRawBufferPointer) {
    let word = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
    length = UInt16(truncatingIfNeeded: word >> 32)
    control = ControlBits(rawValue: UInt8(truncatingIfNeeded: word >> 24))
    sequence = UInt8(truncatingIfNeeded: word >> 16)
    acknowledgement = UInt8(truncatingIfNeeded: word >> 8)
    session = UInt8(truncatingIfNeeded: word)
    if Checksum.sum(word) &+ bytes[8] != 0 || length < UInt16(Self.size) { return nil }
  }

  /// Writes the nine header bytes, including the checksum, to the start of `bytes`.
  func write(to bytes: UnsafeMutableRawBufferPointer) {
    let word =
      0xFF5A << 48 | UInt64(length) << 32 | UInt64(control.rawValue) << 24 | UInt64(sequence) << 16
      | UInt64(acknowledgement) << 8 | UInt64(session)
    bytes.storeBytes(of: word.bigEndian, as: UInt64.self)
    bytes[8] = 0 &- Checksum.sum(word)
  }
}

/// The control byte of a link packet.
public struct ControlBits: OptionSet, Hashable, Sendable, CustomStringConvertible {
  /// The byte on the wire.
  public let rawValue: UInt8

  /// Creates the bits from the byte on the wire.
  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// The SYN bit: the payload is a ``LinkParameters``.
  public static let syn = ControlBits(rawValue: 0x80)
  /// The ACK bit: the acknowledgement number is valid.
  public static let ack = ControlBits(rawValue: 0x40)
  /// The EAK bit, extended acknowledgement: the payload is a list of sequence numbers.
  public static let eak = ControlBits(rawValue: 0x20)
  /// The RST bit: the device resets the link.
  public static let rst = ControlBits(rawValue: 0x10)
  /// The SLP bit: the device puts the link to sleep.
  public static let slp = ControlBits(rawValue: 0x08)

  /// The names of the bits, joined by "+", or "none" if no bit is set.
  public var description: String {
    let names: [(ControlBits, String)] = [(.syn, "SYN"), (.ack, "ACK"), (.eak, "EAK"), (.rst, "RST"), (.slp, "SLP")]
    var parts = names.filter { contains($0.0) }.map(\.1)
    let unknown = rawValue & 0x07
    if unknown != 0 { parts.append("0x0\(unknown)") }
    return parts.isEmpty ? "none" : parts.joined(separator: "+")
  }
}

/// Builds complete packets for the link, and for faults and tests that need to build their own.
public enum PacketWriter {
  /// The detection sequence, a valid iAP1 frame that tells each end that the other supports iAP2.
  public static let detection: [UInt8] = [0xFF, 0x55, 0x02, 0x00, 0xEE, 0x10]

  /// Appends a packet: header, payload and, if there is a payload, its checksum.
  public static func append(
    _ header: PacketHeader, payload: RawSpan, to bytes: inout [UInt8]
  ) {
    precondition(header.payloadCount == payload.byteCount, "the header must match this payload")
    let start = bytes.count
    bytes.reserveCapacity(start + Int(header.length))
    appendSpace(PacketHeader.size, to: &bytes)
    bytes.withUnsafeMutableBytes { header.write(to: .init(rebasing: $0[start...])) }
    guard payload.byteCount > 0 else { return }
    payload.withUnsafeBytes { bytes.append(contentsOf: $0) }
    bytes.append(Checksum.of(payload))
  }

  /// Returns a single packet.
  public static func packet(_ header: PacketHeader, payload: [UInt8] = []) -> [UInt8] {
    var bytes: [UInt8] = []
    append(header, payload: payload.span.bytes, to: &bytes)
    return bytes
  }

  static func appendSpace(_ count: Int, to bytes: inout [UInt8]) {
    for _ in 0..<count { bytes.append(0) }
  }
}

/// iAP2's 8-bit checksums, which make the sum of all bytes zero.
public enum Checksum {
  /// Returns the byte that must be added to `bytes` to make their sum zero.
  public static func of(_ bytes: RawSpan) -> UInt8 {
    0 &- sum(bytes)
  }

  static func sum(_ word: UInt64) -> UInt8 {
    let odd: UInt64 = 0x00FF_00FF_00FF_00FF
    // Four 16-bit lanes, each holding the sum of two bytes; the multiplication leaves the sum of all four in the
    // highest lane.
    let pairs = (word & odd) &+ (word >> 8 & odd)
    return UInt8(truncatingIfNeeded: (pairs &* 0x0001_0001_0001_0001) >> 48)
  }

  /// Returns the sum of `bytes` modulo 256.
  ///
  /// The loop uses explicit vectors, because a plain loop is a hundred times slower in debug builds. Lanes may
  /// overflow, because only the low eight bits count.
  public static func sum(_ bytes: RawSpan) -> UInt8 {
    bytes.withUnsafeBytes { buffer in
      var lanes = SIMD32<UInt8>()
      var offset = 0
      let vectors = buffer.count & ~31
      while offset < vectors {
        lanes &+= buffer.loadUnaligned(fromByteOffset: offset, as: SIMD32<UInt8>.self)
        offset += 32
      }
      var half = lanes.lowHalf &+ lanes.highHalf
      if buffer.count & 16 != 0 {
        half &+= buffer.loadUnaligned(fromByteOffset: offset, as: SIMD16<UInt8>.self)
        offset += 16
      }
      var quarter = half.lowHalf &+ half.highHalf
      if buffer.count & 8 != 0 {
        quarter &+= buffer.loadUnaligned(fromByteOffset: offset, as: SIMD8<UInt8>.self)
        offset += 8
      }
      // Halves the vector until only a few lanes are left, because extracting all lanes would cost as much as summing
      // hundreds of payload bytes.
      let eighth = quarter.lowHalf &+ quarter.highHalf
      let pair = eighth.lowHalf &+ eighth.highHalf
      var total = pair.x &+ pair.y
      while offset < buffer.count {
        total &+= buffer[offset]
        offset += 1
      }
      return total
    }
  }

  /// Copies `bytes` to the start of `target` and returns their sum.
  ///
  /// Two passes are faster than a single loop that both copies and sums, because the system's copy function is very
  /// fast. Long inputs are processed in blocks, so that the second pass finds its bytes in the L1 cache.
  static func copy(_ bytes: RawSpan, to target: UnsafeMutableRawBufferPointer) -> UInt8 {
    var total: UInt8 = 0
    var start = 0
    while start < bytes.byteCount {
      let part = bytes.extracting(start..<min(start + block, bytes.byteCount))
      total &+= sum(part)
      part.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: target[start...]).copyMemory(from: $0) }
      start += part.byteCount
    }
    return total
  }

  /// A third of the smallest common L1 cache, to leave room for both input and output.
  private static let block = 10 * 1024
}
