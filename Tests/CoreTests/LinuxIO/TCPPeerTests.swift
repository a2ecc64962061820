import Glibc
import TestSupport
import Testing

@testable import LinuxIO

/// Tests how easim finds the user that owns a TCP peer's socket.
@Suite(.waits) struct TCPPeerTests {
  @Test func anAddressOfThisMachineIsHere() {
    let (own, other) = (TCPEndpoint(host: [192, 0, 2, 1], port: 1), TCPEndpoint(host: [192, 0, 2, 7], port: 1))
    #expect(TCPEndpoint(host: [192, 0, 2, 1], port: 2).isHere(for: own))
    #expect(TCPEndpoint(host: [127, 9, 9, 9], port: 2).isHere(for: own))
    #expect(TCPEndpoint(host: [UInt8](repeating: 0, count: 15) + [1], port: 2).isHere(for: own))
    #expect(!other.isHere(for: own))
    let mapped = TCPEndpoint(host: [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF, 192, 0, 2, 1], port: 1)
    #expect(mapped == own)
  }

  private func connected(_ body: (_ client: Int32, _ listener: Int32) throws -> Void) throws {
    let (listener, port) = try RawTCP.listen(backlog: 8)
    let client = try RawTCP.connect(port)
    defer {
      close(listener)
      close(client)
    }
    try body(client, listener)
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
      let client = try RawTCP.connect(port)
      try setUser(0)
      defer { close(client) }
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
