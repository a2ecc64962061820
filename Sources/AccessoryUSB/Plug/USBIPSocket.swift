import AccessoryCore
import Glibc

/// A connection to a USB/IP server until the kernel takes it over.
///
/// The methods block, but they return before ``limit`` has elapsed since the connection was created. ``KernelPlugs``
/// calls these methods on a worker thread. Releasing the connection also releases the device that it has imported.
final class USBIPSocket: Sendable {
  /// The time limit for all answers on one connection.
  static let limit = Duration.seconds(5)

  /// The file descriptor to hand to the kernel.
  let descriptor: Int32
  private let clock = MonotonicClock()
  private let deadline: Instant

  init(host: String, port: UInt16, limit: Duration = USBIPSocket.limit) throws(PlugProblem) {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var found: UnsafeMutablePointer<addrinfo>?
    let status = getaddrinfo(host, "\(port)", &hints, &found)
    guard status == 0, let found else {
      throw .failed("the host '\(host)' cannot be looked up: \(String(cString: gai_strerror(status)))")
    }
    defer { freeaddrinfo(found) }
    let deadline = clock.now + limit
    var last = ECONNREFUSED
    for entry in sequence(first: found, next: { $0.pointee.ai_next }) {
      let left = deadline - clock.now
      guard left >= .milliseconds(1) else {
        last = ETIMEDOUT
        break
      }
      let made = socket(entry.pointee.ai_family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      guard made >= 0 else { continue }
      Self.setTimeLimit(left, of: made)
      if connect(made, entry.pointee.ai_addr, entry.pointee.ai_addrlen) == 0 {
        var yes: Int32 = 1
        setsockopt(made, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
        (descriptor, self.deadline) = (made, deadline)
        return
      }
      // EINPROGRESS means that the connection attempt timed out.
      last = errno == EINPROGRESS ? ETIMEDOUT : errno
      close(made)
    }
    throw .failed(String(cString: strerror(last)))
  }

  deinit { close(descriptor) }

  /// Sets the time limit for calls on a socket. Zero means no limit.
  private static func setTimeLimit(_ limit: Duration, of socket: Int32) {
    let (seconds, attoseconds) = limit.components
    var limit = timeval(tv_sec: Int(seconds), tv_usec: Int(attoseconds / 1_000_000_000_000))
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      setsockopt(socket, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
    }
  }

  func list(rules: PlugRules) throws(PlugProblem) -> [USBIPOffer] {
    try write(USBIPAnswers.listRequest)
    let offers = try USBIPAnswers.list(read)
    try rules.check(descriptor, isFinal: false)
    return offers
  }

  /// Requests a device and checks it against the rules. Any bytes after the answers are left for the kernel.
  func take(_ busID: String, rules: PlugRules) throws(PlugProblem) -> USBIPOffer {
    try write(USBIPAnswers.importRequest(busID))
    let offer = try USBIPAnswers.imported(read)
    try rules.check(descriptor, isFinal: true)
    if !rules.takesAnyDevice { try rules.check(try descriptors(of: offer)) }
    // If a time limit were still set and expired later, the kernel would assume that the device is gone.
    Self.setTimeLimit(.zero, of: descriptor)
    return offer
  }

  private func descriptors(of offer: USBIPOffer) throws(PlugProblem) -> USBDescriptors {
    var sequence = USBIPDescriptors.firstSequence
    func ask(_ kind: USBIPDescriptors.Kind, _ index: UInt8, length: UInt16) throws(PlugProblem) -> [UInt8] {
      sequence += 1
      try write(USBIPDescriptors.request(sequence, of: offer.deviceID, kind, index, length: length))
      return try USBIPDescriptors.answer(to: sequence, length: length, read)
    }
    var bytes = try ask(.device, 0, length: 18)
    guard bytes.count == 18 else { throw .failed("its device descriptor has \(bytes.count) bytes") }
    for index in 0..<min(Int(bytes[17]), USBIPDescriptors.mostConfigurations) {
      let head = try ask(.configuration, UInt8(index), length: 9)
      bytes += try ask(.configuration, UInt8(index), length: try USBIPDescriptors.totalLength(head))
    }
    do { return try USBDescriptors(reading: bytes) } catch { throw .failed("its descriptors cannot be read: \(error)") }
  }

  private func write(_ bytes: [UInt8]) throws(PlugProblem) {
    guard send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
      throw .failed("the request could not be sent: \(String(cString: strerror(errno)))")
    }
  }

  private func read(_ count: Int) throws(PlugProblem) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count {
      let left = deadline - clock.now
      guard left >= .milliseconds(1) else { throw late(bytes.count) }
      Self.setTimeLimit(left, of: descriptor)
      var piece = [UInt8](repeating: 0, count: count - bytes.count)
      let got = recv(descriptor, &piece, piece.count, 0)
      if got < 0, errno == EINTR { continue }
      if got < 0, errno == EAGAIN { throw late(bytes.count) }
      guard got > 0 else {
        throw .failed(
          got == 0
            ? "the server closed the connection before it answered"
            : "the server does not answer: \(String(cString: strerror(errno)))")
      }
      bytes += piece.prefix(got)
    }
    return bytes
  }

