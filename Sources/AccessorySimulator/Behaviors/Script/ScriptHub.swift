import AccessoryCore
import AccessoryFormats
import AccessoryProfiles
import AccessorySessions

/// Connects the sessions that run an accessory's scripts. The scripts of an accessory share one memory.
///
/// The hub belongs to the accessory and outlives the sessions.
final class ScriptHub {
  @exclusivity(unchecked) var memory: ScriptMemory
  /// Performs the actions that scripts request from the accessory. The value is nil if the hub has no accessory.
  var perform: ((AccessoryAction) -> Void)?
  /// The open sessions. Sessions are held weakly, because a forgotten session disappears without reporting its end.
  private var members: [Weak<ScriptAnswerer>] = []

  init(_ memory: ScriptMemory) { self.memory = memory }

  func join(_ session: ScriptAnswerer) { members.append(Weak(session)) }

  func leave(_ session: ScriptAnswerer) { members.removeAll { $0.object == nil || $0.object === session } }

  /// Sends bytes in all open sessions of a protocol, or returns false if there are none.
  func forward(_ bytes: [UInt8], to protocolName: String, isUnframed: Bool) -> Bool {
    let targets = members.compactMap(\.object).filter { $0.protocolName == protocolName }
    for target in targets { target.push(bytes, isUnframed: isUnframed) }
    return !targets.isEmpty
  }

  func stateWasEntered() {
    for session in members.compactMap(\.object) { session.noticeState() }
  }
}

/// The memory that an accessory's scripts share: the state, the counters, and how many times each rule has answered.
/// The memory outlives sessions and attachments.
struct ScriptMemory {
  struct RuleID: Hashable {
    var protocolName: String
    var index: Int
  }

  private(set) var state: String?
  private(set) var entries = 0
  private var uses: [RuleID: Int] = [:]
  private var counters: [String: Int] = [:]
  var random: SeededRandom
  /// The time in seconds since 1970 at which the loop's clock was 0.
  var epoch: UInt64

  init(state: String? = nil, random: SeededRandom, epoch: UInt64 = 1_777_777_777) {
    (self.state, self.random, self.epoch) = (state, random, epoch)
  }

  /// Enters the first of these states, unless the list is empty or contains the current state. The current state may be
  /// missing from the list after one script has replaced another.
  mutating func begin(in states: [String]) {
    guard let first = states.first, !states.contains(where: { $0 == state }) else { return }
    enter(first)
  }

  /// Enters a state, which may be the current state, and restarts the count of answers for each rule.
  mutating func enter(_ state: String) {
    self.state = state
    entries += 1
    uses = [:]
  }

  func isIn(_ states: [String]) -> Bool { states.isEmpty || state.map(states.contains) ?? false }

  func uses(of rule: RuleID) -> Int { uses[rule] ?? 0 }

  mutating func use(_ rule: RuleID) { uses[rule, default: 0] += 1 }

  /// Returns the value of a counter. If `counts` is set, the counter is incremented first.
  mutating func counter(_ name: String, counts: Bool) -> Int {
    if counts { counters[name, default: 0] &+= 1 }
    return counters[name] ?? 0
  }
}

/// Writes a script's reports to the timeline. If there are many reports of one kind, later ones are only counted.
struct ScriptNotes {
  enum Kind: String, CaseIterable {
    case unanswered = "requests without an answer"
    case endless = "requests without their delimiter"
    case skipped = "runs of bytes between frames"
    case wrongLength = "frames of a wrong length"
    case wrongChecksum = "frames with a wrong checksum"
    case unfit = "numbers that do not fit"
    case dropped = "answers that cannot be sent"

    fileprivate var isWarning: Bool { self != .unanswered && self != .skipped }
  }

  static let most = 10

  private var counts: [Kind: Int] = [:]
  private var events: [TimelineEvent.Kind] = []

  mutating func add(_ kind: Kind, _ text: @autoclosure () -> String) {
    let count = counts[kind, default: 0] + 1
    counts[kind] = count
    guard count <= Self.most else { return }
    events.append(kind.isWarning ? .warning(text()) : .note(text()))
    if count == Self.most { events.append(.note("further \(kind.rawValue) are only counted")) }
  }

  mutating func take() -> [TimelineEvent.Kind] {
    guard !events.isEmpty else { return [] }
    defer { events.removeAll() }
    return events
  }

  var totals: [String] {
    Kind.allCases.compactMap { kind in
      counts[kind].flatMap { $0 > Self.most ? "\($0) \(kind.rawValue)" : nil }
    }
  }
}
