import Glibc
import TestSupport
import Testing

@Suite(.waits) struct PlugCommandTests {
  @Test func aServerThatSaysNothingIsGivenUpWhenTheTimeIsUp() throws {
    let server = try OddServer()
    let plug = try Program.run("plug", server.address, "--timeout", "200ms")
    #expect(plug.ending == .exit(3))
    #expect(plug.err == "easim: no accessory at \(server.address) within 200ms: it does not answer\n")
  }

  /// The beginning of a device list that claims to contain 4,096 devices.
  static let endlessList: [UInt8] = [0x01, 0x11, 0x00, 0x05, 0, 0, 0, 0, 0, 0, 0x10, 0]

  @Test func anAnswerThatNeverComesToItsEndHoldsUpNobody() throws {
    let server = try OddServer()
    let plug = try Program("plug", server.address, "--timeout", "20s")
    let client = try server.accept()
    client.send(Self.endlessList)
    // When easim receives SIGINT, it does not wait for the end of the list.
    plug.send(SIGINT)
    repeat { client.send([0xFF]) } while !client.isGone(within: 10)
    let remains = try plug.wait()
    #expect(remains.ending == .exit(1))
    #expect(remains.err.hasSuffix("easim: stopped by Ctrl-C before an accessory was attached\n"), "\(remains.err)")
  }

  @Test(arguments: [
    (
      Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8),
      "the server does not speak USB/IP 1.1.1: its answer begins with 72, 84"
    ),
    (
      [0x01, 0x11, 0x00, 0x05, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF],
      "the server lists 4294967295 devices, more than 4096"
    ),
    ([0x01, 0x11, 0x00, 0x05, 0, 0, 0, 0, 0, 0, 0, 0], "the server has no accessory"),
  ]) func whatAServerSaysInsteadIsTheReason(answer: [UInt8], reason: String) throws {
    let server = try OddServer()
    let plug = try Program("plug", server.address, "--timeout", "500ms")
    try server.accept().send(answer)
    let remains = try plug.wait()
    #expect(remains.ending == .exit(3))
    #expect(remains.err.hasSuffix(": \(reason)\n"), "\(remains.err)")
  }

  @Test func aServerThatIsNotThereIsSaid() throws {
    let gone = try OddServer().address
    let plug = try Program.run("plug", gone, "--timeout", "200ms")
    #expect(plug.ending == .exit(3))
    #expect(plug.err.hasSuffix(": Connection refused\n"), "\(plug.err)")
  }

  /// Returns a list with one device, "1-1", whose only interface is of this kind.
  static func list(_ kind: [UInt8]) -> [UInt8] {
    let record =
      [UInt8](repeating: 0, count: 256) + Array("1-1".utf8) + [UInt8](repeating: 0, count: 29)
      + [0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0x12, 0x09, 0x00, 0x01, 0x01, 0x00, 0, 0, 0, 1, 1, 1]
    return [0x01, 0x11, 0x00, 0x05, 0, 0, 0, 0, 0, 0, 0, 1] + record + kind + [0]
  }

  static let keyboard = list([0x03, 0x01, 0x01])
  static let accessory = list([0xFF, 0xF0, 0x00])

  @Test func aKeyboardIsNotAttached() throws {
    let server = try OddServer()
    let plug = try Program("plug", server.address, "--timeout", "2s")
    let client = try server.accept()
    client.send(Self.keyboard)
    let remains = try plug.wait()
    #expect(remains.ending == .exit(3))
    let why =
      "it is not an accessory: its interfaces are 03/01/01; an accessory needs an interface FF/F0/00 with a bulk pair; "
      + "to attach it anyway, use --any-device"
    #expect(remains.out.contains("1-1: \(why)"), "\(remains.out)")
    #expect(remains.err.hasSuffix(": \(why)\n"), "\(remains.err)")
  }

  /// easim sends an import request only for a device that it may attach.
  @Test(arguments: [(keyboard, ["--any-device"]), (accessory, [])])
  func whatMayBeAttachedIsAskedFor(list: [UInt8], options: [String]) throws {
    let server = try OddServer()
    let plug = try Program(["plug", server.address, "--timeout", "20s"] + options)
    let client = try server.accept()
    client.send(list)
    #expect(try server.accept().receive(8) == [0x01, 0x11, 0x80, 0x03, 0, 0, 0, 0])
    #expect(try plug.interrupt().ending == .exit(1))
  }

  /// A device that easim simulates passes all checks that can run without a virtual host controller.
  @Test(.enabled(if: access("/sys/devices/platform/vhci_hcd.0", F_OK) != 0))
  func aSimulatedAccessoryIsAccepted() throws {
    let place = TemporaryFolder()
    let run = try Program(
      ["run", "echo", "--on", "usbip:127.0.0.1:0"], environment: ["EASIM_LOCAL": place.file("local")])
    let line = try run.line("plugged in at ")
    let address = try #require(line.split(separator: " ").first { $0.hasPrefix("usbip:") }).filter { $0 != "," }
    let plug = try Program.run("plug", address, "--timeout", "30s")
    #expect(plug.ending == .exit(2))
    #expect(plug.err.contains("no virtual USB host controller"), "\(plug.err)")
  }

  @Test(.enabled(if: geteuid() == 0)) func aServerOfAnotherUserIsNotTrusted() throws {
    func plug(
      _ options: [String] = [], sudoUser: String? = nil, _ server: OddServer
    ) throws -> Program {
      try Program(
        ["plug", server.address, "--timeout", "20s"] + options, environment: sudoUser.map { ["SUDO_UID": $0] } ?? [:])
    }
    for sudoUser in [nil, "1000", "65534x", "", "-2"] {
      let server = try OddServer()
      let refused = try plug(sudoUser: sudoUser, server)
      let client = try server.accept(as: 65534)
      client.send(Self.accessory)
      let trusted = sudoUser == "1000" ? "root or user 1000" : "root"
      let why =
        "the server belongs to user 65534, but only servers of \(trusted) may attach devices to this kernel; to trust "
        + "it anyway, use --any-user"
      try refused.line(why)
      #expect(try refused.interrupt().ending == .exit(1))
    }
    for (options, sudoUser) in [(["--any-user"], nil), ([], "65534")] as [([String], String?)] {
      let server = try OddServer()
      let trusting = try plug(options, sudoUser: sudoUser, server)
      let client = try server.accept(as: 65534)
      client.send(Self.accessory)
      #expect(try server.accept(as: 65534).receive(8) == [0x01, 0x11, 0x80, 0x03, 0, 0, 0, 0])
      #expect(try trusting.interrupt().ending == .exit(1))
    }
  }
}

