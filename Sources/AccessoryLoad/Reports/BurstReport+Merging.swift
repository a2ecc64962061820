import AccessoryCore
import AccessoryRuns
import IAP2

extension BurstReport {
  static let mostSites = 10_000
  static let mostAttachments = 100_000

  /// Merges the report of a simultaneous run of the same load test on another machine. Counts, histograms and slices
  /// are added up. If this method throws an error, this report is unchanged.
  public mutating func add(_ other: BurstReport) throws(ReportSumError) {
    guard let counted, let more = other.counted, more <= CountSum.most - counted else { throw .tooMuchCounted }
    guard sites.count + other.sites.count <= Self.mostSites else {
      throw .tooMany("the reports have more than \(Self.mostSites) accessories: merge fewer")
    }
    let (mine, theirs) = (endingInASum, other.endingInASum)
    let areShards = !shards.isComplete || !other.shards.isComplete
    if areShards {
      try shards.add(other.shards)
    } else {
      runs += other.runs
    }
    ending = mine
    for part in theirs.split(separator: "; ") where !ending.split(separator: "; ").contains(part) {
      ending += "; \(part)"
    }
    let shift = meet(other)
    for field in Self.countFields { self[keyPath: field.path] += other[keyPath: field.path] }
    latency.merge(other.latency)
    service.merge(other.service)
    series.merge(other.series, after: max(.zero, shift))
    map.merge(other.map, after: max(.zero, shift))
    warmUpTime = max(warmUpTime, other.warmUpTime)
    if phases.map(\.pace) == other.phases.map(\.pace) {
      for (index, phase) in other.phases.enumerated() {
        phases[index].completed += phase.completed
        phases[index].latency.merge(phase.latency)
      }
    } else {
      // If the plans differ, there are no phases that apply to all runs.
      phases = []
    }
    sizes.merge(other.sizes)
    if payloads.map(\.name) == other.payloads.map(\.name), plan.bursts == other.plan.bursts {
      for (index, payload) in other.payloads.enumerated() {
        payloads[index].completed += payload.completed
        payloads[index].bytes += payload.bytes
        payloads[index].latency.merge(payload.latency)
      }
    } else {
      payloads = []
    }
    for kind in ErrorKind.allCases {
      if let tally = other.errors[kind] { addError(kind, tally.count, tally.first) }
    }
    mismatches.merge(other.mismatches, uniquingKeysWith: +)
    addSites(of: other, after: max(.zero, shift))
    allowsOverdue = allowsOverdue && other.allowsOverdue
    limits += other.limits.filter { !limits.contains($0) }
    limits.removeLast(max(0, limits.count - Self.mostLimits))
    allowsLost = allowsLost && other.allowsLost
    allowsEmpty = allowsEmpty && other.allowsEmpty
    if plan.count != nil || other.plan.count != nil { plan.count = (plan.count ?? 0) + (other.plan.count ?? 0) }
    plan.time = [plan.time, other.plan.time].compactMap(\.self).max()
  }

  /// How this run ended, as stated in a merged report. If a run failed, the merged report fails, even if the merged
  /// figures do not show why. A shard's limits, however, are checked only against the merged totals.
  private var endingInASum: String {
    ending == Self.doneEnding && shards.isComplete && !passed
      ? "\(ending); one of the runs did not pass" : ending
  }

  /// Rates are added, so runs must have been simultaneous. Compares the dates and durations, unless the runs had the
  /// same planned start.
  public func caution(adding other: BurstReport) -> String? {
    guard start == nil || start?.planned != other.start?.planned, case .at(let mine)? = try? StartTime(made.date),
      case .at(let theirs)? = try? StartTime(other.made.date)
    else { return nil }
    let earlier = mine < theirs ? self : other
    // Dates are in whole seconds, so the gap may be up to a second shorter.
    let length = (earlier.started - .origin) + earlier.warmUpTime + earlier.measured + .seconds(1)
    guard .microseconds(abs(mine - theirs)) > length else { return nil }
    return "is of a run at another time, so the sum of the rates was never reached at once"
  }

  /// Extends the measured period so that it covers both runs. Returns how much later the other run began. If both runs
  /// had the same planned start, the period lasts from the earlier start to the later end, according to the machines'
  /// clocks. If the planned starts differ, the longer of the two periods is used.
  private mutating func meet(_ other: BurstReport) -> Duration {
    guard let mine = start, let theirs = other.start, mine.planned == theirs.planned,
      abs(theirs.first - mine.first) < Start.farthest
    else {
      if start?.planned != other.start?.planned { start = nil }
      measured = max(measured, other.measured)
      return .zero
    }
    let shift = Duration.microseconds(theirs.first - mine.first)
    let end = max(measured, other.measured + shift)
    measured = end - min(.zero, shift)
    if shift < .zero {
      series = series.delayed(by: .zero - shift)
      map = map.delayed(by: .zero - shift)
      started = max(.origin, started + shift)
    }
    start?.add(theirs)
    return shift
  }

  private mutating func addSites(of other: BurstReport, after later: Duration) {
    var room = max(0, Self.mostAttachments - list.attachments)
    for var site in other.sites {
      // Each run has its own clock. Attachments are shown as if both runs had begun at the same time.
      for index in site.attachments.indices {
        let attachment = site.attachments[index]
        let shift = started - other.started + later
        guard attachment.from + shift >= .origin else { continue }
        site.attachments[index].from = attachment.from + shift
        site.attachments[index].to = attachment.to.map { $0 + shift }
      }
      let dropped = max(0, site.attachments.count - room)
      site.attachments.removeLast(dropped)
      site.more += dropped
      room -= site.attachments.count
      list.append(site)
    }
  }

  /// The sum of all counts, or nil if it exceeds ``CountSum/most``.
  var counted: Int? {
    guard let accessories = list.counts.value else { return nil }
    var sum = CountSum()
    sum.add([accessories, runs, latency.total, service.total, sizes.total])
    sum.add(Self.countFields.map { self[keyPath: $0.path] })
    for slice in series.slices { sum.add([slice.bursts, slice.bytes, slice.errors, slice.sent, slice.received]) }
    sum.add(errors.values.map(\.count) + mismatches.values + map.cells.map { $0[2] })
    for phase in phases { sum.add([phase.completed, phase.latency.total]) }
    for payload in payloads { sum.add([payload.completed, payload.bytes, payload.latency.total]) }
    return sum.value
  }
}

extension CountSum {
  mutating func add(_ counts: [Int]) {
    for count in counts { add(count) }
  }
}
