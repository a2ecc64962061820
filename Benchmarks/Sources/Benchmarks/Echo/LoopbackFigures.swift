import AccessoryCore
import BenchmarkFloors
import LinuxIO

extension Figure {
  /// Echoes with both ends in one process, over an in-memory cable on a real loop.
  static var loopbacks: [Figure] {
    [65_535, 2_048].flatMap { packet in [1, 16].map { loopback(packet: packet, inFlight: $0) } }
  }

  private static func loopback(packet: UInt16, inFlight: Int) -> Figure {
    let burst = 10_000
    return Figure(
      name: "echo.loopback.\(packet).\(inFlight)",
      summary: "10K bursts echoed through both peers over a cable in memory, one process, packets up to \(packet) "
        + "bytes, \(inFlight) in flight",
      unit: "bursts/s",
      floor: "four copies in memory and two turns of epoll in C, \(inFlight) bursts at a time: no peer, no cable, no "
        + "loop",
      target: .none
    ) { plan in
      let loop = try EpollLoop(seed: 1)
      let cable = LoopbackChannel.makePair(on: loop)
      let accessory = EchoAccessory(maximumPacket: packet, cable: Cable(main: cable.left), on: loop)
      let device = EchoDevice(maximumPacket: packet, burst: burst, cable: Cable(main: cable.right), on: loop)
      accessory.start()
      device.start()
      func run(until condition: () -> Bool) throws {
        let reached = loop.run(until: condition, limit: .seconds(60))
        if let failure = device.failure { throw MeasuringError.failed(failure) }
        guard reached else { throw MeasuringError.failed("the echo did not come within a minute") }
      }
      func echo(_ bursts: Int) throws {
        device.drive(bursts: bursts, inFlight: inFlight)
        try run { device.isDone }
      }
      try run { device.isReady || device.failure != nil }
      let bursts = try Stopwatch.repetitions(for: plan.seconds, echo)
      let pairs = try plan.pairs(
        { Double(bursts) / (try Stopwatch.busyTime { try echo(bursts) }) },
        {
          var done = 0
          let seconds = Stopwatch.busyTime { done = floor_memory_echo(burst, bursts, inFlight) }
          guard done == bursts else { throw MeasuringError.failed("the floor lost bursts") }
          return Double(bursts) / seconds
        })
      device.close()
      loop.run(until: { accessory.isOver }, limit: .seconds(60))
      return Measurement(pairs)
    }
  }
}
