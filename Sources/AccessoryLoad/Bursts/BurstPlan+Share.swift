import AccessoryCore
import AccessoryRuns

extension BurstPlan {
  /// Returns a plan for some of the accessories, with only their share of the bursts or the rate. Limits are omitted,
  /// because they apply to the whole plan.
  ///
  /// - Parameters:
  ///   - accessories: the indices of these accessories among all accessories.
  ///   - total: the number of all accessories.
  public func share(_ accessories: Range<Int>, of total: Int) -> BurstPlan {
    guard total > 0 else { return self }
    var part = self
    part.limits = []
    if case .bursts(let count) = extent {
      func bound(_ place: Int) -> Int { total.dividingFullWidth(count.multipliedFullWidth(by: place)).quotient }
      part.extent = .bursts(bound(accessories.upperBound) - bound(accessories.lowerBound))
    }
    let fraction = Double(accessories.count) / Double(total)
    switch pace {
    case .closedLoop: break
    case .rate(let rate): part.pace = .rate(burstsPerSecond: rate * fraction)
    case .phases(let phases):
      part.pace = .phases(
        phases.map { phase in
          var phase = phase
          phase.from = phase.from.map { $0 * fraction }
          phase.rate *= fraction
          return phase
        })
    }
    return part
  }
}

extension BurstReport {
  /// Turns this report into a shard's report with the pace and limits of the whole plan.
  public mutating func isShard(_ shard: Shard, of plan: BurstPlan) {
    if shard.isWhole { return }
    let whole = BurstReport(plan)
    self.plan.pace = whole.plan.pace
    for (index, phase) in whole.phases.enumerated() where index < phases.count { phases[index].pace = phase.pace }
    limits = plan.limits
    shards = ShardSet(shard)
  }

  /// Returns the report of a shard that has no work.
  public static func empty(_ plan: BurstPlan, _ shard: Shard) -> BurstReport {
    var report = BurstReport(plan)
    report.ending = doneEnding
    (report.plan.count, report.plan.time) = (0, nil)
    (report.allowsOverdue, report.allowsLost) = (plan.allowsOverdue, plan.allowsLost)
    report.isShard(shard, of: plan)
    return report
  }
}
