import AccessoryCore
import AccessoryFormats
import AccessoryHost
import AccessoryProfiles
import IAP2
import Testing

/// Tests the state machine alone: what apps see and when they see it, with each policy and each cause of a flicker.
@Suite struct PublicationTests {
  @Test(
    arguments: [
      // If the accessory is not published before it is ready, it appears only once, with all its protocols.
      (.ready, nil, "identify 10, authenticate 20", ["20 + 1 [com.a, com.b]"]),
      (.ready, nil, "identify 10, authenticate 20, leave 30", ["20 + 1 [com.a, com.b]", "30 - 1 [com.a, com.b]"]),
      // If the accessory is published early, it has no protocols until it is authenticated. If the accessory is never
      // authenticated, it disappears without ever having had protocols.
      (.early, nil, "identify 10, authenticate 20", ["10 + 1 []", "20 - 1 []", "20 + 2 [com.a, com.b]"]),
      (.early, nil, "identify 10, leave 5000", ["10 + 1 []", "5000 - 1 []"]),
      // An accessory that is never identified is never shown.
      (.early, nil, "leave 10", []),
      // If a visible accessory is identified and authenticated again, it does not appear again.
      (
        .early, nil, "identify 0, authenticate 1, identify 2, authenticate 3",
        ["0 + 1 []", "1 - 1 []", "1 + 2 [com.a, com.b]"]
      ),
      // The device's own flicker uses the times in the quirk. If authentication takes longer than the empty phase, the
      // empty phase ends immediately after authentication.
      (
        .ready, "flicker,device,empty=250ms,gap=300ms", "identify 0, authenticate 40, timers",
        ["0 + 1 []", "250 - 1 []", "550 + 2 [com.a, com.b]"]
      ),
      (
        .ready, "flicker,device,empty=250ms,gap=300ms", "identify 0, authenticate 1000, timers",
        ["0 + 1 []", "1000 - 1 []", "1300 + 2 [com.a, com.b]"]
      ),
      // In every cycle, the accessory first appears without protocols.
      (
        .ready, "flicker,device,empty=10ms,gap=5ms,cycles=3", "identify 0, authenticate 2, timers",
        ["0 + 1 []", "10 - 1 []", "15 + 2 []", "25 - 2 []", "30 + 3 []", "40 - 3 []", "45 + 4 [com.a, com.b]"]
      ),
      // If the accessory leaves between two appearances, it does not disappear a second time.
      (
        .ready, "flicker,device,empty=10ms,gap=50ms", "identify 0, authenticate 2, timers 30, leave 30, timers",
        ["0 + 1 []", "10 - 1 []"]
      ),
      // The device does not repeat a flicker that the accessory performs on the wire.
      (.ready, "flicker,wire", "identify 0, authenticate 2, timers", ["2 + 1 [com.a, com.b]"]),
    ] as [(PublicationMachine.Policy, String?, String, [String])])
  func appsSee(policy: PublicationMachine.Policy, quirk: String?, steps: String, shown: [String]) throws {
    var scene = Scene(policy: policy, flicker: try quirk.map { try flicker($0) })
    for step in steps.split(separator: ", ") {
      let words = step.split(separator: " ")
      let time = try words.count > 1 ? #require(Int(words[1])) : .max
      switch words[0] {
      case "identify": scene.identify(at: time)
      case "authenticate": scene.authenticate(at: time)
      case "leave": scene.leave(at: time)
      default: scene.runTimers(until: time)
      }
    }
    #expect(scene.shown == shown)
  }

  /// Tries every sequence of six events of four kinds, with and without early publication and flicker.
  @Test(arguments: [nil, "flicker,device,empty=3ms,gap=2ms,cycles=2"])
  func eachConnectHasItsDisconnectWhateverHappens(quirk: String?) throws {
    let made = try quirk.map { try flicker($0) }
    for policy in [PublicationMachine.Policy.ready, .early] {
      for history in 0..<4_096 {
        var scene = Scene(policy: policy, flicker: made)
        for step in 0..<6 {
          let now = step * 2
          switch history >> (2 * step) & 3 {
          case 0: scene.identify(at: now)
          case 1: scene.authenticate(at: now)
          case 2: scene.leave(at: now)
          default: scene.runTimers(until: now)
          }
        }
        scene.leave(at: 100)
        try scene.checkPairs()
      }
    }
  }

  private func flicker(_ quirk: String) throws -> Flicker {
    try #require([try Quirk(quirk)].flicker)
  }
}

/// One attachment, and the notifications that apps receive: "550 + 2 [com.a, com.b]" contains the time in milliseconds,
/// a + for a connect, the number of the publication (counted from 1), and the protocols.
private struct Scene {
  private var machine: PublicationMachine
  private var random = SeededRandom(seed: 1)
  private var ids: ConnectionIDs
  private var isIdentified = false
  private var base = 0
  private(set) var shown: [String] = []

  init(policy: PublicationMachine.Policy = .ready, flicker: Flicker? = nil) {
    machine = PublicationMachine(policy: policy, flicker: flicker)
    ids = ConnectionIDs(using: &random)
    var peek = ids
    base = peek.issue() - 1
  }

  mutating func identify(at milliseconds: Int) {
    runTimers(until: milliseconds)
    isIdentified = true
    var identification = Identification()
    identification.protocols = [.init(id: 1, name: "com.a"), .init(id: 2, name: "com.b")]
    let action = machine.identified(JudgedIdentification(identification), now: time(milliseconds), ids: &ids)
    note(action.map { [$0] } ?? [], milliseconds)
  }

  /// Steps that a device takes only after the accessory has been identified.
  mutating func authenticate(at milliseconds: Int) {
    guard isIdentified else { return }
    runTimers(until: milliseconds)
    note(machine.ready(now: time(milliseconds), ids: &ids, random: &random), milliseconds)
  }

  mutating func leave(at milliseconds: Int) {
    isIdentified = false
    note(machine.gone().map { [$0] } ?? [], milliseconds)
  }

  mutating func runTimers(until limit: Int = .max) {
    while let deadline = machine.deadline {
      let now = Int(deadline.nanoseconds / 1_000_000)
      guard now <= limit else { return }
      note(machine.handleTimeout(now: deadline, ids: &ids, random: &random), now)
    }
  }

  /// Checks that each publication appears once and disappears once, in order, and that no number is reused.
  func checkPairs() throws {
    var open: String?
    var used: Set<String> = []
    for line in shown {
      let words = line.split(separator: " ").map(String.init)
      if words[1] == "+" {
        try #require(open == nil && used.insert(words[2]).inserted, "\(shown)")
        open = words[2]
      } else {
        try #require(open == words[2], "\(shown)")
        open = nil
      }
    }
    try #require(open == nil, "\(shown)")
  }

  private func time(_ milliseconds: Int) -> Instant { Instant.origin + .milliseconds(milliseconds) }

  private mutating func note(_ actions: [AccessoryNotice], _ milliseconds: Int) {
    for action in actions {
      switch action {
      case .connect(let it):
        shown.append("\(milliseconds) + \(it.connectionID - base) [\(it.protocols.joined(separator: ", "))]")
      case .disconnect(let it):
        shown.append("\(milliseconds) - \(it.connectionID - base) [\(it.protocols.joined(separator: ", "))]")
      }
    }
  }
}
