import AccessoryCore
import BenchmarkFloors
import Glibc

// 10K bursts echoed between two processes through both peers, compared with two echoes in C between two processes. The
// floor does what iAP2 requires, in packets of the same lengths; the bare floor echoes bytes without a protocol. All
// use the same line, the same sizes, the same number in flight, and one epoll wait, one read and one write per turn.
//
// In all programs, each of the two processes is bound to its own processor. Otherwise the scheduler sometimes puts
// both on one processor, which triples the baseline's rate. It rarely does so for every part of a pair, so the ratios
// in a single run varied from 0.2 to 2.9. The ratio of processor time shows the cost on a machine with one processor.

extension Figure {
  /// The number of bytes in EADemo's "10K".
  private static let burst = 10_000

  static var echoes: [Figure] {
    LineMedium.allCases.flatMap { medium in
      [65_535, 2_048].flatMap { packet in [1, 16].map { echo(over: medium, packet: packet, inFlight: $0) } }
    }
  }

  private static func echo(over medium: LineMedium, packet: UInt16, inFlight: Int) -> Figure {
    Figure(
      name: "echo.\(medium.rawValue).\(packet).\(inFlight)",
      summary: "10K bursts echoed through both peers, two processes over \(medium.description), packets up to "
        + "\(packet) bytes, \(inFlight) in flight",
      unit: "bursts/s",
      floor: "an echo in C that does what iAP2 requires, over the same line in packets of the same lengths",
      bareFloor: "an echo of bytes in C over the same line, without a protocol: epoll, one read, one write",
      target: .ratioAtLeast(0.9)
    ) { plan in
      try measureEcho(plan, medium, packet: packet, inFlight: inFlight)
    }
  }

  private static func measureEcho(
    _ plan: MeasuringPlan, _ medium: LineMedium, packet: UInt16, inFlight: Int
  ) throws -> Measurement {
    let ours = try OurEcho(over: medium, packet: packet, burst: burst)
    let floor = try FloorLink(over: medium, packet: packet, burst: burst)
    let bare = try FloorEcho(over: medium, burst: burst)
    floor_stay_on(0)
    defer { floor_stay_on(-1) }
    let bursts = try Stopwatch.repetitions(for: plan.seconds) { try floor.run(bursts: $0, inFlight: inFlight) }
    try ours.run(bursts: bursts / 4 + 1, inFlight: inFlight)
    let costs = try plan.triples(
      { try cost({ try ours.run(bursts: bursts, inFlight: inFlight) }, ours.other) },
      { try cost({ try floor.run(bursts: bursts, inFlight: inFlight) }, floor.other) },
      { try cost({ try bare.run(bursts: bursts, inFlight: inFlight) }, bare.other) })
    try ours.end()
    try floor.end()
    try bare.end()
    let rate = Double(bursts)
    var measurement = Measurement(costs.map { (rate / $0.wall, rate / $1.wall, rate / $2.wall) })
    measurement.notes = [
      ("processor time, ours to floor:", .init(costs.map { $0.ours.processor / $0.floor.processor })),
      ("processor time, ours to bare floor:", .init(costs.map { $0.ours.processor / $0.bare.processor })),
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
