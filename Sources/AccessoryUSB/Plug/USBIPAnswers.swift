/// A device that a USB/IP server offers, as described in the server's answers.
public struct USBIPOffer: Equatable, Sendable {
  /// The name by which clients request the device, such as "1-1".
  var busID: String
  /// The bus and device numbers, combined into one number for the kernel.
  var deviceID: UInt32
  /// Linux's code for the speed: 1 (low), 2 (full), 3 (high) or 5 (super).
  var speed: UInt32
  var vendor: UInt16
  var product: UInt16
  var configurationCount: UInt8
  /// The interfaces of the current configuration, if the server's list contains them.
  var interfaces: [USBInterface.Kind]

  /// The size of the record that describes a device, without its interfaces.
  static let recordSize = 312

  /// Parses a record. In a list, also parses the four bytes per interface that follow the record.
  init(record: ArraySlice<UInt8>, interfaces: ArraySlice<UInt8> = []) {
    let bytes = Array(record)
    busID = String(decoding: bytes[256..<288].prefix { $0 != 0 }, as: UTF8.self)
    deviceID = bytes.bigEndian32(at: 288) << 16 | bytes.bigEndian32(at: 292) & 0xFFFF
    speed = bytes.bigEndian32(at: 296)
    vendor = bytes.bigEndian16(at: 300)
    product = bytes.bigEndian16(at: 302)
    configurationCount = bytes[310]
    self.interfaces = stride(from: interfaces.startIndex, to: interfaces.endIndex - 3, by: 4).map {
      USBInterface.Kind(interfaces[$0], interfaces[$0 + 1], interfaces[$0 + 2])
    }
  }
}

/// Parses the answers that a USB/IP server gives to a client that imports devices. Every length is checked because the
/// answers are untrusted.
public enum USBIPAnswers {
  /// The maximum number of devices in a list. No real server reaches this limit.
  private static let mostDevices: UInt32 = 4096

  static let listRequest: [UInt8] = [0x01, 0x11, 0x80, 0x05, 0, 0, 0, 0]

  /// Encodes the request to import a device.
  public static func importRequest(_ busID: String) -> [UInt8] {
    let name = Array(busID.utf8.prefix(31))
    return [0x01, 0x11, 0x80, 0x03, 0, 0, 0, 0] + name + [UInt8](repeating: 0, count: 32 - name.count)
  }

  /// Returns how many more bytes to read from an answer to ``importRequest(_:)``. A refusal is only a few bytes long.
  /// After a successful answer, the bytes that follow the device's record must be left for the kernel.
  package static func importSize(_ bytes: [UInt8]) -> Int {
    bytes.count >= 8 && bytes.bigEndian32(at: 4) == 0 ? 8 + USBIPOffer.recordSize : 8
  }

  /// Parses the server's device list. Returns nil while the list is incomplete.
  static func list(_ bytes: [UInt8]) throws(PlugProblem) -> [USBIPOffer]? {
    try check(bytes, code: 0x0005)
    guard bytes.count >= 12 else { return nil }
    let count = bytes.bigEndian32(at: 8)
    guard count <= mostDevices else {
      throw .failed("the server lists \(count) devices, more than \(mostDevices)")
    }
    // This loop runs each time bytes arrive, so it only locates the records. The records are parsed once the list is
    // complete.
    var places: [(record: Range<Int>, interfaces: Range<Int>)] = []
    var at = 12
    for _ in 0..<count {
      guard bytes.count >= at + USBIPOffer.recordSize else { return nil }
      let record = at..<at + USBIPOffer.recordSize
      at = record.upperBound + 4 * Int(bytes[record.upperBound - 1])
      places.append((record, record.upperBound..<at))
    }
    guard bytes.count >= at else { return nil }
    return places.map { USBIPOffer(record: bytes[$0.record], interfaces: bytes[$0.interfaces]) }
  }

