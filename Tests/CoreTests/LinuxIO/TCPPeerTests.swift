import Glibc
import TestSupport
import Testing

@testable import LinuxIO

/// Tests how easim finds the user that owns a TCP peer's socket in the kernel's tables.
@Suite(.waits) struct TCPPeerTests {
  static let near = TCPEndpoint(host: [127, 0, 0, 1], port: 0xA3C4)
  static let far = TCPEndpoint(host: [127, 0, 0, 1], port: 3240)
  static let heading =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"

  /// Returns a line of the kernel's table in little-endian form, as on the machines that run the tests.
  static func line(_ ends: String, user: String = " 1000", inode: String = "4711", state: String = "01") -> String {
    "   7: \(ends) \(state) 00000000:00000000 00:00000000 00000000 \(user)        0 \(inode) 1 0000000000000000 20 4 30\n"
  }

  func peer(
    _ ipv4: String = "", _ ipv6: String = "", of far: TCPEndpoint = far, near: TCPEndpoint = near
  ) -> TCPPeer {
    TCPPeer(at: far, connectedTo: near) { kind in
      TCPSocketTable(kind: kind, text: Array((Self.heading + (kind == .ipv4 ? ipv4 : ipv6)).utf8))
    }
  }

  @Test func theUserOfTheOtherEndsLineIsTheUser() {
    let own = Self.line("0100007F:A3C4 0100007F:0CA8", user: "    0")
    let listener = Self.line("0100007F:0CA8 00000000:0000", user: "    5", state: "0A")
    let other = Self.line("0100007F:0CA8 0100007F:A3C4")
    #expect(peer(listener + own + other) == .user(1000))
    #expect(peer(other + own + listener) == .user(1000))
    #expect(peer(listener + own) == .unknown)
  }

