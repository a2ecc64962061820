import IAP2
import Testing

/// The link's promise under everything a wire can do, over a few hundred seeds.
@Suite struct LossyWorldTests {
  @Test func bytesArriveOnceAndInOrderOrTheSessionEndsWithAReason() {
    var reached: [String: Int] = [:]
    func reach(_ what: String, _ count: Int) { reached[what, default: 0] += count }
    for seed: UInt64 in 0..<150 {
      var world = LossyWorld(seed: seed)
      if let problem = world.run() {
        Issue.record("seed \(seed), after \(world.now.nanoseconds / 1_000_000) ms: \(problem)\n\(world.history)")
        return
      }
      for counters in [world.accessory.core.counters, world.device.core.counters] {
        reach("retransmissions", counters.retransmissions)
        reach("hastened", counters.hastened)
        reach("duplicates", counters.duplicates)
        reach("ahead", counters.ahead)
        reach("spoiled", counters.spoiled)
        reach("refused", counters.refused)
        reach("window stalls", counters.windowStalls)
        reach("wraps", counters.sequenceWraps)
        reach("skipped bytes", counters.skippedBytes)
      }
      for end in world.ends {
        switch end {
        case .closedByDevice: reach("closed by the device", 1)
        case .closedByAccessory: reach("closed by the accessory", 1)
        case .refused: reach("refused sessions", 1)
        case .linkDown: reach("ended with the link", 1)
        case .notRead: reach("not read", 1)
        case .channelEnded: break
        }
      }
      for end in world.linkEnds {
        switch end {
        case .unanswered: reach("given up", 1)
        case .reset: reach("reset", 1)
        case .restarted: reach("restarted", 1)
        case .unsynchronized: reach("unsynchronized", 1)
        default: break
        }
      }
    }
    // A corner that no seed reached proves nothing.
    for what in [
      "retransmissions", "hastened", "duplicates", "ahead", "spoiled", "window stalls", "wraps", "skipped bytes",
      "closed by the device", "closed by the accessory", "refused sessions", "ended with the link", "not read",
      "given up", "reset", "restarted",
    ] {
      #expect(reached[what, default: 0] > 0, "no seed reached: \(what); reached: \(reached)")
    }
  }
}
