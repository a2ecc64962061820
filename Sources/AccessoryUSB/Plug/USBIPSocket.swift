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
