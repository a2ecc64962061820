import BenchmarkFloors

// How long the round trip of one small message takes, with one message at a time, as for a person at a console or an
// app that asks and waits. The median is compared with the baseline's median, and the 99th percentile with the
// baseline's 99th percentile. On a shared machine, the 99th percentile depends mostly on the machine's load.

extension Figure {
  static var roundTrips: [Figure] {
    [LineMedium.unix, .tcp].flatMap { medium in
      [(0.5, "p50", Target.ratioAtMost(1.1)), (0.99, "p99", .none)].map { roundTrip(over: medium, $0) }
    }
  }

  private static func roundTrip(
    over medium: LineMedium, _ percentile: (rank: Double, name: String, target: Target)
  ) -> Figure {
    let size = 64
    return Figure(
      name: "roundtrip.\(medium.rawValue).\(percentile.name)",
      summary: "\(percentile.name) of \(size) bytes there and back through both peers, two processes over "
        + medium.description,
      unit: "µs", floor: "a ping-pong of \(size) bytes in C that does what iAP2 requires, over the same line",
      bareFloor: "a ping-pong of \(size) bytes in C over the same line, without a protocol", target: percentile.target
    ) { plan in
      let ours = try OurEcho(over: medium, packet: 65_535, burst: size)
      let floor = try FloorLink(over: medium, packet: 65_535, burst: size)
      let bare = try FloorEcho(over: medium, burst: size)
      floor_stay_on(0)
      defer { floor_stay_on(-1) }
      let count = max(1_000, try Stopwatch.repetitions(for: plan.seconds) { _ = try floor.ping($0) })
      _ = try ours.ping(count)
      func value(_ times: [Int64]) -> Double {
        Double(times.sorted()[min(times.count - 1, Int(percentile.rank * Double(times.count)))]) / 1_000
      }
      let times = try plan.triples(
        { value(try ours.ping(count)) }, { value(try floor.ping(count)) }, { value(try bare.ping(count)) })
      try ours.end()
      try floor.end()
      try bare.end()
      return Measurement(times)
    }
  }
}
