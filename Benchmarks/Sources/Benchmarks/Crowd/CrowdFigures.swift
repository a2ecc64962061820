import Glibc

// Many accessories in one process, including both ends: simulated accessories, one device into which all of them are
// plugged, and an app that sees them. A unix socket connects each pair of ends. The figures show the cost of one
// accessory, and whether the ten-thousandth accessory costs more than the first.

extension Figure {
  static var crowds: [Figure] {
    [1, 100, 1_000, 10_000].flatMap { count in
      let runs = CrowdRuns(of: count)
      return [attaching(count, runs), memory(count, runs)]
    } + [1, 100, 1_000, 10_000].map { wakeUps($0) }
  }

  private static func attaching(_ count: Int, _ runs: CrowdRuns) -> Figure {
    Figure(
      name: "accessories.attach.\(count)",
      summary: "\(count) accessories attached one after the other over unix sockets, both ends in one process: until "
        + "identified, authenticated (stub) and published, time for each",
      unit: "µs",
      floor: "as many pairs of sockets connected and accepted in C in one process, \(CrowdPart.rounds) messages there "
        + "and back on each",
      target: .none
    ) { plan in
      Measurement(
        try runs.pairs(plan).map { ($0.ours.attaching / Double($0.ours.count), $0.floor / Double($0.ours.count)) })
    }
  }

  private static func memory(_ count: Int, _ runs: CrowdRuns) -> Figure {
    Figure(
      name: "accessories.memory.\(count)",
      summary: "resident memory of a process with \(count) idle accessories, both ends over unix sockets", unit: "MB",
      floor: "none: the number itself is asked for", target: count == 10_000 ? .valueAtMost(100) : .none
    ) { plan in
      let pairs = try runs.pairs(plan)
      var measurement = Measurement(pairs.map { $0.ours.megabytes * Double(count) / Double($0.ours.count) })
      measurement.notes = [
        ("accessories that the system allowed descriptors for:", .init(pairs.map { Double($0.ours.count) })),
        ("KB for each, the process itself aside:", .init(pairs.map { $0.ours.kilobytesEach })),
      ]
      return measurement
    }
  }

  private static func wakeUps(_ count: Int) -> Figure {
    Figure(
      name: "accessories.wakeups.\(count)",
      summary: "turns of the loop and wake-ups of the process in 10 s, \(count) idle accessories, both ends",
      unit: "wake-ups", floor: "none: the number itself is asked for", target: .valueAtMost(0)
    ) { _ in
      Measurement([Double(try CrowdRuns.play(count, idleSeconds: 10).wakeUps)])
    }
  }
}

/// Both figures for a given number of accessories are measured in the same runs.
private final class CrowdRuns {
  private let count: Int
  private var measured: [(ours: CrowdResult, floor: Double)] = []

  init(of count: Int) {
    self.count = count
  }

  func pairs(_ plan: MeasuringPlan) throws -> [(ours: CrowdResult, floor: Double)] {
    if !measured.isEmpty { return measured }
    var plan = plan
    // Runs with ten thousand accessories take seconds, so there are fewer of them.
    if count > 1_000 { plan.pairs = 7 }
    let wanted = count
    measured = try plan.pairs(
      { (ours: try Self.play(wanted, idleSeconds: 0), floor: 0) },
      { (ours: CrowdResult(), floor: try Self.playFloor(wanted)) }
    ).map { ($0.ours.ours, $0.floor.floor) }
    return measured
  }

  /// Plays a run in a separate process, whose memory has not been used for other work.
  static func play(_ count: Int, idleSeconds: Int) throws -> CrowdResult {
    try DescriptorLimit.raise(to: 2 * count + CrowdPart.spareDescriptors, atLeast: 1_000)
    let other = try OtherProcess([CrowdPart.ours.rawValue, String(count), String(idleSeconds)])
    let result = try CrowdResult(from: other)
    close(other.socket)
    try other.wait()
    return result
  }

  private static func playFloor(_ count: Int) throws -> Double {
    try DescriptorLimit.raise(to: 2 * count + CrowdPart.spareDescriptors, atLeast: 1_000)
    let other = try OtherProcess([CrowdPart.floor.rawValue, String(count)])
    guard let microseconds = Double(try other.onEvent()) else {
      throw MeasuringError.failed("the floor's process ended without a result")
    }
    close(other.socket)
    try other.wait()
    return microseconds
  }
}
