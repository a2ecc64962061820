import AccessoryFormats

/// Chooses what one session sends next: which of the plan's requests, with which size and after which pause.
///
/// The same plan and seed give the same requests and sizes for each session, independently of other sessions. A script
/// restarts when its session is reopened; random choices continue where they left off.
struct BurstDrawer {
  struct Draw: Equatable {
    let request: Int
    let size: Int
  }

  private let requests: [BurstRequest]
  private let isScript: Bool
  private let size: Int
  private let think: Distribution<Duration>?
  private var random: SeededRandom
  private var place = 0

  /// Returns nil if there is nothing to choose, because all bursts are the same and follow each other without a pause.
  init?(_ plan: BurstPlan, seed: UInt64, lane: Int) {
    guard plan.workload != nil || plan.think != nil else { return nil }
    (requests, isScript) = (plan.workload?.requests ?? [], plan.workload?.isScript ?? false)
    (size, think) = (plan.payload.size, plan.think)
    var seeds = SeededRandom(seed: seed ^ UInt64(truncatingIfNeeded: lane) &* 0xD1B5_4A32_D192_ED03)
    random = SeededRandom(seed: seeds.next()).derived("draws")
  }

  mutating func restart() { place = 0 }

  mutating func next() -> Draw {
    if requests.isEmpty { return Draw(request: 0, size: size) }
    let index = isScript ? place % requests.count : random.index(weights: requests.lazy.map(\.weight)) ?? 0
    place += 1
    let request = requests[index]
    return Draw(request: index, size: request.send?.count ?? request.sizes?.draw(&random) ?? size)
  }

  mutating func pause(after request: Int) -> Duration? {
    let own = requests.indices.contains(request) ? requests[request].think : nil
    return (own ?? think)?.draw(&random)
  }
}
