import AccessorySoak

extension Figure {
  static var worlds: [Figure] { [seededWorlds] }

  /// The speed of a soak, which is also the cost of the random worlds in the tests.
  private static var seededWorlds: Figure {
    Figure(
      name: "worlds.seeded",
      summary: "random worlds in virtual time, every rule checked: both ends, faults, several sessions; one core",
      unit: "worlds/s", floor: "none: the number itself is asked for", target: .valueAtLeast(2_000)
    ) { plan in
      // The worlds are always the same, and there are enough of them to include large ones.
      let count = 1_000
      return Measurement(
        try (0..<plan.pairs).map { _ in
          let seconds = try Stopwatch.busyTime { _ = try playWorlds(count) }
          return Double(count) / seconds
        })
    }
  }

  /// Plays worlds with different seeds. Returns how many were played.
  static func playWorlds(_ count: Int) throws -> Int {
    for seed in 0..<UInt64(count) {
      let outcome = Soak.run(SoakPlan(seed: seed))
      guard outcome.violations.isEmpty else { throw MeasuringError.failed(outcome.description) }
    }
    return count
  }
}
