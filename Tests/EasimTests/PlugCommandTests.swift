import Glibc
import TestSupport
import Testing

/// `easim plug`, with servers that are none.
@Suite struct PlugCommandTests {
  @Test func aServerThatSaysNothingIsGivenUpWhenTheTimeIsUp() throws {
    let server = try OddServer()
    let plug = try Program.run("plug", server.address, "--timeout", "200ms")
    #expect(plug.ending == .exit(3))
    #expect(plug.err == "easim plug: no accessory at \(server.address) within 0.2 seconds: no answer\n")
  }

  /// What it begins to say is a list of 4,096 devices.
  static let endlessList: [UInt8] = [0x01, 0x11, 0x00, 0x05, 0, 0, 0, 0, 0, 0, 0x10, 0]

  @Test func anAnswerThatNeverComesToItsEndHoldsUpNobody() throws {
    let server = try OddServer()
    let plug = try Program("plug", server.address, "--timeout", "20s")
    let client = try server.accept()
    client.send(Self.endlessList)
    // The end is not waited for by a program that was told to stop.
    plug.send(SIGINT)
    repeat { client.send([0xFF]) } while !client.isGone(within: 10)
    let remains = try plug.wait()
    #expect(remains.ending == .exit(1))
    #expect(remains.err == "easim: no accessory was attached\n")
  }

  @Test(arguments: [
    (Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), "it does not speak USB/IP 1.1.1: its answer begins with 72, 84"),
    ([0x01, 0x11, 0x00, 0x05, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF], "it says it has 4294967295 devices"),
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
}

/// A socket that programs take for a USB/IP server.
private final class OddServer {
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

  /// The next program that connects.
  func accept() throws -> Client {
    var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    try #require(poll(&wait, 1, Int32(Program.hangLimit)) == 1, "nobody connected")
    return Client(descriptor: Glibc.accept(descriptor, nil, nil))
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

    /// Whether it hung up before so many milliseconds were over.
    func isGone(within milliseconds: Int32) -> Bool {
      var wait = pollfd(fd: descriptor, events: 0, revents: 0)
      return poll(&wait, 1, milliseconds) > 0
    }
  }
}
