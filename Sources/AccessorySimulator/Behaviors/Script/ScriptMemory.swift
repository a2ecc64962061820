import AccessoryFormats
import AccessoryProfiles

/// What the scripts of an accessory remember together: the state, the counters, how often rules answered. It outlives
/// sessions and attachments.
struct ScriptMemory {
  /// A rule of the script of a protocol.
  struct RuleID: Hashable {
    var protocolName: String
    var index: Int
  }

  /// The state; nil where no script has any.
  private(set) var state: String?
  /// How often a state was entered.
  private(set) var entries = 0
  private var uses: [RuleID: Int] = [:]
  private var counters: [String: Int] = [:]
  /// Chance for inserted numbers.
  var random: SeededRandom
  /// The time at the zero of the loop's clock, in seconds since 1970.
  var epoch: UInt64

  /// An accessory in the first of its states.
  init(state: String? = nil, random: SeededRandom, epoch: UInt64 = 1_777_777_777) {
    (self.state, self.random, self.epoch) = (state, random, epoch)
  }

  /// Begins in the first of these states, unless it is in one of them. A script that declares none leaves the state as it
  /// is; one that took the place of another may declare others.
  mutating func begin(in states: [String]) {
    guard let first = states.first, !states.contains(where: { $0 == state }) else { return }
    enter(first)
  }

  /// Enters a state, also the one it is in: rules with a number of times start again.
  mutating func enter(_ state: String) {
    self.state = state
    entries += 1
    uses = [:]
  }

  /// Whether a rule or timer with these states counts now.
  func isIn(_ states: [String]) -> Bool { states.isEmpty || state.map(states.contains) ?? false }

  /// How often a rule answered since the state was entered.
  func uses(of rule: RuleID) -> Int { uses[rule] ?? 0 }

  /// A rule with a number of times answers.
  mutating func use(_ rule: RuleID) { uses[rule, default: 0] += 1 }

  /// A counter's number, one more than before when `counts`.
  mutating func counter(_ name: String, counts: Bool) -> Int {
    if counts { counters[name, default: 0] &+= 1 }
    return counters[name] ?? 0
  }
}
