import AccessoryCore
import AccessoryFormats
import Glibc
import TestSupport

final class HostilePeer {
  enum Kind: CaseIterable {
    case garbage
    /// A peer that sends the beginning of something valid and then shuts down its sending side.
    case halfClose
    case reset
    case silence
    case flood
  }

  enum Language {
    case iAP2
    case usbip
  }

  let kind: Kind
  private(set) var isOver = false
  private var descriptor: Int32
  private var random: SeededRandom
  private var timer: LoopTimer?
  private let loop: any EventLoop
  private let language: Language
  private var toFlood = 2 << 20

  /// Connects immediately, or returns nil if nothing is listening at `address`.
  init?(_ kind: Kind, to address: Address, speaking language: Language, seed: UInt64, on loop: any EventLoop) {
    guard let connected = Self.connect(to: address) else { return nil }
    descriptor = connected
    self.kind = kind
    self.language = language
    self.loop = loop
    random = SeededRandom(seed: seed).derived("hostile")
    timer = loop.makeTimer { [unowned self] in goOn() }
    begin()
    if !isOver { timer?.arm(at: loop.now) }
  }

  deinit { end() }

  private func begin() {
    switch kind {
    case .garbage: put(bytes(Int.random(in: 1...3_000, using: &random)))
    case .halfClose:
      put(opening)
      shutdown(descriptor, Int32(SHUT_WR))
    case .reset:
      put(opening + bytes(Int.random(in: 0...200, using: &random)))
      var lingers = linger(l_onoff: 1, l_linger: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &lingers, socklen_t(MemoryLayout<linger>.size))
      end()
    case .silence: break
    case .flood: put(opening)
    }
  }

  private func goOn() {
    if kind == .flood, toFlood > 0 {
      toFlood -= max(1, put(bytes(64 << 10)))
    } else {
      var piece = [UInt8](repeating: 0, count: 4_096)
      let count = recv(descriptor, &piece, piece.count, Int32(MSG_DONTWAIT))
      if count == 0 || count < 0 && errno != EAGAIN && errno != EINTR { return end() }
    }
    timer?.arm(at: loop.now + .milliseconds(2))
  }

  private func end() {
    if !isOver { close(descriptor) }
    isOver = true
    timer?.cancel()
  }

  @discardableResult
  private func put(_ bytes: [UInt8]) -> Int {
    let count = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
    if count < 0, errno != EAGAIN, errno != EINTR { toFlood = 0 }
    return count
  }

  private func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) } }

  private var opening: [UInt8] {
    switch language {
    case .iAP2: [0xFF, 0x55, 0x02, 0x00, 0xEE, 0x10, 0xFF, 0x5A, 0x00]
    case .usbip:
      Bool.random(using: &random)
        ? [0x01, 0x11, 0x80, 0x05, 0, 0, 0, 0]
        : [0x01, 0x11, 0x80, 0x03, 0, 0, 0, 0] + Array("1-1".utf8) + [UInt8](repeating: 0, count: 29)
    }
  }

  private static func connect(to address: Address) -> Int32? {
    switch address {
    case .unix(let path): return UnixSocket.make(Glibc.connect, path)
    case .tcp(_, let port), .usbip(_, let port):
      let made = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      guard made >= 0 else { return nil }
      var name = sockaddr_in()
      name.sin_family = sa_family_t(AF_INET)
      name.sin_port = port.bigEndian
      name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      let result = withUnsafePointer(to: &name) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          Glibc.connect(made, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      if result == 0 { return made }
      close(made)
      return nil
    default: return nil
    }
  }
}
