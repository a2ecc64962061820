/// Reads the descriptors of a device over the connection by which it was had, before the kernel gets that connection.
enum USBIPDescriptors {
  /// A device has one configuration, seldom two.
  static let mostConfigurations = 8
  /// Transfers are numbered; the kernel begins with 1.
  static let firstSequence: UInt32 = 0x7FFF_0000
  private static let headerSize = 48

  /// A kind of descriptor that is asked for.
  enum Kind: UInt8 {
    case device = 1
    case configuration = 2
  }

  /// Asks for a descriptor: GET_DESCRIPTOR on endpoint 0.
  static func request(_ sequence: UInt32, of device: UInt32, _ kind: Kind, _ index: UInt8, length: UInt16) -> [UInt8] {
    var out: [UInt8] = []
    // Submit; number, device, direction in, endpoint 0; no flags, length; start, packets, interval: none.
    for number in [1, sequence, device, 1, 0, 0, UInt32(length), 0, 0, 0] { out.addBigEndian(number) }
    return out + [0x80, 0x06, index, kind.rawValue, 0, 0] + length.littleEndianBytes
  }

  /// How many bytes of an answer to a request for `length` bytes have to be there before more are asked for: what
  /// follows it is another answer, or the kernel's.
  static func answerSize(_ bytes: [UInt8], length: UInt16) -> Int {
    bytes.count < headerSize ? headerSize : headerSize + min(Int(bytes.bigEndian32(at: 24)), Int(length))
  }

  /// Reads an answer; nil while some of it is missing.
  static func answer(
    _ bytes: [UInt8], to sequence: UInt32, length: UInt16
  ) throws(USBIPAnswers.Problem) -> [UInt8]? {
    guard bytes.count >= headerSize else { return nil }
    guard bytes.bigEndian32(at: 0) == 3, bytes.bigEndian32(at: 4) == sequence else {
      throw USBIPAnswers.Problem(description: "it answered a different request from the one for its descriptors")
    }
    let (status, count) = (Int32(bitPattern: bytes.bigEndian32(at: 20)), bytes.bigEndian32(at: 24))
    guard status == 0, count <= UInt32(length) else {
      throw USBIPAnswers.Problem(
        description: status == 0
          ? "it sent \(count) bytes of descriptors where \(length) were requested"
          : "it refused the request for its descriptors (status \(status))")
    }
    guard bytes.count >= headerSize + Int(count) else { return nil }
    return Array(bytes[headerSize..<headerSize + Int(count)])
  }

  /// How long a configuration is with all that belongs to it, by its first nine bytes.
  static func totalLength(_ configuration: [UInt8]) throws(USBIPAnswers.Problem) -> UInt16 {
    guard configuration.count == 9, configuration[1] == Kind.configuration.rawValue else {
      throw USBIPAnswers.Problem(description: "it sent something other than its configuration descriptor")
    }
    return UInt16(configuration[2]) | UInt16(configuration[3]) << 8
  }
}