  /// Parses the answer to ``importRequest(_:)``. Returns nil while the answer is incomplete.
  public static func imported(_ bytes: [UInt8]) throws(PlugProblem) -> USBIPOffer? {
    try check(bytes, code: 0x0003)
    guard bytes.count >= 8 else { return nil }
    switch bytes.bigEndian32(at: 4) {
    case 0: break
    case 2: throw .failed("another client uses it")
    case 4: throw .failed("no such device")
    case let status: throw .failed("the server refused the request (status \(status))")
    }
    guard bytes.count >= 8 + USBIPOffer.recordSize else { return nil }
    return USBIPOffer(record: bytes[8..<8 + USBIPOffer.recordSize])
  }

  private static func check(_ bytes: [UInt8], code: UInt16) throws(PlugProblem) {
    if bytes.count >= 2, bytes.bigEndian16(at: 0) != USBIPHandshake.version {
      throw .failed("the server does not speak USB/IP 1.1.1: its answer begins with \(bytes[0]), \(bytes[1])")
    }
    if bytes.count >= 4, bytes.bigEndian16(at: 2) != code {
      throw .failed("the server answered a different request (code \(bytes.bigEndian16(at: 2)))")
    }
  }
}

/// Reads a device's descriptors over the connection that imported it, before that connection is handed to the kernel.
enum USBIPDescriptors {
  /// Most devices have one configuration, and few have more than two.
  static let mostConfigurations = 8
  /// The sequence number of the first transfer, which is high enough not to collide with the kernel's numbers, which
  /// start at 1.
  static let firstSequence: UInt32 = 0x7FFF_0000
  private static let headerSize = 48

  enum Kind: UInt8 {
    case device = 1
    case configuration = 2
  }

  /// Encodes a GET_DESCRIPTOR request on endpoint 0.
  static func request(_ sequence: UInt32, of device: UInt32, _ kind: Kind, _ index: UInt8, length: UInt16) -> [UInt8] {
    var out: [UInt8] = []
    // The fields are command (submit), sequence number, device, direction (in), endpoint, flags, length, start frame,
    // number of packets and interval.
    for number in [1, sequence, device, 1, 0, 0, UInt32(length), 0, 0, 0] { out.addBigEndian(number) }
    return out + [0x80, 0x06, index, kind.rawValue, 0, 0] + length.littleEndianBytes
  }

  /// Returns how many more bytes to read from an answer to a request for `length` bytes. Any further bytes belong to
  /// another answer or must be left for the kernel.
  static func answerSize(_ bytes: [UInt8], length: UInt16) -> Int {
    bytes.count < headerSize ? headerSize : headerSize + min(Int(bytes.bigEndian32(at: 24)), Int(length))
  }

  /// Parses an answer. Returns nil while the answer is incomplete.
  static func answer(
    _ bytes: [UInt8], to sequence: UInt32, length: UInt16
  ) throws(PlugProblem) -> [UInt8]? {
    guard bytes.count >= headerSize else { return nil }
    guard bytes.bigEndian32(at: 0) == 3, bytes.bigEndian32(at: 4) == sequence else {
      throw .failed("the server answered a different request instead of the one for descriptors")
    }
    let (status, count) = (Int32(bitPattern: bytes.bigEndian32(at: 20)), bytes.bigEndian32(at: 24))
    guard status == 0, count <= UInt32(length) else {
      throw .failed(
        status == 0
          ? "the server sent \(count) bytes of descriptors, but only \(length) were requested"
          : "the server refused the request for descriptors (status \(status))")
    }
    guard bytes.count >= headerSize + Int(count) else { return nil }
    return Array(bytes[headerSize..<headerSize + Int(count)])
  }

  /// Returns the total length of a configuration's descriptors, which is given in the configuration's first nine bytes.
  static func totalLength(_ configuration: [UInt8]) throws(PlugProblem) -> UInt16 {
    guard configuration.count == 9, configuration[1] == Kind.configuration.rawValue else {
      throw .failed("the server sent something other than the configuration descriptor")
    }
    return configuration.littleEndian16(at: 2)
  }
}
