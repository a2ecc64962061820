import AccessoryCore
import Glibc
import TestSupport
import Testing

@testable import LinuxIO

@Suite(.waits) struct TCPTests {
  static let anyPort = Address.tcp(host: "127.0.0.1", port: 0)

  @Test func aFreePortIsChosenAndTold() throws {
    let meeting = try Meeting(at: Self.anyPort)
    guard case .tcp("127.0.0.1", let port) = meeting.listener.address else {
      Issue.record("listens at \(meeting.listener.address)")
      return
    }
    #expect(port != 0)
    let both = try meeting.connect()
    #expect(both.hostSees.address == meeting.listener.address)
    guard case .tcp("127.0.0.1", let from) = both.accessorySees.address else {
      Issue.record("came from \(both.accessorySees)")
      return
    }
    #expect(from != 0 && from != port)
    both.close()
  }

  /// In the kernel's table, the timer of a connection that is waiting for its keep-alive is 02.
  @Test func bothEndsOfAConnectionAreKeptAlive() throws {
    let meeting = try Meeting(at: Self.anyPort)
    guard case .tcp(_, let port) = meeting.listener.address else { return }
    let both = try meeting.connect()
    let table = String(decoding: try #require(SmallFile.read("/proc/net/tcp", limit: .max)), as: UTF8.self)
    let number = String(port, radix: 16, uppercase: true)
    let name = "0100007F:" + String(repeating: "0", count: 4 - number.count) + number
    let all: [[Substring]] = table.split(separator: "\n").map { $0.split(separator: " ") }
    let lines = all.filter { (line: [Substring]) -> Bool in
      guard line.count > 5, line[3] == "01" else { return false }
      return line[1] == name || line[2] == name
    }
    // If the table changes while the test reads it, the kernel may list a connection twice.
    #expect(Set(lines.map { $0[1] }).count == 2)
    #expect(lines.allSatisfy { $0[5].hasPrefix("02:") })
    both.close()
  }

  @Test func localhostIsTriedInBothFamilies() throws {
    for host in ["127.0.0.1", "::1"] {
      let meeting = try Meeting(at: .tcp(host: host, port: 0))
      guard case .tcp(_, let port) = meeting.listener.address else { continue }
      let answer = meeting.loop.connect(to: .tcp(host: "localhost", port: port))
      #expect(meeting.loop.run(until: { meeting.accepted.count == 1 }, limit: hangLimit))
      try answer.get().cable.main.close()
    }
  }

  @Test(arguments: ["0.0.0.0", "192.0.2.1", "::", "2001:db8::1"])
  func whatIsNotThisMachineNeedsPermission(host: String) throws {
    let address = Address.tcp(host: host, port: 7_000)
    #expect(throws: TransportError.remoteNotAllowed(address)) { try Meeting(at: address) }
    #expect(try EpollLoop().refusal(from: address) == .remoteNotAllowed(address))
  }

  @Test func allInterfacesMayBeListenedAtWhenRemotePeersAreAllowed() throws {
    var remote = TransportOptions()
    remote.allowsRemote = true
    let meeting = try Meeting(at: .tcp(host: "0.0.0.0", port: 0), options: remote)
    guard case .tcp(_, let port) = meeting.listener.address else { return }
    try meeting.loop.connect(to: .tcp(host: "127.0.0.1", port: port)).get().cable.main.close()
  }

  @Test func aNameIsNotLookedUpWithoutPermissionNorToListenAt() throws {
    let address = Address.tcp(host: "glasses.example", port: 7_000)
    #expect(try EpollLoop().refusal(from: address) == .remoteNotAllowed(address))
    #expect(throws: TransportError.self) { try Meeting(at: address) }
  }

  /// A label in a host name is limited to 63 characters, so the resolver refuses this name without a query.
  @Test func aNameWithoutAnAddressIsReported() throws {
    var remote = TransportOptions()
    remote.allowsRemote = true
    let address = Address.tcp(host: String(repeating: "a", count: 70), port: 7_000)
    guard case .nobodyThere(address, let detail) = try EpollLoop().refusal(from: address, options: remote) else {
      Issue.record("not reported")
      return
    }
    #expect(detail.contains("has no address"))
  }

  @Test(.enabled(if: TCPTests.localName != nil, "this machine's hosts file names itself"))
  func aNameIsLookedUpOnAThreadOfItsOwn() throws {
    var remote = TransportOptions()
    remote.allowsRemote = true
    let (name, host) = try #require(Self.localName)
    let meeting = try Meeting(at: .tcp(host: host, port: 0), options: remote)
    guard case .tcp(_, let port) = meeting.listener.address else { return }
    let answer = meeting.loop.connect(to: .tcp(host: name, port: port), options: remote)
    #expect(meeting.loop.run(until: { meeting.accepted.count == 1 }, limit: hangLimit))
    try answer.get().cable.main.close()
  }

  @Test func aPortInUseNamesWhoHasIt() throws {
    let meeting = try Meeting(at: Self.anyPort)
    let address = meeting.listener.address
    #expect(throws: TransportError.inUse(address, pid: getpid())) { try Meeting(at: address) }
  }

  @Test func aPortThatNobodyListensAtIsRefused() throws {
    let meeting = try Meeting(at: Self.anyPort)
    let address = meeting.listener.address
    meeting.listener.close()
    #expect(meeting.loop.refusal(from: address) == .nobodyThere(address, "Connection refused"))
  }

  @Test func portZeroIsNothingToConnectTo() throws {
    guard case .unusable = try EpollLoop().refusal(from: Self.anyPort) else {
      Issue.record("port 0 was tried")
      return
    }
  }

  @Test func aListenerThatNeverAnswersIsTimedOut() throws {
    let (listener, port) = try RawTCP.listen(backlog: 0)
    defer { close(listener) }
    let loop = try EpollLoop()
    let address = Address.tcp(host: "127.0.0.1", port: port)
    // The backlog holds a few connections. The system silently drops all other connections.
    var connected: [any Channel] = []
    var problem: TransportError?
    while problem == nil, connected.count < 10 {
      switch loop.connect(to: address, timeout: .milliseconds(40)) {
      case .success((let cable, _)): connected.append(cable.main)
      case .failure(let error): problem = error
      }
    }
    #expect(problem == .timedOut(address, after: .milliseconds(40)))
    for channel in connected { channel.close() }
  }

  /// A name for this machine in the hosts file, other than `localhost`, and its numeric address.
  static let localName: (name: String, host: String)? = {
    guard let file = fopen("/etc/hosts", "r") else { return nil }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 1_024)
    while fgets(&line, Int32(line.count), file) != nil {
      let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      let words = text.prefix { $0 != "#" }.split(whereSeparator: \.isWhitespace)
      guard let host = words.first, host == "::1" || host.hasPrefix("127.") else { continue }
      if let name = words.dropFirst().first(where: { $0 != "localhost" }) { return (String(name), String(host)) }
    }
    return nil
  }()
}
