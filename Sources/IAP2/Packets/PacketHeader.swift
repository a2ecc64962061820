/// The nine bytes in front of every link packet.
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
  /// Bytes of a header.
  public static let size = 9
  /// Bytes a packet spends on other things than its payload: the header and the payload's checksum.
  public static let overhead = 10

  /// Total length of the packet in bytes.
  public var length: UInt16
  /// What kind of packet this is.
  public var control: ControlBits
  /// The packet's number; a header-only packet repeats the last one sent and must not be judged by it.
  public var sequence: UInt8
  /// The last sequence number that the sender received in order, when ``ControlBits/ack`` is set.
  public var acknowledgement: UInt8
  /// The link session, 0 for the link's own packets.
  public var session: UInt8

  /// A header for a payload of `payloadCount` bytes; none makes a packet without a payload checksum.
  public init(
    control: ControlBits, sequence: UInt8, acknowledgement: UInt8, session: UInt8 = 0, payloadCount: Int = 0
  ) {
    precondition(payloadCount <= Int(UInt16.max) - Self.overhead, "a link packet holds at most 65,525 payload bytes")
    length = UInt16(payloadCount == 0 ? Self.size : payloadCount + Self.overhead)
    self.control = control
    self.sequence = sequence
    self.acknowledgement = acknowledgement
    self.session = session
  }

  /// Bytes of payload. A packet of length 10 has an empty payload with a checksum: tolerated, never sent.
  public var payloadCount: Int { max(0, Int(length) - Self.overhead) }

  /// Reads a header from at least nine bytes that start with FF 5A; nil when its checksum is wrong or its length
  /// impossible, which both mean that this was no packet.
  init?(_ bytes: UnsafeRawBufferPointer) {
    var sum: UInt8 = 0
    for index in 0..<Self.size { sum &+= bytes[index] }
    length = UInt16(bytes[2]) << 8 | UInt16(bytes[3])
    control = ControlBits(rawValue: bytes[4])
    sequence = bytes[5]
    acknowledgement = bytes[6]
    session = bytes[7]
    if sum != 0 || length < UInt16(Self.size) { return nil }
  }

  /// Writes the nine bytes, checksum included, to the front of `bytes`.
  func write(to bytes: UnsafeMutableRawBufferPointer) {
    bytes[0] = 0xFF
    bytes[1] = 0x5A
    bytes[2] = UInt8(length >> 8)
    bytes[3] = UInt8(truncatingIfNeeded: length)
    bytes[4] = control.rawValue
    bytes[5] = sequence
    bytes[6] = acknowledgement
    bytes[7] = session
    var sum: UInt8 = 0
    for index in 0..<8 { sum &+= bytes[index] }
    bytes[8] = 0 &- sum
  }
}
