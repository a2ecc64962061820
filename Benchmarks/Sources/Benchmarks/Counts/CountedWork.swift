import AccessoryCore
import AccessoryLoad
import BenchmarkFloors
import IAP2
import LinuxIO

/// Work that takes the same number of instructions and allocations in every run of the same build.
///
/// `Benchmarks --work NAME BATCHES` first does a fixed amount of work to warm up, and then BATCHES batches. It prints
/// how many units of work the batches contained and how many allocations they took. `Scripts/counts` runs it under
/// valgrind with two different numbers of batches: the difference in instructions, divided by the difference in units,
/// is the cost of one unit.
enum CountedWork: String, CaseIterable {
  /// A packet with 16 bytes of payload that is written, sent, received, read and acknowledged.
  case smallPacket = "packet.16"
  /// The same as ``smallPacket``, for a packet of 2,048 bytes.
  case packet2048 = "packet.2048"
  /// The same as ``smallPacket``, for a packet with 10,000 bytes of payload.
  case largePacket = "packet.10000"
  /// A packet of up to 2,048 bytes between two connections, including channels, the loop, timers and session handlers.
  case connectionPacket = "connection.2048"
  /// A load test's burst of 10,000 bytes, echoed and compared. Includes both ends, with in-memory cables.
  case burst = "burst.10000"
  /// The same as ``burst``, with four bursts in flight.
  case burstsInFlight = "burst.10000.4"
  /// A complete flicker with the stub authenticator: two attachments, 28 packets.
  case flicker = "flicker.wire.stub"
  /// A random world in virtual time, with every rule checked.
  case world = "world.seeded"

  /// The first command-line word that makes the executable do this work instead of measuring.
  static let flag = "--work"

  /// The number of units of work in a batch. A batch uses each sequence number equally often, so that all batches cost
  /// the same.
  private var batch: Int {
    switch self {
    case .smallPacket, .packet2048, .largePacket: 256
    case .connectionPacket: 128
    case .burst, .burstsInFlight: 256
    case .flicker: 50
    case .world: 20
    }
  }

  /// Does two batches of the work to warm up, counts the allocations in another `batches` batches, and prints `UNITS
  /// ALLOCATIONS`.
  func perform(batches: Int) throws {
    switch self {
    case .smallPacket: try carry(batches, burst: 16, maximumPacket: 65_535)
    case .packet2048: try carry(batches, burst: 2_036, maximumPacket: 2_048)
    case .largePacket: try carry(batches, burst: 10_000, maximumPacket: 65_535)
    case .connectionPacket: try echo(batches)
    case .burst: try burst(batches, inFlight: 1)
    case .burstsInFlight: try burst(batches, inFlight: 4)
    case .flicker: try report(batches) { try Figure.playFlickers($0, .stub) / 4 }
    case .world: try report(batches) { try Figure.playWorlds($0) }
    }
  }

  private func carry(_ batches: Int, burst count: Int, maximumPacket: UInt16) throws {
    let burst = [UInt8](repeating: 7, count: count)
    var pair = try PeerPair(maximumPacket: maximumPacket)
    try report(batches) { times in
      let before = pair.device.core.counters.packetsSent
      for _ in 0..<times { _ = pair.carry(burst) }
      return pair.device.core.counters.packetsSent - before
    }
  }

  private func echo(_ batches: Int) throws {
    let loop = VirtualLoop(seed: 1)
    let cable = LoopbackChannel.makePair(on: loop, latency: .microseconds(100))
    let accessory = EchoAccessory(maximumPacket: 2_048, cable: Cable(main: cable.left), on: loop)
    let device = EchoDevice(maximumPacket: 2_048, burst: 10_000, cable: Cable(main: cable.right), on: loop)
    accessory.start()
    device.start()
    func run(until condition: () -> Bool) throws {
      let isReached = try loop.run(until: condition, limit: .seconds(3_600))
      if let failure = device.failure { throw MeasuringError.failed(failure) }
      guard isReached else { throw MeasuringError.failed("the echo did not come within an hour of virtual time") }
    }
    try run { device.isReady || device.failure != nil }
    try report(batches) { times in
      let before = device.packets
      device.drive(bursts: times, inFlight: 4)
      try run { device.isDone }
      return device.packets - before
    }
  }

  private func burst(_ batches: Int, inFlight: Int) throws {
    var plan = BurstPlan()
    plan.extent = .bursts(.max)
    plan.inFlight = inFlight
    let loop = VirtualLoop(seed: 1)
    let worlds = try BurstWorlds(1, plan, latency: .microseconds(1), on: loop)
    try worlds.attach { try loop.run(until: $0, limit: .seconds(3_600)) }
    try report(batches) { times in
      try worlds.play(bursts: times) { try loop.run(until: $0, limit: .seconds(3_600)) }
    }
  }

  private func report(_ batches: Int, _ work: (Int) throws -> Int) throws {
    _ = try work(2 * batch)
    allocations_start()
    let units = try work(batches * batch)
    let allocations = allocations_stop()
    print(units, allocations)
  }
}
