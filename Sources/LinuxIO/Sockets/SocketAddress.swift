import AccessoryCore
import Glibc

/// An address as the socket calls take it.
struct SocketAddress {
  private var storage = sockaddr_storage()
  private(set) var length: socklen_t

  /// The address of a unix socket; nil when the path is too long for one.
  init?(unixPath path: String) {
    var address = sockaddr_un()
    let room = MemoryLayout.size(ofValue: address.sun_path)
    let bytes = Array(path.utf8)
    guard bytes.count < room, !bytes.contains(0) else { return nil }
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    length = socklen_t(MemoryLayout<sockaddr_un>.offset(of: \.sun_path).map { $0 + bytes.count + 1 } ?? 0)
    withUnsafeMutableBytes(of: &storage) { target in
      withUnsafeBytes(of: &address) { target.copyMemory(from: $0) }
    }
  }

  /// A copy of what a call filled in.
  init(copying address: UnsafePointer<sockaddr>, length: socklen_t) {
    self.length = length
    withUnsafeMutableBytes(of: &storage) {
      $0.copyMemory(from: UnsafeRawBufferPointer(start: address, count: Int(length)))
    }
  }

  var family: Int32 { Int32(storage.ss_family) }

  /// Passes the address to a socket call.
  func with<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    withUnsafePointer(to: storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
    }
  }

  /// The address that a call (`getsockname`, `accept4`) fills in.
  static func filled(
    by call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
  )
    -> (result: Int32, address: SocketAddress)
  {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutablePointer(to: &storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        let result = call($0, &length)
        return (result, SocketAddress(copying: $0, length: min(length, socklen_t(MemoryLayout<sockaddr_storage>.size))))
      }
    }
  }
}

/// Host names to socket addresses. Numbers and `localhost` at once; other names ask the network, on a thread of their
/// own, because the system's resolver blocks for as long as it likes.
enum NameResolver {
  /// Why a name has no address.
  struct Failure: Error { let reason: String }

  /// The addresses of a number or of `localhost`; nil for a name that would have to be looked up.
  static func known(_ host: String, port: UInt16) -> [SocketAddress]? {
    let hosts = host.lowercased() == "localhost" ? ["127.0.0.1", "::1"] : [host]
    let addresses = hosts.flatMap { (try? lookUp($0, port: port, flags: AI_NUMERICHOST).get()) ?? [] }
    return addresses.isEmpty ? nil : addresses
  }

  /// Looks a name up and passes the addresses on, on the loop.
  static func resolve(
    _ host: String, port: UInt16, on loop: any EventLoop,
    completion: @escaping @Sendable (Result<[SocketAddress], Failure>) -> Void
  ) throws(SystemError) {
    let errand = Unmanaged.passRetained(Errand(host: host, port: port, loop: loop, completion: completion))
    var thread = pthread_t()
    let code = pthread_create(&thread, nil, { NameResolver.run($0) }, errand.toOpaque())
    if code != 0 {
      errand.release()
      throw SystemError("start a thread to look up \(host)", code: code)
    }
    pthread_detach(thread)
  }

  private static func run(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    let errand = Unmanaged<Errand>.fromOpaque(context).takeRetainedValue()
    let result = lookUp(errand.host, port: errand.port, flags: 0)
    let completion = errand.completion
    errand.loop.execute { completion(result) }
    return nil
  }

  private static func lookUp(_ host: String, port: UInt16, flags: Int32) -> Result<[SocketAddress], Failure> {
    var hints = addrinfo()
    hints.ai_flags = flags | AI_NUMERICSERV
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(host, String(port), &hints, &list)
    guard code == 0 else { return .failure(Failure(reason: String(cString: gai_strerror(code)))) }
    defer { freeaddrinfo(list) }
    var addresses: [SocketAddress] = []
    var next = list
    while let entry = next?.pointee {
      if let address = entry.ai_addr { addresses.append(SocketAddress(copying: address, length: entry.ai_addrlen)) }
      next = entry.ai_next
    }
    return .success(addresses)
  }

  private final class Errand: Sendable {
    let host: String
    let port: UInt16
    let loop: any EventLoop
    let completion: @Sendable (Result<[SocketAddress], Failure>) -> Void

    init(
      host: String, port: UInt16, loop: any EventLoop,
      completion: @escaping @Sendable (Result<[SocketAddress], Failure>) -> Void
    ) {
      self.host = host
      self.port = port
      self.loop = loop
      self.completion = completion
    }
  }
}
