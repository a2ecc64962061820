import AccessoryFormats
import AccessoryWorlds

/// Makes a failing world as small as possible, provided that it still breaks the same rule.
///
/// The shrinker edits the plan's scenario file by removing parts and keys and by reducing times and sizes. A change is
/// kept if the world still breaks the rule, and shrinking ends when no further change can be kept. Every candidate is
/// read in the same way as any other file, so the result is always a valid scenario. Shrinking the same plan always
/// gives the same result.
///
/// Invariant: ``plan`` breaks the rule, and ``outcome`` is the result of running it.
///
/// ```swift
/// var shrinker = SoakShrinker(SoakRecipe().plan(23))
/// shrinker?.run()
/// print(shrinker?.shrunk.scenario ?? "passed")
/// ```
public struct SoakShrinker {
  /// Limits on how much work shrinking may do.
  public struct Effort: Sendable {
    /// The maximum number of worlds to run.
    public var worlds = 2_000
    /// The maximum number of loop steps in all worlds combined.
    public var steps = 10_000_000

    /// Creates the default limits, which allow a few seconds of shrinking.
    public init() {}
  }

  /// How many other seeds to try after a part has been removed. Removing a part changes every random choice made
  /// afterwards.
  private static let otherSeeds: UInt64 = 3

  /// The smallest world found so far.
  public private(set) var plan: SoakPlan
  /// The outcome of the smallest world.
  public private(set) var outcome: SoakOutcome
  /// The rule that the world breaks.
  public let rule: SoakRule
  /// How many worlds have been run so far.
  public private(set) var worldsPlayed = 1

  private let original: SoakPlan
  private let effort: Effort
  private let kept: Set<String>
  private let isStopped: () -> Bool
  private var stepsTaken: Int

  /// Creates a shrinker for a plan that breaks a rule. Returns nil if the plan breaks no rule. If the plan breaks
  /// several rules, the first one is used. If `keepsProfiles` is true, the accessories' profiles are not changed.
  public init?(
    _ plan: SoakPlan, keepsProfiles: Bool = false, effort: Effort = Effort(),
    isStopped: @escaping () -> Bool = { false }
  ) {
    let outcome = Soak.run(plan)
    guard let first = outcome.violations.first else { return nil }
    (self.plan, original, self.outcome, rule) = (plan, plan, outcome, first.rule)
    (self.effort, self.isStopped) = (effort, isStopped)
    kept = Set(["version", "description", "seed", "forbid"] + (keepsProfiles ? ["profile"] : []))
    stepsTaken = outcome.steps
  }

  /// The smallest world found so far, in the form used in reports.
  public var shrunk: SoakReport.Shrunk {
    let seen = outcome.violations.first { $0.rule == rule }
    let text = plan.fileText(
      description: seen.map { "\($0.rule): \($0.text)" } ?? "\(rule)",
      comment: """
        A random world that breaks a rule, shrunk as far as possible:
        \(original.size) before, \(plan.size) now.
        Play it with: easim scenario run
        """)
    return SoakReport.Shrunk(before: original.size, after: plan.size, worlds: worldsPlayed, scenario: text)
  }

  /// Shrinks the plan until no change helps or a limit is reached.
  public mutating func run() {
    var before: SoakPlan
    repeat {
      before = plan
      attemptAll { $0.shorter(keeping: $1) }
      attemptAll { $0.plainer(keeping: $1) }
    } while plan != before && !isExhausted
  }

  private var isExhausted: Bool {
    worldsPlayed >= effort.worlds || stepsTaken >= effort.steps || isStopped()
  }

  private mutating func attemptAll(_ change: (JSON5Value, Set<String>) -> [SmallerTree]) {
    var changes = change(plan.tree, kept)
    var next = 0
    while !isExhausted, next < changes.count {
      if attempt(changes[next]) {
        // The index stays the same because it now refers to the next change, or to the same change in the smaller plan.
        changes = change(plan.tree, kept)
      } else {
        next += 1
      }
    }
  }

  private mutating func attempt(_ change: SmallerTree) -> Bool {
    let tree = change.tree
    guard var smaller = try? SoakPlan(tree, ScenarioNames(in: tree)), smaller != plan else { return false }
    for seed in 0...(change.isWithoutPart ? Self.otherSeeds : 0) {
      smaller.seed = seed == 0 ? plan.seed : seed
      if isExhausted { return false }
      let result = Soak.run(smaller)
      worldsPlayed += 1
      stepsTaken += result.steps
      guard result.violations.contains(where: { $0.rule == rule }) else { continue }
      (plan, outcome) = (smaller, result)
      return true
    }
    return false
  }
}

/// The JSON tree of a scenario file after one change that makes the file smaller.
struct SmallerTree {
  var tree: JSON5Value
  /// Whether the change removed a part of the world, such as a step or an app, rather than a setting.
  var isWithoutPart = false
}

