import AccessoryCore
import AccessoryUSB
import BenchmarkFloors
import Glibc
import LinuxIO

// Measures only the USB/IP server: a C client writes 10,000 bytes in one transfer and reads them back in another. The
// baseline is a plain echo over a socket, with the same number of bytes in each direction, including the two headers of
// 48 bytes each.

extension Figure {
  private static let burst = 10_000
  private static let headers = 96

  static var usbips: [Figure] { [1, 4].map { usbip(inFlight: $0) } }

  private static func usbip(inFlight: Int) -> Figure {
    Figure(
      name: "usbip.echo.\(inFlight)",
      summary: "10K transfers echoed by an accessory behind the USB/IP server, two processes, \(inFlight) in flight",
      unit: "echoes/s",
      floor: "an echo in C of \(burst + headers) bytes between two processes over a socketpair, \(inFlight) in flight",
      target: inFlight == 4 ? .ratioAtLeast(0.85) : .none
    ) { plan in
      let ours = try OtherProcess([USBPart.server.rawValue])
      try USBIPBytes.importAndConfigure(ours.socket)
      let floor = try OtherProcess([EchoPart.floor.rawValue])
      floor_stay_on(0)
      defer { floor_stay_on(-1) }
      let driveOurs = { try check(floor_usbip_drive(ours.socket, burst, $0, inFlight), "drive the USB/IP server") }
      let driveFloor = {
        try check(floor_echo_drive(floor.socket, burst + headers, $0, inFlight), "drive the floor's echo")
      }
      let count = try Stopwatch.repetitions(for: plan.seconds) { try driveFloor($0) }
      try driveOurs(count / 4 + 1)
      let pairs = try plan.pairs(
        { Double(count) / (try Stopwatch.time { try driveOurs(count) }) },
        { Double(count) / (try Stopwatch.time { try driveFloor(count) }) })
      close(ours.socket)
      close(floor.socket)
      try ours.wait()
      try floor.wait()
      return Measurement(pairs)
    }
  }

  /// Throws an error if a function of the baseline returned a code other than 0.
  static func check(_ code: Int32, _ what: String) throws(MeasuringError) {
    if code != 0 { throw .system(what, code: code) }
  }
}

/// The messages with which a host imports a device and selects its configuration.
enum USBIPBytes {
  static func importAndConfigure(_ socket: Int32) throws {
    var wait = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
    func exchange(_ request: [UInt8], answer size: Int) throws {
      guard send(socket, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
        throw MeasuringError.system("ask the USB/IP server", code: errno)
      }
      var left = [UInt8](repeating: 0, count: size)
      while !left.isEmpty {
        guard poll(&wait, 1, 10_000) == 1 else { throw MeasuringError.failed("the USB/IP server does not answer") }
        let count = recv(socket, &left, left.count, 0)
        guard count > 0 else { throw MeasuringError.failed("the USB/IP server hung up") }
        left.removeLast(count)
      }
    }
    try exchange(USBIPAnswers.importRequest("1-1"), answer: 320)
    var choose = [UInt8](repeating: 0, count: 48)
    (choose[3], choose[7], choose[41], choose[42]) = (1, 1, 9, 1)
    try exchange(choose, answer: 48)
  }
}

/// The role of the second process in the USB figures.
enum USBPart: String {
  /// A USB/IP server with an accessory that echoes transfers.
  case server = "usbip-server"
  /// A USB/IP server with an accessory that speaks iAP2, plugged into this machine.
  case accessory = "usb-accessory"
  /// An echoing device in C, plugged into this machine.
  case floor = "usb-floor"
  /// A plain variant of the C device, which copies its replies.
  case plainFloor = "usb-plain-floor"

  /// Runs until the other end closes its socket.
  func play() throws {
    switch self {
    case .server:
      floor_stay_on(1)
      let echo = TransferEcho()
      try Self.serve(OtherProcess.socket, until: { echo.isOver }) { cable, _ in cable.main.start(echo) }
    case .accessory:
      let kernel = try PluggedIn()
      var accessory: EchoAccessory?
      try Self.serve(kernel.served, whenReady: kernel.plugIn, until: { accessory?.isOver == true }) { cable, loop in
        let made = EchoAccessory(maximumPacket: 65_535, cable: cable, on: loop)
        made.start()
        accessory = made
      }
    case .floor: try PluggedIn().serveInC(isPlain: false)
    case .plainFloor: try PluggedIn().serveInC(isPlain: true)
    }
  }

  private static func serve(
    _ socket: Int32, whenReady: (EpollLoop) throws -> Void = { _ in }, until isDone: () -> Bool = { false },
    _ onEvent: @escaping (Cable, EpollLoop) -> Void
  ) throws {
    let loop = try EpollLoop(seed: 2)
    var isOver = false
    let server = USBIPServer(on: loop) { sentence in
      write(sentence, to: STDERR_FILENO)
      isOver = true
    }
    let export = server.makeExport(USBAccessoryShape(manufacturer: "Nobody", name: "Echo", serial: "0001"))
    export.plugIn { onEvent($0, loop) }
    server.accept(DescriptorChannel(taking: socket, as: .socket, on: loop), from: "the measurement")
    try whenReady(loop)
    loop.run(until: { isOver || isDone() })
  }
}

/// Sends back each transfer in one piece.
private final class TransferEcho: ChannelHandler {
  private(set) var isOver = false

  func channel(_ channel: any Channel, received bytes: RawSpan) {
    let taken = channel.send(bytes)
    precondition(taken == bytes.byteCount, "more is in flight than an accessory holds for its host")
  }

  func channelIsWritable(_ channel: any Channel) {}
  func channel(_ channel: any Channel, endedWith end: ChannelEnd) { isOver = true }
}
