import AccessoryCore
import BenchmarkFloors
import Glibc
import IAP2
import LinuxIO

// Heap allocations per packet, after buffers have grown to their final size. They are counted by replacements for the C
// library's allocation functions (see allocations.c).

extension Figure {
  private static let bursts = 5_000

  static var allocations: [Figure] {
    [65_535, 2_048].flatMap { [peerAllocations(packet: $0), connectionAllocations(packet: $0)] }
  }

  private static func peerAllocations(packet: UInt16) -> Figure {
    Figure(
      name: "allocations.peers.\(packet)",
      summary: "heap allocations per packet, 10K bursts through both peers in memory, packets up to \(packet) bytes",
      unit: "allocations", floor: "none: the number itself is asked for", target: .valueAtMost(0)
    ) { plan in
      let burst = [UInt8](repeating: 7, count: 10_000)
      var pair = try PeerPair(maximumPacket: packet)
      for _ in 0..<bursts { _ = pair.carry(burst) }
      return try measure(plan) {
        let before = pair.accessory.core.counters.packetsReceived
        for _ in 0..<bursts { _ = pair.carry(burst) }
        return pair.accessory.core.counters.packetsReceived - before
      }
    }
  }

  private static func connectionAllocations(packet: UInt16) -> Figure {
    Figure(
      name: "allocations.connections.\(packet)",
      summary: "heap allocations per packet, 10K bursts echoed over a socketpair, both ends on one loop, 16 in flight, "
        + "packets up to \(packet) bytes",
      unit: "allocations", floor: "none: the number itself is asked for", target: .valueAtMost(0)
    ) { plan in
      var ends: [Int32] = [-1, -1]
      let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
      guard socketpair(AF_UNIX, type, 0, &ends) == 0 else {
        throw MeasuringError.system("make a pair of sockets", code: errno)
      }
      let loop = try EpollLoop(seed: 1)
      let cables = ends.map { Cable(main: DescriptorChannel(taking: $0, as: .socket, on: loop)) }
      let accessory = EchoAccessory(maximumPacket: packet, cable: cables[0], on: loop)
      let device = EchoDevice(maximumPacket: packet, burst: 10_000, cable: cables[1], on: loop)
      accessory.start()
      device.start()
      func run(until condition: () -> Bool) throws {
        let reached = loop.run(until: condition, limit: .seconds(60))
        if let failure = device.failure { throw MeasuringError.failed(failure) }
        guard reached else { throw MeasuringError.failed("the echo did not come within a minute") }
      }
      func echo() throws -> Int {
        let before = device.packets
        device.drive(bursts: bursts, inFlight: 16)
        try run { device.isDone }
        return device.packets - before
      }
      try run { device.isReady || device.failure != nil }
      _ = try echo()
      let measurement = try measure(plan, echo)
      device.close()
      loop.run(until: { accessory.isOver }, limit: .seconds(60))
      return measurement
    }
  }

  /// Measures the allocations per packet in `work`, which returns how many packets it moved.
  private static func measure(_ plan: MeasuringPlan, _ work: () throws -> Int) throws -> Measurement {
    guard allocations_are_counted() == 1 else {
      throw MeasuringError.failed("this build does not count allocations: it needs glibc and no sanitizer")
    }
    var values: [Double] = []
    for _ in 0..<plan.pairs {
      allocations_start()
      let packets = try work()
      values.append(Double(allocations_stop()) / Double(packets))
    }
    return Measurement(values)
  }
}
