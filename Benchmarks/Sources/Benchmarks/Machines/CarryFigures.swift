import BenchmarkFloors
import IAP2

extension Figure {
  /// Two peers without I/O: how fast bytes move from the writer at one end to the reader at the other.
  static var carries: [Figure] { [65_535, 2_048].map { carry(packet: $0) } }

  private static func carry(packet: UInt16) -> Figure {
    let burst = 10_000
    // The number of the burst's bytes in each packet.
    let payload = min(burst, Int(packet) - PacketHeader.overhead - 2)
    return Figure(
      name: "carry.\(packet)",
      summary: "10K bursts from writer to reader through both peers in memory, no I/O, "
        + "packets up to \(packet) bytes", unit: "MB/s",
      floor: "packets of the same size in C: built, parsed and copied out, with no window and nothing kept",
      target: .none
    ) { plan in
      let bytes = [UInt8](repeating: 7, count: burst)
      var pair = try PeerPair(maximumPacket: packet)
      let bursts = try Stopwatch.repetitions(for: plan.seconds) { count in
        for _ in 0..<count where pair.carry(bytes) != burst { throw MeasuringError.failed("bytes were lost") }
      }
      let packets = bursts * burst / payload
      let pairs = try plan.pairs(
        {
          let seconds = try Stopwatch.busyTime {
            for _ in 0..<bursts where pair.carry(bytes) != burst { throw MeasuringError.failed("bytes were lost") }
          }
          return Double(bursts * burst) / seconds / 1e6
        },
        {
          var arrived = 0
          let seconds = Stopwatch.busyTime { arrived = floor_carry(payload, packets) }
          guard arrived == payload * packets else { throw MeasuringError.failed("the floor lost bytes") }
          return Double(arrived) / seconds / 1e6
        })
      return Measurement(pairs)
    }
  }
}