final class OddServer {
  private let descriptor: Int32
  let address: String

  init() throws {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    try #require(descriptor >= 0)
    self.descriptor = descriptor
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_addr.s_addr = inet_addr("127.0.0.1")
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let port = withUnsafeMutablePointer(to: &name) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { name -> UInt16? in
        guard bind(descriptor, name, size) == 0, listen(descriptor, 8) == 0 else { return nil }
        guard getsockname(descriptor, name, &size) == 0 else { return nil }
        return name.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { UInt16(bigEndian: $0.pointee.sin_port) }
      }
    }
    address = "usbip:127.0.0.1:\(try #require(port))"
  }

  deinit { close(descriptor) }

  func accept() throws -> Client {
    var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    try #require(poll(&wait, 1, Int32(Program.hangLimit)) == 1, "nobody connected")
    return Client(descriptor: Glibc.accept(descriptor, nil, nil))
  }

  /// Accepts a connection as another user. This requires root.
  func accept(as user: UInt32) throws -> Client {
    try asUser(user) { try accept() }
  }

  final class Client {
    private let descriptor: Int32

    init(descriptor: Int32) {
      self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    func send(_ bytes: [UInt8]) {
      _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    func receive(_ count: Int) -> [UInt8] {
      var bytes = [UInt8](repeating: 0, count: count)
      let read = recv(descriptor, &bytes, count, Int32(MSG_WAITALL))
      return Array(bytes.prefix(max(0, read)))
    }

    func isGone(within milliseconds: Int32) -> Bool {
      var wait = pollfd(fd: descriptor, events: 0, revents: 0)
      return poll(&wait, 1, milliseconds) > 0
    }
  }
}