  @Test func anIPv4ConnectionOfAnIPv6SocketIsInTheOtherTable() {
    let ends = "0000000000000000FFFF00000100007F:0CA8 0000000000000000FFFF00000100007F:A3C4"
    #expect(peer("", Self.line(ends)) == .user(1000))
    let mapped = TCPEndpoint(host: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 127, 0, 0, 1], port: 3240)
    #expect(mapped == Self.far)
  }

  @Test func anIPv6ConnectionIsFound() {
    let host: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    let (far, near) = (TCPEndpoint(host: host, port: 3240), TCPEndpoint(host: host, port: 0xA3C4))
    let ends = "00000000000000000000000001000000:0CA8 00000000000000000000000001000000:A3C4"
    #expect(peer("", Self.line(ends), of: far, near: near) == .user(1000))
    #expect(peer("", "", of: far, near: near) == .unknown)
  }

  /// For a socket that belongs to no process, the kernel prints user 0, although root does not own the socket.
  @Test func aSocketWithoutAProcessIsNobodys() {
    let waiting = Self.line("0100007F:0CA8 0100007F:A3C4", user: "    0", inode: "0", state: "06")
    #expect(peer(waiting) == .unknown)
    #expect(peer(waiting + Self.line("0100007F:0CA8 0100007F:A3C4")) == .user(1000))
  }

  @Test(arguments: [
    "", "\n", "   7: 0100007F:0CA8 0100007F:A3C4", "   7: 0100007F:0CA8 0100007F:A3C4 01\n",
    "   7: 0100007F:0CA8 0100007F:A3C4 01 0:0 00:0 0 x 0 4711\n",
    "   7: 0100007F:0CA8 0100007F:A3C4 01 0:0 00:0 0 -1 0 4711\n",
    "   7: 0100007F:0CA8 0100007F:A3C4 01 0:0 00:0 0 4294967296 0 4711\n",
    "   7: 0100007F:0CA8 0100007F:A3C4 01 0:0 00:0 0 1000 0 inode\n",
    "   7:  0100007F:0CA8  0100007F:A3C4 01 0:0 00:0 0 0 0 1\n",
    "   7: 0100007F:0CA8 0100007F:A3C45 01 0:0 00:0 0 0 0 1\n", "\u{0}\u{0}\u{0}: : : :",
  ]) func aLineThatCannotBeReadSaysNothing(line: String) {
    #expect(peer(line) == .unknown)
    #expect(peer(line + (line.hasSuffix("\n") ? "" : "\n") + Self.line("0100007F:0CA8 0100007F:A3C4")) == .user(1000))
  }

  @Test func whatIsNotInTheTablesIsRemoteUnlessItCannotBe() {
    let elsewhere = TCPEndpoint(host: [192, 0, 2, 7], port: 3240)
    let own = TCPEndpoint(host: [192, 0, 2, 1], port: 0xA3C4)
    #expect(peer(of: elsewhere, near: own) == .remote)
    #expect(
      peer(of: TCPEndpoint(host: [192, 0, 2, 1], port: 3240), near: own) == .unknown, "this machine's own address")
    #expect(peer(of: TCPEndpoint(host: [127, 9, 9, 9], port: 3240)) == .unknown)
  }

  @Test func aLineThatIsMissedOnceIsLookedForAgain() {
    var reads = 0
    let found = TCPPeer(at: Self.far, connectedTo: Self.near) { kind in
      reads += 1
      let line = reads > 2 ? Self.line("0100007F:0CA8 0100007F:A3C4") : ""
      return TCPSocketTable(kind: kind, text: Array(line.utf8))
    }
    #expect(found == .user(1000))
  }

  // MARK: Real sockets

  private func connected(_ body: (_ client: Int32, _ listener: Int32) throws -> Void) throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer {
      close(listener)
      close(client)
    }
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_addr.s_addr = inet_addr("127.0.0.1")
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isConnected = withUnsafeMutablePointer(to: &name) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
        bind(listener, name, size) == 0 && listen(listener, 8) == 0 && getsockname(listener, name, &size) == 0
          && connect(client, name, size) == 0
      }
    }
    try #require(isConnected)
    try body(client, listener)
  }

  /// Finding the peer must not require reading a table, which would take milliseconds.
  @Test func theKernelIsAskedForTheOneSocket() throws {
    try connected { client, listener in
      let near = try #require(TCPEndpoint(SocketAddress.filled { getsockname(client, $0, $1) }.address))
      let far = try #require(TCPEndpoint(SocketAddress.filled { getpeername(client, $0, $1) }.address))
      #expect(near.owner(connectedTo: far) == TCPSocketTable.Owner(user: geteuid(), hasProcess: true))
      #expect(far.owner(connectedTo: near)?.hasProcess == false, "nobody has accepted it yet")
      #expect(TCPEndpoint(host: near.host, port: near.port ^ 1).owner(connectedTo: far) == nil)
    }
  }

  @Test func eitherEndFindsTheOther() throws {
    try connected { client, listener in
      #expect(TCPPeer(of: client) == .unknown, "nobody has accepted it yet")
      let accepted = accept(listener, nil, nil)
      defer { close(accepted) }
      #expect(TCPPeer(of: client) == .user(geteuid()))
      #expect(TCPPeer(of: accepted) == .user(geteuid()))
      #expect(TCPPeer(of: listener) == .unknown)
    }
  }

  /// Changes the user of this thread only. The kernel records that user in each new socket.
  private func setUser(_ user: uid_t) throws {
    typealias SetUser = @convention(c) (uid_t) -> Int32
    _ = unsafeBitCast(try #require(dlsym(nil, "setfsuid")), to: SetUser.self)(user)
  }

  @Test(.enabled(if: geteuid() == 0)) func aListenerTurnsAnotherUserAwayUnlessAllowed() throws {
    func connect(_ options: TransportOptions) throws -> Meeting {
      let meeting = try Meeting(at: .tcp(host: "127.0.0.1", port: 0), options: options)
      guard case .tcp(_, let port) = meeting.listener.address else { return meeting }
      try setUser(65_534)
      let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      try setUser(0)
      defer { close(client) }
      var name = sockaddr_in()
      name.sin_family = sa_family_t(AF_INET)
      name.sin_addr.s_addr = inet_addr("127.0.0.1")
      name.sin_port = port.bigEndian
      let isConnected = withUnsafePointer(to: &name) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          Glibc.connect(client, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
      }
      try #require(isConnected)
      #expect(
        meeting.loop.run(until: { meeting.accepted.count + meeting.refusals.count == 1 }, limit: hangLimit))
      return meeting
    }
    let trusted = TrustedUsers().names()
    let meeting = try connect(TransportOptions())
    #expect(meeting.refusals == ["the process belongs to user 65534, but only \(trusted) may connect"])
    try meeting.connect().close()
    var open = TransportOptions()
    open.allowsOtherUsers = true
    #expect(try connect(open).accepted.count == 1)
  }

  @Test func whoMayConnectByTCPIsWhoMayConnectByUnixSockets() {
    let trusted = TrustedUsers(user: 1_000, sudoUser: nil)
    #expect(trusted.refusal(of: TCPPeer.user(1_000)) == nil)
    #expect(trusted.refusal(of: TCPPeer.user(0)) == nil)
    #expect(trusted.refusal(of: TCPPeer.remote) == nil, "a matter of --allow-remote")
    #expect(
      trusted.refusal(of: TCPPeer.user(1_001))
        == "the process belongs to user 1001, but only root and user 1000 may connect")
    #expect(
      trusted.refusal(of: TCPPeer.unknown)
        == "the system does not show the process's user, but only root and user 1000 may connect")
  }

  @Test(.enabled(if: geteuid() == 0)) func anotherUsersSocketIsThatUsers() throws {
    try connected { client, listener in
      try setUser(65534)
      let accepted = accept(listener, nil, nil)
      try setUser(0)
      defer { close(accepted) }
      #expect(TCPPeer(of: client) == .user(65534))
      #expect(TCPPeer(of: accepted) == .user(0))
    }
  }
}
