import AccessoryCore
import AccessoryUSB
import BenchmarkFloors
import Glibc
import LinuxIO

// Bursts of 10,000 bytes, echoed over USB. The path consists of easim's host with libusb, the kernel's USB and
// vhci_hcd, and the USB/IP server with easim's accessory; iAP2 runs between the two ends. The baselines are C clients
// with libusb and a C device on USB/IP, over the same path. One client is a plain program with blocking calls; the
// other does as little as possible. The devices are plugged into the machine that measures, so use a separate one:
// Scripts/bench --kernel.

extension Figure {
  private static let size = 10_000

  static var usbs: [Figure] {
    [
      usb(
        "usb.plain", beside: "a plain echo in C over the same path: a burst is made, written, read and compared",
        target: .ratioAtLeast(0.8), isPlain: true
      ) { usb, count in
        for _ in 0..<count {
          let code = floor_usb_exchange(usb, size)
          if code != 0 { return code }
        }
        return 0
      }
    ]
      + [1, 4].map { inFlight in
        usb(
          "usb.echo.\(inFlight)", inFlight: inFlight,
          beside: "libusb and a USB/IP echo in C, transfers of 10,000 bytes, four reads waiting, \(inFlight) in flight",
          target: .none, isPlain: false
        ) { floor_usb_drive($0, size, $1, inFlight) }
      }
  }

  private static func usb(
    _ name: String, inFlight: Int = 1, beside floor: String, target: Target, isPlain: Bool,
    drive: @escaping (OpaquePointer, Int) -> Int32
  ) -> Figure {
    Figure(
      name: name,
      summary: "10K bursts echoed through both peers over a kernel's USB and USB/IP, \(inFlight) in flight",
      unit: "bursts/s", floor: floor, target: target, runner: "Scripts/bench --kernel"
    ) { plan in
      let floor = try FloorUSBEcho(isPlain: isPlain)
      let ours = try OurUSBEcho(burst: size, compares: isPlain)
      let driveFloor = { try check(drive(floor.usb, $0), "drive the floor's echo") }
      let count = try Stopwatch.repetitions(for: plan.seconds) { try driveFloor($0) }
      try ours.run(bursts: count / 4 + 1, inFlight: inFlight)
      let pairs = try plan.pairs(
        { Double(count) / (try Stopwatch.time { try ours.run(bursts: count, inFlight: inFlight) }) },
        { Double(count) / (try Stopwatch.time { try driveFloor(count) }) })
      try ours.end()
      try floor.end()
      return Measurement(pairs)
    }
  }
}

/// easim at both ends.
private final class OurUSBEcho {
  private let other: OtherProcess
  private let loop: EpollLoop
  private let devices: USBDevices
  private let device: EchoDevice

  init(burst: Int, compares: Bool) throws {
    let loop = try EpollLoop(seed: 1)
    var usable: USBAccessory?
    devices = USBDevices(on: loop) { change in
      switch change {
      case .arrived(let one), .changed(let one, _):
        if one.serial == "0001", one.trouble == nil, one.activeConfiguration != nil { usable = one }
      case .left: break
      }
    }
    try devices.start()
    other = try OtherProcess([USBPart.accessory.rawValue])
    loop.run(until: { usable != nil }, limit: .seconds(30))
    guard let usable else { throw MeasuringError.failed("the accessory was not seen within half a minute") }
    var opened: Result<USBCable, USBHostError>?
    USBOpening(usable, on: loop) { opened = $0 }
    loop.run(until: { opened != nil }, limit: .seconds(30))
    guard let cable = try opened?.get().cable else { throw MeasuringError.failed("the accessory was not opened") }
    device = EchoDevice(maximumPacket: 65_535, burst: burst, cable: cable, on: loop)
    self.loop = loop
    if compares { device.compare() }
    device.start()
    try run { device.isReady || device.failure != nil }
  }

  func run(bursts: Int, inFlight: Int) throws {
    device.drive(bursts: bursts, inFlight: inFlight)
    try run { device.isDone }
  }

  func end() throws {
    device.close()
    loop.run(until: { USBHost.isIdle }, limit: .seconds(30))
    devices.stop()
    try PluggedIn.end(other)
  }

  private func run(until condition: () -> Bool) throws {
    let reached = loop.run(until: condition, limit: .seconds(60))
    if let failure = device.failure { throw MeasuringError.failed(failure) }
    guard reached else { throw MeasuringError.failed("the echo did not come within a minute") }
  }
}

/// Plain C at both ends.
private final class FloorUSBEcho {
  let usb: OpaquePointer
  private let other: OtherProcess

  init(isPlain: Bool) throws {
    other = try OtherProcess([(isPlain ? USBPart.plainFloor : .floor).rawValue])
    var found: OpaquePointer?
    for _ in 0..<600 where found == nil {
      usleep(50_000)
      found = floor_usb_open(0x1209, 0x0002, isPlain ? 0 : 1)
    }
    guard let found else { throw MeasuringError.failed("the floor's device was not seen within half a minute") }
    usb = found
  }

  func end() throws {
    floor_usb_close(usb)
    try PluggedIn.end(other)
  }
}

/// A connection whose other end was passed to the kernel's virtual host controller.
struct PluggedIn {
  /// This process's end.
  let served: Int32
  private let kernels: Int32

  init() throws {
    var pair: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &pair) == 0 else {
      throw MeasuringError.system("make a pair of sockets", code: errno)
    }
    (served, kernels) = (pair[0], pair[1])
  }

  /// Imports the accessory from a USB/IP server on this process's end, and plugs it in.
  func plugIn(_ loop: EpollLoop) throws {
    _ = fcntl(served, F_SETFL, O_NONBLOCK)
    let request = USBIPAnswers.importRequest("1-1")
    guard send(kernels, request, request.count, 0) == request.count else {
      throw MeasuringError.system("ask the USB/IP server", code: errno)
    }
    var answer: [UInt8] = []
    loop.run(
      until: {
        var piece = [UInt8](repeating: 0, count: 320 - answer.count)
        let count = recv(kernels, &piece, piece.count, Int32(MSG_DONTWAIT))
        if count > 0 { answer += piece[..<count] }
        return answer.count == 320
      }, limit: .seconds(10))
    guard answer.count == 320, answer[..<8] == [1, 0x11, 0, 3, 0, 0, 0, 0] else {
      throw MeasuringError.failed("the USB/IP server gives no device")
    }
    try attach(USBIPOffer(record: Array(answer[8...])))
  }

  /// Plugs in a device that is implemented in C.
  func serveInC(isPlain: Bool) throws {
    var record = [UInt8](repeating: 0, count: 312)
    // The device is on bus 1, has number 2, and runs at high speed.
    (record[291], record[295], record[299]) = (1, 2, 3)
    try attach(USBIPOffer(record: record))
    try Figure.check(floor_usbip_serve(served, isPlain ? 1 : 0), "serve the floor's device")
  }

  private func attach(_ offer: USBIPOffer) throws {
    _ = try VirtualHostController().attach(kernels, offer)
    close(kernels)
  }

  /// Ends a process that plugged in a device. The kernel then also removes the device.
  static func end(_ process: OtherProcess) throws {
    kill(process.process, SIGKILL)
    close(process.socket)
    try? process.wait()
  }
}
