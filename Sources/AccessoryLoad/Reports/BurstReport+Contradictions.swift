import AccessoryCore
import AccessoryRuns

extension BurstReport {
  /// Figures that cannot have been measured, because they contradict other figures. Each of these figures has its key
  /// and an explanation. The sum of the report's counts must be less than ``CountSum/most``.
  var contradictions: [(key: String, text: String)] {
    var found: [(key: String, text: String)] = []
    func require(_ holds: Bool, _ key: String, _ text: @autoclosure () -> String) {
      if !holds, found.last?.key != key { found.append((key, text())) }
    }
    require(runs > 0, "runs", "is 0, but a report is of a run")
    require(
      plan.count != nil || plan.time != nil, "plan",
      "'count' and 'forNanoseconds' are missing: one says how long the run was to be")
    require(completed == latency.total, "completed", "is \(completed), but there are \(latency.total) latencies")
    requireBursts(require)
    requireParts(require)
    return found
  }

  private typealias Require = (_ holds: Bool, _ key: String, _ text: @autoclosure () -> String) -> Void

  private func requireBursts(_ require: Require) {
    // Bursts lost in the warm-up count as errors but not in `lost`.
    let allLost = max(lost, errors[.lost]?.count ?? 0)
    let over = completed + warmUp + lost
    require(over <= begun, "begun", "is \(begun), fewer than completed or lost")
    if isDone {
      require(
        begun == completed + warmUp + allLost, "begun",
        "is \(begun), but \(completed + warmUp + allLost) were completed or lost in a run that is done")
    }
    // A merged report may include a run with a rate even if the report's own plan has no rate.
    require(overdue == 0 || plan.hasRate || runs > 1, "overdue", "is \(overdue), but no burst is due without a rate")
    require(service.total <= completed, "service", "has \(service.total) values of \(completed) bursts")
    require(begun == 0 || !sites.isEmpty, "sites", "there is no accessory, but \(begun.counted("burst")) began")
    let longest = Duration.nanoseconds(latency.maximum ?? 0)
    require(longest <= measured, "measuredNanoseconds", "is shorter than the longest latency")
  }

  private func requireParts(_ require: Require) {
    func sum<Part>(_ parts: [Part], _ count: (Part) -> Int) -> Int { parts.reduce(0) { $0 + count($1) } }
    let slices = series.slices
    require(
      sum(slices, \.bursts) == completed, "completed",
      "is \(completed), but the slices of time have \(sum(slices, \.bursts))")
    require(sum(slices, \.bytes) == bytes, "bytes", "is \(bytes), but the slices of time have \(sum(slices, \.bytes))")
    require(
      sum(slices, \.errors) <= errorCount, "errors",
      "are \(errorCount), but the slices of time have \(sum(slices, \.errors))")
    // Reports from earlier versions have no sizes and no map.
    require([0, completed].contains(sizes.total), "sizes", "there are \(sizes.total) of \(completed) bursts")
    let mapped = sum(map.cells) { $0[2] }
    require([0, completed].contains(mapped), "latencyMap", "has \(mapped) of \(completed) bursts")
    require(
      phases.allSatisfy { $0.completed == $0.latency.total } && sum(phases, \.completed) <= completed, "phases",
      "have other counts than the run")
    require(
      payloads.allSatisfy { $0.completed == $0.latency.total }
        && (payloads.isEmpty || sum(payloads, \.completed) == completed && sum(payloads, \.bytes) == bytes), "payloads",
      "have other counts than the run")
    let (sessions, attachments) = (sites.flatMap(\.sessions), sites.flatMap(\.attachments))
    let isPossible =
      sum(sessions, \.completed) <= completed && sum(attachments, \.completed) <= completed + warmUp
      && max(sum(sessions, \.lost), sum(attachments, \.lost)) <= max(0, begun - completed - warmUp)
    require(isPossible, "sites", "have more bursts than the run")
  }

  private var isDone: Bool { !ending.isEmpty && ending.split(separator: "; ").allSatisfy { $0 == Self.doneEnding } }
}
