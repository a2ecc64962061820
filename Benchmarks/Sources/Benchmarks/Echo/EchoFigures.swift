import AccessoryCore
import BenchmarkFloors
import Glibc

// Bursts of 10,000 bytes, echoed between two processes through both peers, compared with a C echo between two
// processes. Both use the same line, the same sizes and the same number of bursts in flight, and one epoll wait, one
// read and one write per turn.
//
// In both programs, each of the two processes is bound to its own processor. Otherwise, the scheduler sometimes puts
// both processes on one processor, which triples the baseline's rate. It rarely does so in both halves of a pair, so
// that the ratios in a single run varied from 0.2 to 2.9. The ratio of processor time shows the cost on a machine with
// one processor.

extension Figure {
  /// The number of bytes in EADemo's "10K".
  private static let burst = 10_000

  static var echoes: [Figure] {
    LineMedium.allCases.flatMap { medium in
      [65_535, 2_048].flatMap { packet in [1, 16].map { echo(over: medium, packet: packet, inFlight: $0) } }
    }
  }

  /// Only unix sockets and TCP with the longest packets have targets. The other figures show the cost of short packets.
  private static func target(_ medium: LineMedium, _ packet: UInt16) -> Target {
    medium == .pty ? .none : .ratioAtLeast(packet == 65_535 ? 0.8 : 0.7)
  }

  private static func echo(over medium: LineMedium, packet: UInt16, inFlight: Int) -> Figure {
    Figure(
      name: "echo.\(medium.rawValue).\(packet).\(inFlight)",
      summary: "10K bursts echoed through both peers, two processes over \(medium.description), packets up to "
        + "\(packet) bytes, \(inFlight) in flight",
      unit: "bursts/s",
      floor: "an echo in C between two processes over the same line: epoll, one read, one write; bursts of 10,000 "
        + "bytes, \(inFlight) in flight",
      target: target(medium, packet)
    ) { plan in
      try measureEcho(plan, medium, packet: packet, inFlight: inFlight)
    }
  }

  private static func measureEcho(
    _ plan: MeasuringPlan, _ medium: LineMedium, packet: UInt16, inFlight: Int
  ) throws -> Measurement {
    let ours = try OurEcho(over: medium, packet: packet, burst: burst)
    let floor = try FloorEcho(over: medium, burst: burst)
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

  /// Returns the cost of `work` in both processes.
  private static func cost(_ work: () throws -> Void, _ other: OtherProcess) rethrows -> Cost {
    let before = Stopwatch.processorTime + other.processorTime
    let wall = try Stopwatch.time(work)
    return (wall, Stopwatch.processorTime + other.processorTime - before)
  }
}