extension JSON5Value {
  /// Returns trees from which something has been removed: list elements, keys, or options of faults and quirks. Larger
  /// parts are removed before smaller ones. The resulting trees are not necessarily valid files.
  func shorter(keeping kept: Set<String>, in key: String = "") -> [SmallerTree] {
    let inside = changes(inside: kept) { $0.shorter(keeping: kept, in: $1) }
    switch content {
    case .object(let members):
      let areParts = ["accessories", "apps"].contains(key)
      return members.indices.reversed().filter { !kept.contains(members[$0].key) }.map { index in
        var rest = members
        rest.remove(at: index)
        return SmallerTree(tree: JSON5Value(.object(rest)), isWithoutPart: areParts)
      } + inside
    case .array(let values):
      // The first change removes all elements. The next changes remove halves, then quarters, and finally single
      // elements.
      var changes: [SmallerTree] = []
      var size = values.count
      while size > 0 {
        for end in stride(from: values.count, to: 0, by: -size) {
          var rest = values
          rest.removeSubrange(max(0, end - size)..<end)
          changes.append(SmallerTree(tree: JSON5Value(.array(rest)), isWithoutPart: true))
        }
        size /= 2
      }
      return changes + inside
    case .text(let text):
      let options = text.split(separator: ",")
      return options.indices.dropFirst().map { index in
        var rest = options
        rest.remove(at: index)
        return SmallerTree(tree: JSON5Value(.text(rest.joined(separator: ","))))
      }
    case .null, .boolean, .number: return []
    }
  }

  /// Returns trees in which one time is shorter or one size is smaller. The resulting trees are not necessarily valid
  /// files.
  func plainer(keeping kept: Set<String>, in key: String = "") -> [SmallerTree] {
    switch content {
    case .object: return changes(inside: kept) { $0.plainer(keeping: kept, in: $1) }
    case .array(let values):
      // Each of these changes moves a step to the time of the step before it.
      let moved = values.indices.dropFirst().compactMap { index -> SmallerTree? in
        guard case .object(var members) = values[index].content, let time = values[index - 1]["at"],
          let place = members.firstIndex(where: { $0.key == "at" }), members[place].value != time
        else { return nil }
        members[place].value = time
        var changed = values
        changed[index].content = .object(members)
        return SmallerTree(tree: JSON5Value(.array(changed)))
      }
      return moved + changes(inside: kept) { $0.plainer(keeping: kept, in: $1) }
    case .number(let number):
      guard key == "bytes", let bytes = number.integer, bytes > 0 else { return [] }
      return [0, Int(bytes) / 2].map { SmallerTree(tree: .number($0)) }
    case .text(let text):
      if let time = try? DurationText.parse(text) {
        return ([.zero] + time.shorter).map { SmallerTree(tree: .duration($0)) }
      }
      // Fault and quirk options are not set to zero, because for some of them zero means "forever".
      let options = text.split(separator: ",").map { $0.split(separator: "=", maxSplits: 1) }
      return options.indices.flatMap { index -> [SmallerTree] in
        guard options[index].count == 2, let time = try? DurationText.parse(String(options[index][1])) else {
          return []
        }
        return time.shorter.filter { $0 >= .milliseconds(1) }.map { shorter in
          var changed = options
          changed[index][1] = DurationText.format(shorter)[...]
          return SmallerTree(tree: JSON5Value(.text(changed.map { $0.joined(separator: "=") }.joined(separator: ","))))
        }
      }
    case .null, .boolean: return []
    }
  }

  private func changes(inside kept: Set<String>, _ changes: (JSON5Value, String) -> [SmallerTree]) -> [SmallerTree] {
    switch content {
    case .object(var members):
      members.indices.filter { !kept.contains(members[$0].key) }.flatMap { index in
        changes(members[index].value, members[index].key).map { change in
          let whole = members[index].value
          defer { members[index].value = whole }
          members[index].value = change.tree
          return SmallerTree(tree: JSON5Value(.object(members)), isWithoutPart: change.isWithoutPart)
        }
      }
    case .array(var values):
      values.indices.flatMap { index in
        changes(values[index], "").map { change in
          let whole = values[index]
          defer { values[index] = whole }
          values[index] = change.tree
          return SmallerTree(tree: JSON5Value(.array(values)), isWithoutPart: change.isWithoutPart)
        }
      }
    case .null, .boolean, .number, .text: []
    }
  }
}

extension Duration {
  /// Shorter durations to try: half of this duration, and this duration rounded down to one digit or to milliseconds.
  fileprivate var shorter: [Duration] {
    let time = wholeNanoseconds
    let units: [Int64] = [1_000_000_000, 100_000_000, 10_000_000, 1_000_000]
    let unit = units.first { time >= $0 } ?? 1
    let half = time / 2_000_000 * 1_000_000
    let others = [time / unit * unit, time / 1_000_000 * 1_000_000]
    return ([half] + others).filter { $0 < time }.map { .nanoseconds($0) }
  }
}
