import AccessoryCore
import AccessorySimulator
import BenchmarkFloors
import Glibc
import LinuxIO

/// easim at both ends of a line, with the accessory in another process.
final class OurEcho {
  let other: OtherProcess
  private let loop: EpollLoop
  private let device: EchoDevice

  /// Returns when the accessory is ready and a session is open.
  init(over medium: LineMedium, packet: UInt16, burst: Int, part: EchoPart = .accessory) throws {
    other = try OtherProcess([part.rawValue, medium.rawValue, String(packet)], over: medium)
    loop = try EpollLoop(seed: 1)
    let channel = DescriptorChannel(taking: other.socket, as: medium.channelMedium, on: loop)
    // The limits that an end announces apply to the bytes that it receives. The identification must fit into a packet
    // even if packets are small.
    device = EchoDevice(
      maximumPacket: part == .reader ? 65_535 : packet, burst: burst, cable: Cable(main: channel), on: loop)
    device.start()
    try run { device.isReady || device.failure != nil }
  }

  /// How many packets the device has sent and received so far.
  var packets: Int { device.packets }

  func run(bursts: Int, inFlight: Int) throws {
    device.drive(bursts: bursts, inFlight: inFlight)
    try run { device.isDone }
  }

  /// Sends the given number of bytes in one direction.
  func stream(_ bytes: Int) throws {
    device.stream(bytes)
    try run { device.isDone }
  }

  /// Sends the given number of bursts, one after the other. Returns how long each took.
  func ping(_ count: Int) throws -> [Int64] {
    device.isTimed = true
    defer { device.isTimed = false }
    try run(bursts: count, inFlight: 1)
    return device.times
  }

  func end() throws {
    device.close()
    // Lets the channel send the bytes that it has accepted.
    loop.run(limit: .milliseconds(20))
    try other.wait()
  }

  private func run(until condition: () -> Bool) throws {
    let reached = loop.run(until: condition, limit: .seconds(60))
    if let failure = device.failure { throw MeasuringError.failed(failure) }
    guard reached else { throw MeasuringError.failed("the echo did not come within a minute") }
  }
}

/// Plain C at both ends.
final class FloorEcho {
  let other: OtherProcess
  private let burst: Int

  init(over medium: LineMedium, burst: Int, part: EchoPart = .floor) throws {
    other = try OtherProcess([part.rawValue], over: medium)
    self.burst = burst
  }

  /// Sends the given number of packets in one direction, each with a burst as its payload.
  func stream(_ packets: Int) throws {
    let code = floor_stream_drive(other.socket, burst, packets)
    if code != 0 { throw MeasuringError.system("drive the floor's stream", code: code) }
  }

  func run(bursts: Int, inFlight: Int) throws {
    let code = floor_echo_drive(other.socket, burst, bursts, inFlight)
    if code != 0 { throw MeasuringError.system("drive the floor's echo", code: code) }
  }

  /// Sends the given number of bursts, one after the other. Returns how long each took.
  func ping(_ count: Int) throws -> [Int64] {
    var times = [Int64](repeating: 0, count: count)
    let code = floor_ping(other.socket, burst, count, &times)
    if code != 0 { throw MeasuringError.system("drive the floor's ping-pong", code: code) }
    return times
  }

  func end() throws {
    close(other.socket)
    try other.wait()
  }
}

/// An established link in plain C at both ends, which does what iAP2 requires.
final class FloorLink {
  let other: OtherProcess
  private let link: OpaquePointer
  private let burst: Int

  init(over medium: LineMedium, packet: UInt16, burst: Int) throws {
    other = try OtherProcess([EchoPart.floorLink.rawValue, String(packet)], over: medium)
    guard let link = floor_link_open(other.socket, Int(packet)) else {
      throw MeasuringError.system("open the floor's link", code: ENOMEM)
    }
    self.link = link
    self.burst = burst
  }

  func run(bursts: Int, inFlight: Int) throws {
    try drive(bursts, inFlight, nil)
  }

  /// Sends the given number of bursts, one after the other. Returns how long each took.
  func ping(_ count: Int) throws -> [Int64] {
    var times = [Int64](repeating: 0, count: count)
    try drive(count, 1, &times)
    return times
  }

  private func drive(_ bursts: Int, _ inFlight: Int, _ times: UnsafeMutablePointer<Int64>?) throws {
    let code = floor_link_drive(link, burst, bursts, inFlight, times)
    if code != 0 { throw MeasuringError.system("drive the floor's link", code: code) }
  }

  func end() throws {
    floor_link_close(link)
    close(other.socket)
    try other.wait()
  }
}

/// The role of the second process.
enum EchoPart: String {
  case accessory = "echo-accessory"
  case reader = "stream-accessory"
  case floor = "echo-floor"
  case floorLink = "link-floor"
  case floorReader = "stream-floor"

  /// Runs until the other end closes the line.
  func play(_ words: [String]) throws {
    floor_stay_on(1)
    switch self {
    case .accessory, .reader:
      let loop = try EpollLoop(seed: 2)
      guard words.count == 2, let medium = LineMedium(rawValue: words[0]), let packet = UInt16(words[1]) else {
        throw MeasuringError.failed("the accessory's part needs a medium and the size of its packets")
      }
      let channel = DescriptorChannel(taking: OtherProcess.socket, as: medium.channelMedium, on: loop)
      let accessory = EchoAccessory(
        maximumPacket: packet, playing: self == .accessory ? EchoBehavior() : ReaderBehavior(),
        cable: Cable(main: channel), on: loop)
      accessory.start()
      loop.run(until: { accessory.isOver })
    case .floor:
      let code = floor_echo_serve(OtherProcess.socket)
      if code != 0 { throw MeasuringError.system("serve the floor's echo", code: code) }
    case .floorLink:
      guard let packet = words.first.flatMap(Int.init) else {
        throw MeasuringError.failed("the floor's part needs the size of its packets")
      }
      let code = floor_link_serve(OtherProcess.socket, packet)
      if code != 0 { throw MeasuringError.system("serve the floor's link", code: code) }
    case .floorReader:
      let code = floor_stream_serve(OtherProcess.socket)
      if code != 0 { throw MeasuringError.system("serve the floor's stream", code: code) }
    }
  }
}
