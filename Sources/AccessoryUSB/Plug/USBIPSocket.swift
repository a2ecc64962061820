import Glibc

/// A connection to a USB/IP server until the kernel takes it over. It waits in its calls, each for a bounded time: this
/// is done once per plug-in, and by a program that does nothing else.
public struct USBIPSocket: ~Copyable {
  /// Why there is no connection, or no answer.
  public struct Problem: Error, Equatable, Sendable, CustomStringConvertible {
    /// What is wrong.
    public let description: String
  }

  /// What to hand to the kernel.
  public let descriptor: Int32

  /// Connects.
  public init(host: String, port: UInt16) throws(Problem) {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var found: UnsafeMutablePointer<addrinfo>?
    let status = getaddrinfo(host, "\(port)", &hints, &found)
    guard status == 0, let found else {
      throw Problem(description: "'\(host)' is not known: \(String(cString: gai_strerror(status)))")
    }
    defer { freeaddrinfo(found) }
    var last = ECONNREFUSED
    for entry in sequence(first: found, next: { $0.pointee.ai_next }) {
      let made = socket(entry.pointee.ai_family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      guard made >= 0 else { continue }
      var limit = timeval(tv_sec: 5, tv_usec: 0)
      for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
        setsockopt(made, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
      }
      if connect(made, entry.pointee.ai_addr, entry.pointee.ai_addrlen) == 0 {
        var yes: Int32 = 1
        setsockopt(made, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
        descriptor = made
        return
      }
      last = errno
      close(made)
    }
    throw Problem(description: String(cString: strerror(last)))
  }

  deinit { close(descriptor) }

  /// The devices there are.
  public static func list(host: String, port: UInt16) throws(Problem) -> [USBIPOffer] {
    let connection = try USBIPSocket(host: host, port: port)
    try connection.write(USBIPAnswers.listRequest)
    return try connection.read({ _ in 4096 }) { bytes throws(USBIPAnswers.Problem) in try USBIPAnswers.list(bytes) }
  }

  /// Asks for a device. What comes behind the answer is the kernel's, so no byte more is read.
  public func take(_ busID: String) throws(Problem) -> USBIPOffer {
    try write(USBIPAnswers.importRequest(busID))
    return try read({ USBIPAnswers.importSize($0) - $0.count }) { bytes throws(USBIPAnswers.Problem) in
      try USBIPAnswers.imported(bytes)
    }
  }

  private func write(_ bytes: [UInt8]) throws(Problem) {
    guard send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
      throw Problem(description: "it takes no request: \(String(cString: strerror(errno)))")
    }
  }

  private func read<Answer>(
    _ wanted: ([UInt8]) -> Int, _ parse: ([UInt8]) throws(USBIPAnswers.Problem) -> Answer?
  ) throws(Problem) -> Answer {
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = recv(descriptor, &piece, min(piece.count, max(1, wanted(bytes))), 0)
      guard count > 0 else {
        throw Problem(
          description: count == 0
            ? "it hung up before it answered" : "it does not answer: \(String(cString: strerror(errno)))")
      }
      bytes += piece.prefix(count)
      do throws(USBIPAnswers.Problem) {
        if let answer = try parse(bytes) { return answer }
      } catch {
        throw Problem(description: error.description)
      }
    }
  }
}