  private func late(_ count: Int) -> PlugProblem {
    .failed(count == 0 ? "it does not answer" : "the server's answer was not complete after \(Self.limit)")
  }
}

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
  public init(record: [UInt8], interfaces: [UInt8] = []) {
    busID = String(terminated: record[256..<288])
    deviceID = record.bigEndian32(at: 288) << 16 | record.bigEndian32(at: 292) & 0xFFFF
    speed = record.bigEndian32(at: 296)
    vendor = record.bigEndian16(at: 300)
    product = record.bigEndian16(at: 302)
    configurationCount = record[310]
    self.interfaces = stride(from: 0, to: interfaces.count, by: 4).map {
      USBInterface.Kind(interfaces[$0], interfaces[$0 + 1], interfaces[$0 + 2])
    }
  }
}

/// The requests to a USB/IP server from a client that imports devices, and the server's answers, which are untrusted.
public enum USBIPAnswers {
  /// The maximum number of devices in a list. No real server reaches this limit.
  private static let mostDevices: UInt32 = 4096

  static let listRequest: [UInt8] = [0x01, 0x11, 0x80, 0x05, 0, 0, 0, 0]

  /// Encodes the request to import a device.
  public static func importRequest(_ busID: String) -> [UInt8] {
    let name = Array(busID.utf8.prefix(31))
    return [0x01, 0x11, 0x80, 0x03, 0, 0, 0, 0] + name + [UInt8](repeating: 0, count: 32 - name.count)
  }

  /// Reads the server's device list. `read` returns the next bytes of the answer, exactly as many as it is asked for.
  static func list(_ read: (Int) throws(PlugProblem) -> [UInt8]) throws(PlugProblem) -> [USBIPOffer] {
    try check(try read(8), code: 0x0005)
    let count = try read(4).bigEndian32(at: 0)
    guard count <= mostDevices else {
      throw .failed("the server lists \(count) devices, more than \(mostDevices)")
    }
    var offers: [USBIPOffer] = []
    for _ in 0..<count {
      let record = try read(USBIPOffer.recordSize)
      offers.append(USBIPOffer(record: record, interfaces: try read(4 * Int(record[311]))))
    }
    return offers
  }

  /// Reads the answer to ``importRequest(_:)``. A refusal is only a few bytes long, and the bytes that follow the
  /// device's record belong to the kernel.
  static func imported(_ read: (Int) throws(PlugProblem) -> [UInt8]) throws(PlugProblem) -> USBIPOffer {
    let head = try read(8)
    try check(head, code: 0x0003)
    switch head.bigEndian32(at: 4) {
    case 0: return USBIPOffer(record: try read(USBIPOffer.recordSize))
    case 2: throw .failed("another client uses it")
    case 4: throw .failed("no such device")
    case let status: throw .failed("the server refused the request (status \(status))")
    }
  }

  private static func check(_ head: [UInt8], code: UInt16) throws(PlugProblem) {
    guard head.bigEndian16(at: 0) == USBIPHandshake.version else {
      throw .failed("the server does not speak USB/IP 1.1.1: its answer begins with \(head[0]), \(head[1])")
    }
    guard head.bigEndian16(at: 2) == code else {
      throw .failed("the server answered a different request (code \(head.bigEndian16(at: 2)))")
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

  static func answer(
    to sequence: UInt32, length: UInt16, _ read: (Int) throws(PlugProblem) -> [UInt8]
  ) throws(PlugProblem) -> [UInt8] {
    let head = try read(USBIPRequest.headerSize)
    guard head.bigEndian32(at: 0) == 3, head.bigEndian32(at: 4) == sequence else {
      throw .failed("the server answered a different request instead of the one for descriptors")
    }
    let (status, count) = (Int32(bitPattern: head.bigEndian32(at: 20)), head.bigEndian32(at: 24))
    guard status == 0, count <= UInt32(length) else {
      throw .failed(
        status == 0
          ? "the server sent \(count) bytes of descriptors, but only \(length) were requested"
          : "the server refused the request for descriptors (status \(status))")
    }
    return try read(Int(count))
  }

  /// Returns the total length of a configuration's descriptors, which is given in the configuration's first nine bytes.
  static func totalLength(_ configuration: [UInt8]) throws(PlugProblem) -> UInt16 {
    guard configuration.count == 9, configuration[1] == Kind.configuration.rawValue else {
      throw .failed("the server sent something other than the configuration descriptor")
    }
    return configuration.littleEndian16(at: 2)
  }
}
