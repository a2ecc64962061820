import AccessoryCore
import AccessoryLoad
import LinuxIO

// Shows whether cost is proportional to work: the processor time for one burst of a load test, echoed and verified over
// in-memory cables, with increasing numbers of bursts, sessions or accessories. The time includes both ends, and no
// system calls.

extension Figure {
  static var curves: [Figure] {
    [100, 1_000, 10_000, 100_000].map { curve("bursts", $0, bursts: $0) }
      + [1, 10, 100, 250].map { curve("sessions", $0, sessions: $0) }
      + [1, 10, 100, 250].map { curve("paced", $0, sessions: $0, isPaced: true) }
      // Each accessory has its own buffers, which grow during its first bursts. After fifty bursts, the cost is steady.
      + [1, 10, 100, 1_000].map { curve("accessories", $0, bursts: max(10_000, 50 * $0), accessories: $0) }
      + [1, 10, 100, 1_000].map {
        curve("spread", $0, bursts: max(10_000, 50 * $0), accessories: $0, isPaced: true)
      }
  }

  private static func curve(
    _ name: String, _ count: Int, bursts: Int = 10_000, sessions: Int = 1, accessories: Int = 1, isPaced: Bool = false
  ) -> Figure {
    var plan = BurstPlan()
    plan.extent = .bursts(bursts)
    plan.sessions = sessions
    // In virtual time any rate is possible. At this rate, each burst begins long after the previous one is complete.
    if isPaced { plan.pace = .rate(burstsPerSecond: 1_000) }
    let what = isPaced ? "1,000 bursts a second" : "bursts one after the other"
    return Figure(
      name: "curve.\(name).\(count)",
      summary: "\(bursts) 10K \(what), \(sessions) sessions to each of \(accessories) accessories, virtual time: "
        + "each burst",
      unit: "µs", floor: "none: what counts is that all figures of a curve are alike", target: .none
    ) { measuring in
      try Measurement(
        (0..<min(7, measuring.pairs)).map { _ in
          let loop = VirtualLoop(seed: 1)
          let worlds = try BurstWorlds(accessories, plan, latency: .microseconds(1), on: loop)
          try worlds.attach { try loop.run(until: $0, limit: .seconds(3_600)) }
          let seconds = try Stopwatch.busyTime {
            try worlds.play { try loop.run(until: $0, limit: .seconds(360_000)) }
          }
          worlds.tearDown()
          try loop.runUntilQuiet()
          return seconds / Double(bursts) * 1e6
        })
    }
  }
}
