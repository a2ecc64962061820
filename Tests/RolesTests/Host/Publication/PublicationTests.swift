import AccessoryCore
import AccessoryFormats
import AccessoryHost
import AccessoryProfiles
import IAP2
import Testing

/// Tests only the state machine: what apps see, and when they see it, with each policy and each cause of a flicker.
@Suite struct PublicationTests {
  @Test func aReadyAccessoryAppearsOnceAndWhole() {
    var scene = Scene()
    scene.identify(at: 10)
    #expect(scene.shown == [])
    scene.authenticate(at: 20)
    #expect(scene.shown == ["20 + 1 [com.a, com.b]"])
    scene.leave(at: 30)
    #expect(scene.shown == ["20 + 1 [com.a, com.b]", "30 - 1 [com.a, com.b]"])
  }

  @Test func anEarlyAccessoryIsEmptyUntilItIsAuthenticated() {
    var scene = Scene(policy: .early)
    scene.identify(at: 10)
    scene.authenticate(at: 20)
    #expect(scene.shown == ["10 + 1 []", "20 - 1 []", "20 + 2 [com.a, com.b]"])
  }

  @Test func anEarlyAccessoryThatIsNeverAuthenticatedGoesAsItCame() {
    var scene = Scene(policy: .early)
    scene.identify(at: 10)
    scene.leave(at: 5_000)
    #expect(scene.shown == ["10 + 1 []", "5000 - 1 []"])
  }

  @Test func anAccessoryThatIsNeverIdentifiedIsNeverShown() {
    var scene = Scene(policy: .early)
    scene.leave(at: 10)
    #expect(scene.shown == [])
  }

  @Test func theDevicesFlickerLastsAsLongAsItSays() throws {
    var scene = Scene(flicker: try flicker("flicker,device,empty=250ms,gap=300ms"))
    scene.identify(at: 0)
    scene.authenticate(at: 40)
    scene.runTimers()
    #expect(scene.shown == ["0 + 1 []", "250 - 1 []", "550 + 2 [com.a, com.b]"])
  }

  @Test func anAuthenticationThatTakesLongerThanTheEmptyPhaseEndsItAtOnce() throws {
    var scene = Scene(flicker: try flicker("flicker,device,empty=250ms,gap=300ms"))
    scene.identify(at: 0)
    scene.authenticate(at: 1_000)
    scene.runTimers()
    #expect(scene.shown == ["0 + 1 []", "1000 - 1 []", "1300 + 2 [com.a, com.b]"])
  }

  @Test func everyCycleHasItsEmptyAppearance() throws {
    var scene = Scene(flicker: try flicker("flicker,device,empty=10ms,gap=5ms,cycles=3"))
    scene.identify(at: 0)
    scene.authenticate(at: 2)
    scene.runTimers()
    #expect(
      scene.shown == [
        "0 + 1 []", "10 - 1 []", "15 + 2 []", "25 - 2 []", "30 + 3 []", "40 - 3 []", "45 + 4 [com.a, com.b]",
      ])
  }

  @Test func anAccessoryThatGoesBetweenTwoAppearancesIsNotTakenAwayTwice() throws {
    var scene = Scene(flicker: try flicker("flicker,device,empty=10ms,gap=50ms"))
    scene.identify(at: 0)
    scene.authenticate(at: 2)
    scene.runTimers(until: 30)
    scene.leave(at: 30)
    scene.runTimers()
    #expect(scene.shown == ["0 + 1 []", "10 - 1 []"])
  }

  @Test func aFlickerOfTheWireIsNotPlayedTwice() throws {
    var scene = Scene(flicker: try flicker("flicker,wire"))
    scene.identify(at: 0)
    scene.authenticate(at: 2)
    scene.runTimers()
    #expect(scene.shown == ["2 + 1 [com.a, com.b]"])
  }

  @Test func anUpdateOfAShownAccessoryShowsNothingAnew() {
    var scene = Scene(policy: .early)
    scene.identify(at: 0)
    scene.authenticate(at: 1)
    scene.identify(at: 2)
    scene.authenticate(at: 3)
    #expect(scene.shown == ["0 + 1 []", "1 - 1 []", "1 + 2 [com.a, com.b]"])
  }

  /// Plays all sequences of six events of four kinds (4^6 sequences), with and without early publication and flicker.
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
/// a + for a connect, the publication's number counted from 1, and the protocols.
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

  /// Steps that a device takes only once the accessory is identified.
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

  private mutating func note(_ actions: [PublicationMachine.Action], _ milliseconds: Int) {
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
