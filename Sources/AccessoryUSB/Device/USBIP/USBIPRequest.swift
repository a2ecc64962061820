/// What a client asks once it has a device: transfers, and taking them back.
enum USBIPRequest: Equatable {
  case submit(Submission)
  /// Takes back the request `victim`.
  case unlink(sequence: UInt32, victim: UInt32)

  /// One transfer.
  struct Submission: Equatable {
    /// By which the answer is known.
    var sequence: UInt32
    /// The endpoint's number, without its direction.
    var endpoint: UInt8
    /// Whether the host reads.
    var isIncoming: Bool
    /// How many bytes the host gives or takes at most.
    var length: Int
    /// The setup packet, on endpoint 0.
    var setup: [UInt8]
    /// What the host gives.
    var data: [UInt8]
  }

  /// The most one transfer may carry. Linux' own requests end far below it.
  static let longestTransfer = 1 << 20
  /// Every request begins with so many bytes.
  static let headerSize = 48

  /// Reads a request that begins at `start`; nil while some of it is missing. Wrong ones are found by their first
  /// bytes, so that nobody is waited for who announces the absurd.
  static func read(_ bytes: [UInt8], at start: Int) throws(USBIPError) -> (Self, end: Int)? {
    guard bytes.count - start >= headerSize else { return nil }
    let sequence = bytes.bigEndian32(at: start + 4)
    switch bytes.bigEndian32(at: start) {
    case 1: break
    case 2:
      return (.unlink(sequence: sequence, victim: bytes.bigEndian32(at: start + 20)), start + headerSize)
    case let other: throw .command(other)
    }
    let direction = bytes.bigEndian32(at: start + 12)
    guard direction <= 1 else { throw .direction(direction) }
    let endpoint = bytes.bigEndian32(at: start + 16)
    guard endpoint <= 15 else { throw .endpoint(endpoint) }
    let length = bytes.bigEndian32(at: start + 24)
    guard length <= UInt32(longestTransfer) else { throw .length(length) }
    // Both 0 and all ones have been used to say that a transfer is not isochronous.
    let packets = bytes.bigEndian32(at: start + 32)
    guard packets == 0 || packets == .max else { throw .isochronous(packets) }
    let isIncoming = direction == 1
    let end = start + headerSize + (isIncoming ? 0 : Int(length))
    guard bytes.count >= end else { return nil }
    return (
      .submit(
        Submission(
          sequence: sequence, endpoint: UInt8(endpoint), isIncoming: isIncoming, length: Int(length),
          setup: Array(bytes[start + 40..<start + 48]), data: Array(bytes[start + headerSize..<end]))), end
    )
  }

  /// The answer to a transfer, without its data.
  static func answer(_ sequence: UInt32, status: Int32, count: Int, into out: inout [UInt8]) {
    head(3, sequence, into: &out)
    out.addBigEndian(UInt32(bitPattern: status))
    out.addBigEndian(UInt32(count))
    out += [UInt8](repeating: 0, count: 20)
  }

  /// The answer to an unlink: whether the transfer was still pending. Then it gets no answer of its own.
  static func unlinked(_ sequence: UInt32, wasPending: Bool, into out: inout [UInt8]) {
    head(4, sequence, into: &out)
    // -ECONNRESET, as a kernel of the other side would say.
    out.addBigEndian(UInt32(bitPattern: wasPending ? -104 : 0))
    out += [UInt8](repeating: 0, count: 24)
  }

  private static func head(_ command: UInt32, _ sequence: UInt32, into out: inout [UInt8]) {
    out.addBigEndian(command)
    out.addBigEndian(sequence)
    out += [UInt8](repeating: 0, count: 12)
  }
}
