import AccessoryCables
import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import Certificates
import Glibc
import LinuxIO
import TestSupport
import Testing

/// The test runs in a separate process, so that its descriptors can be counted.
@Suite(.waits) struct LocalCyclesTests {
  @Test func aHundredFlickersLoseNoEventAndLeaveNothing() async {
    await #expect(processExitsWith: .success) { try LocalCycles().play() }
  }

  @Test func twoHundredAccessoriesAreListedAndGoWithoutATrace() async {
    await #expect(processExitsWith: .success) {
      let lab = try LocalLab()
      let accessories = try ProfileLibrary().template("echo").instances(200).map { try lab.accessory($0) }
      for accessory in accessories { try accessory.plugIn() }
      let serials = Set(try lab.directory.look().accessories.map(\.serial))
      for accessory in accessories { accessory.unplug() }
      try #require(serials.count == 200)
      try #require(lab.files.isEmpty)
    }
  }
}

/// Runs ten accessories, which flicker ten times each, on one loop with its own thread, and a host and a watcher on
/// another. The two threads behave like two processes, except that neither can crash without the other.
final class LocalCycles {
  private static let accessoryCount = 10
  private static let cycleCount = 10

  private let simulatorLoop: EpollLoop
  private let lab: LocalLab
  private var descriptorsBefore: [String] = []
  private var accessories: [SimulatedAccessory] = []
  private var cyclesDone: [String: Int] = [:]
  private var appearances: [String: [String]] = [:]
  private var cards: [String: [String]] = [:]
  private var warnings: [String] = []

  init() throws {
    lab = try LocalLab()
    simulatorLoop = try EpollLoop(seed: 3)
    descriptorsBefore = openDescriptors
  }

  /// The descriptors that this process has open, such as "7 → socket:[4711]". Includes only the kinds of descriptors
  /// that a local directory opens. All other kinds belong to the runtime, which may, for example, open a timer at any
  /// time.
  private var openDescriptors: [String] {
    let kinds = ["socket:", "anon_inode:inotify", "anon_inode:[pidfd]", "pidfd:", lab.root]
    return OpenDescriptors.targets.filter { _, target in kinds.contains(where: target.hasPrefix) }
      .map { "\($0) → \($1)" }.sorted()
  }

  func play() throws {
    let ports = PortMaker(.standard, PortContext(on: simulatorLoop))
    for index in 0..<Self.accessoryCount {
      accessories.append(try accessory("S\(index)", ports))
    }
    let watcher = LocalWatcher(lab.directory, on: lab.loop) { [unowned self] change in note(change) }
    let device = Device(
      settings: DeviceSettings(authenticator: StubAuthenticator(seed: 1)), on: lab.loop
    ) { [unowned self] event in note(event) }
    let dialer = try MediumTable.standard.makeDialer(
      to: lab.address, for: device, on: lab.loop)
    try watcher.start()
    try dialer.start()
    try simulatorLoop.start()
    let all = LoopBound(accessories, on: simulatorLoop)
    simulatorLoop.execute { for accessory in all.value { try? accessory.plugIn() } }
    let expected = 4 * Self.cycleCount
    let came = lab.loop.run(
      until: {
        self.appearances.count == Self.accessoryCount && self.appearances.values.allSatisfy { $0.count >= expected }
          && self.cards.values.allSatisfy { $0.count >= expected }
      }, limit: hangLimit)
    dialer.stop()
    watcher.stop()
    device.unplugAll()
    // A closed socket remains for a moment, until its peer has closed too.
    let clean = lab.loop.run(until: { self.isClean }, limit: .seconds(5))
    simulatorLoop.stop()
    let left = Set(openDescriptors).subtracting(descriptorsBefore)
    try #require(clean, "left open: \(left.sorted())")
    try #require(came, "\(appearances.mapValues(\.count)) \(cards.mapValues(\.count)) \(warnings)")
    try check()
  }

  private func accessory(_ serial: String, _ ports: PortMaker) throws -> SimulatedAccessory {
    let profile = try lab.profile(serial: serial, quirks: "flicker,empty=10ms,gap=10ms")
    let loop = simulatorLoop
    var whole = false
    var made: SimulatedAccessory?
    let accessory = SimulatedAccessory(
      profile, at: try ports.makePort(at: lab.address, for: profile),
      authenticator: StubAuthenticator(seed: 1, generation: .current), on: loop
    ) { [unowned self] event in
      // A cycle is complete when the host sees the accessory with all its protocols.
      guard case .identification = event.kind, event.subject?.protocols.isEmpty == false, !whole else { return }
      whole = true
      cyclesDone[serial, default: 0] += 1
      let isLast = cyclesDone[serial] == Self.cycleCount
      loop.schedule(after: .milliseconds(10)) {
        whole = false
        made?.unplug()
        if !isLast { loop.schedule(after: .milliseconds(10)) { try? made?.plugIn() } }
      }
    }
    made = accessory
    return accessory
  }

  private func note(_ event: TimelineEvent) {
    switch event.kind {
    case .connect, .disconnect:
      let (serial, offer) = (event.subject?.serial ?? "?", event.subject?.protocols ?? [])
      appearances[serial, default: []].append("\(event.kind.name) \(offer)")
    case .warning(let text): warnings.append(text)
    default: break
    }
  }

  private func note(_ change: AccessoryChange) {
    switch change {
    case .arrived(let it): cards[it.identity, default: []].append("arrived \(it.protocols ?? [])")
    case .left(let it, _): cards[it.identity, default: []].append("left \(it.protocols ?? [])")
    // The accessory was unplugged before its card could be read, so only the order of events tells the two halves of
    // the flicker apart.
    case .passed(let it):
      let seen = cards[it?.identity ?? "?", default: []]
      let whole = seen.count % 4 == 2 ? "[\"com.example.echo\"]" : "[]"
      cards[it?.identity ?? "?", default: []] += ["arrived \(whole)", "left \(whole)"]
    case .changed, .warning: warnings.append("\(change)")
    }
  }

  /// The loop must keep running, because the condition is checked after each turn.
  private var isClean: Bool {
    lab.loop.schedule(after: .milliseconds(5)) {}
    return Set(openDescriptors).isSubset(of: descriptorsBefore)
  }

  private func check() throws {
    let offer = "[\"com.example.echo\"]"
    let seen = ["connect []", "disconnect []", "connect \(offer)", "disconnect \(offer)"]
    let shown = ["arrived []", "left []", "arrived \(offer)", "left \(offer)"]
    for (serial, list) in appearances {
      try #require(list == Array(repeating: seen, count: Self.cycleCount).flatMap(\.self), "\(serial): \(list)")
    }
    for (serial, list) in cards {
      try #require(list == Array(repeating: shown, count: Self.cycleCount).flatMap(\.self), "\(serial): \(list)")
    }
    try #require(lab.files.isEmpty, "\(lab.files)")
  }
}
