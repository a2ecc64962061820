import AccessoryCore
import AccessoryTransports
import BenchmarkFloors
import Glibc

// 10K bursts echoed through both peers over a unix socketpair between two processes, beside a C echo between two
// processes: the same sizes, the same number in flight, on both sides one epoll wait, one read and one write per turn.
//
// The two processes stay on a processor each, ours and the floor's alike. Left to itself the scheduler puts both on one
// now and then, which triples what the floor does; and as it seldom does so for both halves of a pair, ratios from 0.2 to
// 2.9 came out of one run. What both cost where there is only one processor is told by the ratio of processor time.

extension Figure {
  /// Bytes of EADemo's "10K".
  private static let burst = 10_000

  static var echoes: [Figure] {
    [65_535, 2_048].flatMap { packet in [1, 16].map { echo(packet: packet, inFlight: $0) } }
  }

  private static func echo(packet: UInt16, inFlight: Int) -> Figure {
    Figure(
      name: "echo.\(packet).\(inFlight)",
      summary: "10K bursts echoed through both peers, two processes, packets up to \(packet) bytes, "
        + "\(inFlight) in flight",
      unit: "bursts/s",
      floor: "an echo in C between two processes over a socketpair: epoll, recv, send; bursts of 10,000 bytes, "
        + "\(inFlight) in flight",
      target: .ratioAtLeast(0.7)
    ) { plan in
      try measureEcho(plan, packet: packet, inFlight: inFlight)
    }
  }

  private static func measureEcho(_ plan: MeasuringPlan, packet: UInt16, inFlight: Int) throws -> Measurement {
    let ours = try OurEcho(packet: packet, burst: burst)
    let floor = try FloorEcho(burst: burst)
    floor_stay_on(0)
    defer { floor_stay_on(-1) }
    let bursts = try Stopwatch.repetitions(for: plan.seconds) { try floor.run(bursts: $0, inFlight: inFlight) }
    try ours.run(bursts: bursts / 4 + 1, inFlight: inFlight)
    let pairs = try plan.pairs(
      { try cost({ try ours.run(bursts: bursts, inFlight: inFlight) }, ours.other) },
      { try cost({ try floor.run(bursts: bursts, inFlight: inFlight) }, floor.other) })
    try ours.end()
    try floor.end()
    var measurement = Measurement(pairs.map { (Double(bursts) / $0.wall, Double(bursts) / $1.wall) })
    measurement.notes = [
      ("processor time, ours to floor:", .init(pairs.map { $0.processor / $1.processor }))
    ]
    return measurement
  }

  private typealias Cost = (wall: Double, processor: Double)

  /// What `work` costs both processes.
  private static func cost(_ work: () throws -> Void, _ other: OtherProcess) rethrows -> Cost {
    let before = Stopwatch.processorTime + other.processorTime
    let wall = try Stopwatch.time(work)
    return (wall, Stopwatch.processorTime + other.processorTime - before)
  }
}

/// easim at both ends.
private final class OurEcho {
  let other: OtherProcess
  private let loop: EpollLoop
  private let device: EchoDevice

  init(packet: UInt16, burst: Int) throws {
    other = try OtherProcess([EchoPart.accessory.rawValue, String(packet)])
    loop = try EpollLoop(seed: 1)
    let channel = DescriptorChannel(taking: other.socket, as: .socket, on: loop)
    device = EchoDevice(maximumPacket: packet, burst: burst, cable: Cable(main: channel), on: loop)
    device.start()
    try run { device.isReady || device.failure != nil }
  }

  func run(bursts: Int, inFlight: Int) throws {
    device.drive(bursts: bursts, inFlight: inFlight)
    try run { device.isDone }
  }

  func end() throws {
    device.close()
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

  init(burst: Int) throws {
    other = try OtherProcess([EchoPart.floor.rawValue])
    self.burst = burst
  }

  func run(bursts: Int, inFlight: Int) throws {
    let code = floor_echo_drive(other.socket, burst, bursts, inFlight)
    if code != 0 { throw MeasuringError.system("drive the floor's echo", code: code) }
  }

  func end() throws {
    close(other.socket)
    try other.wait()
  }
}

/// What the second process plays.
enum EchoPart: String {
  case accessory = "echo-accessory"
  case floor = "echo-floor"

  /// Plays until the other end closes its socket.
  func play(_ words: [String]) throws {
    floor_stay_on(1)
    switch self {
    case .accessory:
      let loop = try EpollLoop(seed: 2)
      let channel = DescriptorChannel(taking: OtherProcess.socket, as: .socket, on: loop)
      guard let packet = words.first.flatMap(UInt16.init) else {
        throw MeasuringError.failed("the accessory's part needs the size of its packets")
      }
      let accessory = EchoAccessory(maximumPacket: packet, cable: Cable(main: channel), on: loop)
      accessory.start()
      loop.run(until: { accessory.isOver })
    case .floor:
      let code = floor_echo_serve(OtherProcess.socket)
      if code != 0 { throw MeasuringError.system("serve the floor's echo", code: code) }
    }
  }
}
