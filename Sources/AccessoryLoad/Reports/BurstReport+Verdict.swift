import AccessoryCore

extension BurstReport {
  /// Something that a run must fulfil beside the bytes: the rate that was asked for, and each limit of `--fail-if`.
  public struct Check: Equatable, Sendable {
    /// What is checked: "p99>50ms", "overdue".
    public let name: String
    /// Whether it held.
    public let passed: Bool
    /// The measured value.
    public let text: String
  }

  /// Everything that was checked beside the bytes.
  public var checks: [Check] {
    var checks: [Check] = []
    if plan.hasRate {
      let asked =
        "asked for \(phases.isEmpty ? plan.pace : "the rates of the phases")\(runs > 1 ? " in each of \(runs) runs" : "")"
      let came = "\(FixedText.text(burstsPerSecond, places: 1)) bursts/s came"
      let late = "\(overdue.counted("burst was", "bursts were")) overdue"
      checks.append(
        Check(
          name: "rate kept", passed: overdue == 0 || allowsOverdue,
          text: overdue == 0 ? "\(asked), none was overdue" : "\(asked), \(came), \(late)"))
    }
    // A shard has only some of the bursts: limits are about all of them.
    return checks + judgedLimits.map { $0.check(self) }
  }

  /// The limits that the figures are held against.
  var judgedLimits: [BurstLimit] { shards.isComplete ? limits : [] }

  /// Adds limits to a report that is finished; it fails when one of them does not hold.
  public mutating func require(_ more: [BurstLimit]) {
    limits += more.filter { !limits.contains($0) }
    if !checks.allSatisfy(\.passed) { passed = false }
  }

  /// Why the run failed, a sentence each; empty when it passed.
  public var reasons: [String] {
    if passed { return [] }
    var reasons = checks.filter { !$0.passed }.map { $0.name == "rate kept" ? $0.text : "\($0.name): \($0.text)" }
    for kind in ErrorKind.allCases {
      // Bursts lost in a flicker fail a run only when they ended it.
      guard let tally = errors[kind], kind != .lost || ending != "\(BurstRunner.Outcome.done)" else { continue }
      reasons.append("\(FixedText.grouped(tally.count)) \(kind.title): \(tally.first)")
    }
    if completed == 0, begun > 0 { reasons.append("no burst was completed") }
    return reasons.isEmpty ? [ending] : reasons
  }

  /// What to try when accessories took bursts and answered none of them; nil otherwise.
  public var advice: String? {
    guard errors[.timedOut] != nil, completed + warmUp == 0, plan.verification != "none",
      series.slices.allSatisfy({ $0.received == 0 })
    else { return nil }
    return "no byte came back: --probe sends one burst and prints which --verify fits the accessory"
  }
}

extension BurstReport.Plan {
  /// Whether bursts were due at fixed times.
  var hasRate: Bool { pace != Self.closedLoop }

  static let closedLoop = "closed loop"

  /// In which ways it is another plan, each in words; empty for the same one. Results of different plans cannot be compared.
  package func differences(from other: Self) -> [String] {
    var found: [String] = []
    func compare(_ name: String, _ mine: String, _ theirs: String) {
      if mine != theirs {
        found.append("\(name) \(mine.isEmpty ? "none" : mine), not \(theirs.isEmpty ? "none" : theirs)")
      }
    }
    func list(_ texts: [String]) -> String { texts.joined(separator: "; ") }
    if size > 0, other.size > 0 {
      compare("size", FixedText.grouped(size), FixedText.grouped(other.size))
    } else if size != other.size || isScript != other.isScript || bursts.count != other.bursts.count {
      compare("bursts of", sizeText, other.sizeText)
    } else {
      for (index, (mine, theirs)) in zip(bursts, other.bursts).enumerated() {
        compare(bursts.count == 1 ? "bursts of" : "\(isScript ? "request" : "payload") \(index + 1)", mine, theirs)
      }
    }
    compare("think time", think, other.think)
    compare("rates by accessory", list(shares), list(other.shares))
    compare("sessions", "\(sessions)", "\(other.sessions)")
    compare("in flight", "\(inFlight)", "\(other.inFlight)")
    compare("pace", pace, other.pace)
    compare("verification", verification, other.verification)
    compare("pattern", pattern, other.pattern)
    compare("faults", faults.joined(separator: "; "), other.faults.joined(separator: "; "))
    return found
  }
}
