/// A request from a client that has imported a device: either a transfer or the cancellation of a transfer.
enum USBIPRequest: Equatable {
  case submit(Submission)
  /// Cancels the request whose number is `victim`.
  case unlink(sequence: UInt32, victim: UInt32)

  struct Submission: Equatable {
    /// The number that identifies the request. The answer repeats this number.
    var sequence: UInt32
    /// The endpoint's number, without its direction.
    var endpoint: UInt8
    var isIncoming: Bool
    /// The number of bytes that the host is sending, or the maximum number that it accepts.
    var length: Int
    var setup: ControlEndpoint.Setup
    /// Where the host's bytes are in the buffer that contains the request.
    var data: Range<Int>
  }

  /// The maximum number of bytes in one transfer. Linux's requests are far smaller than this limit.
  static let longestTransfer = 1 << 20
  static let headerSize = 48

  /// Parses a request that begins at `start`. Returns nil while the request is incomplete. An invalid header causes an
  /// error immediately, so the server never waits for the rest of an excessively long request.
  static func read(_ bytes: RawSpan, at start: Int) throws(USBIPError) -> (Self, end: Int)? {
    guard bytes.byteCount - start >= headerSize else { return nil }
    func number(_ offset: Int) -> UInt32 {
      UInt32(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: start + offset, as: UInt32.self))
    }
    let sequence = number(4)
    switch number(0) {
    case 1: break
    case 2: return (.unlink(sequence: sequence, victim: number(20)), start + headerSize)
    case let other: throw USBIPError("the client sent the unknown command \(other): expected 1 (submit) or 2 (unlink)")
    }
    let (direction, endpoint, length) = (number(12), number(16), number(24))
    guard direction <= 1 else {
      throw USBIPError("the client sent the unknown direction \(direction): expected 0 (out) or 1 (in)")
    }
    guard endpoint <= 15 else {
      throw USBIPError("the client requested endpoint \(endpoint), but the highest is 15")
    }
    guard length <= UInt32(longestTransfer) else {
      throw USBIPError("the client requested a transfer of \(length) bytes, but the limit is \(longestTransfer)")
    }
    // Unless a transfer is isochronous, this field is either 0 or all ones.
    let packets = number(32)
    guard packets == 0 || packets == .max else {
      throw USBIPError("the client requested \(packets) isochronous packets, but there is no isochronous endpoint")
    }
    let isIncoming = direction == 1
    let data = start + headerSize..<start + headerSize + (isIncoming ? 0 : Int(length))
    guard bytes.byteCount >= data.upperBound else { return nil }
    let setup = UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: start + 40, as: UInt64.self))
    let submission = Submission(
      sequence: sequence, endpoint: UInt8(endpoint), isIncoming: isIncoming, length: Int(length),
      setup: ControlEndpoint.Setup(littleEndian: setup), data: data)
    return (.submit(submission), data.upperBound)
  }

  static func answer(_ sequence: UInt32, status: Int32, count: Int, into out: inout [UInt8]) {
    add(3, sequence, UInt32(bitPattern: status), UInt32(count), to: &out)
  }

  /// Encodes the answer to an unlink request. The answer reports whether the transfer was still pending. The client
  /// receives no other answer to a transfer that is cancelled while pending.
  static func unlinked(_ sequence: UInt32, wasPending: Bool, into out: inout [UInt8]) {
    // Linux servers also answer with status -104, which is -ECONNRESET.
    add(4, sequence, UInt32(bitPattern: wasPending ? -104 : 0), 0, to: &out)
  }

  private static func add(
    _ command: UInt32, _ sequence: UInt32, _ status: UInt32, _ count: UInt32, to out: inout [UInt8]
  ) {
    withUnsafeTemporaryAllocation(byteCount: headerSize, alignment: 8) { head in
      head.initializeMemory(as: UInt8.self, repeating: 0)
      head.storeBytes(of: command.bigEndian, toByteOffset: 0, as: UInt32.self)
      head.storeBytes(of: sequence.bigEndian, toByteOffset: 4, as: UInt32.self)
      head.storeBytes(of: status.bigEndian, toByteOffset: 20, as: UInt32.self)
      head.storeBytes(of: count.bigEndian, toByteOffset: 24, as: UInt32.self)
      out.append(contentsOf: head)
    }
  }
}
