import BenchmarkFloors
import IAP2

extension Figure {
  /// How many packets per second one end can send to the other.
  static var packetRates: [Figure] { [64, 2_048].map { packetRate($0) } }

  private static func packetRate(_ packet: Int) -> Figure {
    // Two bytes of a packet's payload identify the session.
    let payload = packet - PacketHeader.overhead
    return Figure(
      name: "packets.\(packet)",
      summary: "packets of \(packet) bytes from the device to a reader on the accessory, acknowledged, two processes "
        + "over a unix socketpair",
      unit: "packets/s",
      floor: "the link's numbers and sums in C between two processes: packets of the same size under the same window "
        + "of 127, in one write as many as it allows, one acknowledgement per read",
      target: .none
    ) { plan in
      let ours = try OurEcho(over: .unix, packet: UInt16(packet), burst: 64 * (payload - 2), part: .reader)
      let floor = try FloorEcho(over: .unix, burst: payload, part: .floorReader)
      floor_stay_on(0)
      defer { floor_stay_on(-1) }
      let count = try Stopwatch.repetitions(for: plan.seconds) { try floor.stream($0) }
      let bytes = count * (payload - 2)
      try ours.stream(bytes)
      let pairs = try plan.pairs(
        { Double(count) / (try Stopwatch.time { try ours.stream(bytes) }) },
        { Double(count) / (try Stopwatch.time { try floor.stream(count) }) })
      try ours.end()
      try floor.end()
      return Measurement(pairs)
    }
  }
}
