import BenchmarkFloors
import IAP2

extension Figure {
  /// The cost of a single packet, which is built in a reused buffer and then parsed from this buffer.
  static var packet: Figure {
    let size = 10_240
    return Figure(
      name: "packet", summary: "a packet with a payload of 10 KiB built and parsed", unit: "ns",
      floor: "the same in C: one copy and two sums", target: .ratioAtMost(1.3)
    ) { plan in
      let count = Stopwatch.repetitions(for: plan.seconds) { _ = floor_packets(size, $0) }
      let pairs = try plan.pairs(
        { try perPacket(count) { buildAndParse(size, count) } },
        { try perPacket(count) { floor_packets(size, count) } })
      return Measurement(pairs)
    }
  }

  private static func buildAndParse(_ size: Int, _ count: Int) -> Int {
    let payload = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
    var packet: [UInt8] = []
    var scanner = PacketScanner()
    var right = 0
    for index in 0..<count {
      packet.removeAll(keepingCapacity: true)
      let header = PacketHeader(
        control: .ack, sequence: UInt8(truncatingIfNeeded: index), acknowledgement: 7, session: 2, payloadCount: size)
      PacketWriter.append(header, payload: payload.span.bytes, to: &packet)
      var offset = 0
      if case .packet(let found, .input) = scanner.next(in: packet.span.bytes, at: &offset),
        found.payloadCount == size
      {
        right += 1
      }
    }
    return right
  }

  /// Returns the nanoseconds per packet in `work`, which returns how many packets it processed.
  static func perPacket(_ count: Int, _ work: () throws -> Int) throws -> Double {
    var done = 0
    let seconds = try Stopwatch.busyTime { done = try work() }
    guard done == count else { throw MeasuringError.failed("\(done) of \(count) packets came through") }
    return seconds * 1e9 / Double(count)
  }
}
