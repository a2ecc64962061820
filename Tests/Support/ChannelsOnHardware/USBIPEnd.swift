import AccessoryCore
import AccessoryUSB
import ChannelSuite
import Glibc
import LinuxIO

extension ChannelFactory {
  /// The accessory on a USB/IP server, plugged into the kernel's virtual host controller. When an accessory closes, it
  /// is unplugged, so the bytes that the host has not requested yet are lost.
  static let usbip = USBRig.factory(
    "USB/IP", traits: [.leftCloseDelivers, .canBeCut]
  ) { try USBIPEnd(on: $0) }
}

extension DeathFactory {
  /// The factory for channels at the host's end. Unplugging the accessory simulates its death.
  static let usbip = USBRig.deathFactory("USB/IP") { try USBIPEnd(on: $0) }
}

private final class USBIPEnd: AccessoryEnd {
  private let loop: EpollLoop
  private let server: USBIPServer
  private let export: USBIPExport
  private let controller: VirtualHostController
  private var port: Int?

  init(on loop: EpollLoop) throws {
    self.loop = loop
    controller = try VirtualHostController()
    server = USBIPServer(on: loop) { print("the server says: \($0)") }
    export = server.makeExport(USBAccessoryShape(manufacturer: "easim", name: "the channel suite", serial: "SUITE-1"))
  }

  func plugIn(_ onEvent: @escaping (Cable) -> Void) throws {
    export.plugIn(onEvent)
    var pair: [Int32] = [-1, -1]
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    guard socketpair(AF_UNIX, type, 0, &pair) == 0 else { throw RigError("there is no pair of sockets: \(errno)") }
    // The kernel keeps its own reference to the socket.
    defer { close(pair[1]) }
    server.accept(DescriptorChannel(taking: pair[0], as: .socket, on: loop), from: "the suite")
    let request = USBIPAnswers.importRequest(export.busID)
    guard send(pair[1], request, request.count, 0) == request.count else {
      throw RigError("the server cannot be asked: \(errno)")
    }
    // The bytes after the answer belong to the kernel, so none of them may be read here.
    var answer: [UInt8] = []
    _ = loop.run(
      until: {
        var piece = [UInt8](repeating: 0, count: 320 - answer.count)
        let count = recv(pair[1], &piece, piece.count, 0)
        if count > 0 { answer += piece[..<count] }
        return answer.count == 320
      }, limit: USBRig.hangLimit)
    guard answer.count == 320 else { throw RigError("the server's answer was \(answer)") }
    port = try controller.attach(pair[1], USBIPOffer(record: Array(answer[8...])))
  }

  func pull() {
    if let port, (try? controller.isUsed(port)) == true { controller.detach(port) }
    port = nil
  }

  func tearDown() {
    if export.isPluggedIn { export.unplug() }
    server.close()
  }
}
