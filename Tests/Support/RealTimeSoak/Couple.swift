import AccessoryFormats
import Glibc
import TestSupport

/// An accessory and a host in two processes, one of which is killed repeatedly.
///
/// ```
///   host is the victim       accessory ─────────────────────────────────────────▶ lives
///                            host ──kill -9, or to its end──▶ accounts ──▶ the next host …
///   accessory is the victim  host ──────────────────────────────────────────────▶ lives, and reconnects
///                            accessory ──kill -9──▶ a while without ──▶ another at the same place …
/// ```
///
/// After a host ends, the accessory must report within a few seconds why each of the host's sessions ended. The
/// accessory must have read at least as many bytes as the host last reported as acknowledged.
final class Couple {
  enum Kind: String, CaseIterable {
    case echo = "host, echo"
    case sink = "host, sink"
    case accessory = "accessory"
  }

  private enum Phase {
    case plugging(since: Double)
    case working(kill: Double?)
    case accounting(since: Double)
    case resting(until: Double)
    case leaving
    case broken
  }

  private static let patience = 20.0

  let medium: Medium
  let kind: Kind
  private(set) var tally = Tally()
  private(set) var growth = Growth()

  private let setting: Setting
  private let place: MeetingPlace
  private var chances: SeededRandom
  private var phase: Phase
  private var accessory: Child?
  private var accessoryFacts = Facts()
  private var host: Child?
  private var hostFacts = Facts()
  /// The accessory's totals when the current host started.
  private var before = (bytes: 0, closed: 0)
  private var number = 0
  private var isLoadTest = true
  /// Whether a host's faults have flipped bits. If so, bytes that belong to no packet are not a problem.
  private var flipsBits = false

  struct Setting {
    let easim: String
    let folder: String
    let seed: UInt64
    /// A time limit for processes, in case the soak is killed and cannot end them.
    let limit: String
  }

  init(_ medium: Medium, _ kind: Kind, _ setting: Setting, now: Double) throws {
    self.medium = medium
    self.kind = kind
    self.setting = setting
    place = try MeetingPlace(medium, named: "\(medium)-\(kind.letter)", in: setting.folder)
    chances = SeededRandom(seed: setting.seed ^ "\(medium) \(kind)".utf8.stableHash)
    phase = .plugging(since: now)
    try startAccessory()
  }

  var name: String { "\(medium) (\(kind.rawValue))" }

  private var survivor: Child? { kind == .accessory ? host : accessory }

  // MARK: Starting

  private func start(_ role: String, _ words: [String]) throws -> Child {
    number += 1
    return try Child(
      "\(medium)-\(kind.letter)-\(number)-\(role)", setting.easim,
      words + ["--json", "--seed", "\(chances.below(1_000_000))"],
      environment: place.environment, in: setting.folder)
  }

  private func startAccessory() throws {
    let profile = "\(setting.folder)/\(kind == .sink ? "sink" : "echo").json5"
    accessoryFacts = Facts()
    accessory = try start(
      "accessory", ["run", profile, "--for", setting.limit] + place.on + chances.faults(flipsBits: false))
  }

  private func startHost() throws {
    hostFacts = Facts()
    before = (accessoryFacts.bytesRead, accessoryFacts.closed)
    isLoadTest = kind != .echo || !chances.chance(30)
    guard isLoadTest else {
      host = try start("send", ["send"] + place.address + ["--10k", "--expect", "echo", "--timeout", "60s"])
      return
    }
    var words = ["burst"] + place.address + ["--timeout", "60s", "--rate", kind == .accessory ? "5" : "8"]
    // Bursts are delayed by faults and by killed processes. This test does not check whether bursts are on time.
    words.append("--allow-overdue")
    switch kind {
    case .echo: words += ["--for", setting.limit]
    // The accessory checks these bytes. The load test only waits until the accessory has acknowledged them.
    case .sink: words += ["--for", setting.limit, "--verify", "none"]
    case .accessory: words += ["--for", setting.limit, "--reconnect", "--allow-lost"]
    }
    let faults = chances.faults(flipsBits: true)
    if faults.contains(where: { $0.hasPrefix("corrupt") }) { flipsBits = true }
    host = try start("burst", words + faults)
  }

  // MARK: Every moment

  func tick(now: Double) throws {
    for line in accessory?.newLines() ?? [] { accessoryFacts.take(line) }
    for line in host?.newLines() ?? [] { hostFacts.take(line) }
    takeWrongs()
    if let survivor, survivor.hasEnded(), !isLeaving, !isBroken {
      fail(
        "the \(kind == .accessory ? "host" : "accessory") is gone (\(survivor.ending.map(\.description) ?? "")): "
          + (kind == .accessory ? hostFacts.last : accessoryFacts.last))
    }
    switch phase {
    case .plugging(let since): try plugging(since, now)
    case .working(let time): try working(time, now)
    case .accounting(let since): accounting(since, now)
    case .resting(let until): if now >= until { try goOn(now) }
    case .leaving, .broken: break
    }
  }

  private func takeWrongs() {
    tally.wrongs += (accessoryFacts.takeWrongs() + hostFacts.takeWrongs()).filter { wrong in
      // If a burst was in flight, it is counted as `lost` instead.
      if kind == .accessory, wrong.contains("a burst in flight was lost") { return false }
      // The accessory has not noticed yet that the previous host was killed, so the new host will try again.
      if kind != .accessory, medium != .pty, wrong.contains("another device is already connected") {
        return false
      }
      return !(flipsBits && wrong.contains("bytes that belong to no packet"))
    }
  }

  private var isLeaving: Bool { if case .leaving = phase { true } else { false } }
  private var isBroken: Bool { if case .broken = phase { true } else { false } }

  private func fail(_ what: String) {
    tally.wrongs.append(what)
    phase = .broken
  }

  private func plugging(_ since: Double, _ now: Double) throws {
    guard accessoryFacts.address != nil else {
      if accessory?.hasEnded() == true {
        return fail("the accessory cannot be plugged in, see \(accessory?.name ?? "")")
      }
      if now - since > Self.patience { fail("the accessory is not plugged in after \(Int(Self.patience)) s") }
      return
    }
    if kind != .accessory || host == nil { try startHost() }
    phase = .working(kill: timeOfDeath(now))
  }

  private func timeOfDeath(_ now: Double) -> Double? {
    if kind == .accessory { return now + chances.seconds(4...15) }
    // The host may be killed while it connects, authenticates or opens sessions.
    return isLoadTest ? now + (chances.chance(25) ? chances.seconds(0...0.4) : chances.seconds(1...9)) : nil
  }

  private func working(_ death: Double?, _ now: Double) throws {
    if kind != .accessory, host?.hasEnded() == true {
      tally.ended(host, hostFacts)
      if host?.ending != .exit(0) { tally.wrongs.append("\(host?.name ?? "") ended by itself: \(hostFacts.last)") }
      phase = .accounting(since: now)
      return
    }
    guard let death, now >= death else { return }
    let victim = kind == .accessory ? accessory : host
    victim?.kill()
    tally.kills += 1
    for line in victim?.newLines() ?? [] {
      if kind == .accessory { accessoryFacts.take(line) } else { hostFacts.take(line) }
    }
    tally.ended(victim, kind == .accessory ? accessoryFacts : hostFacts)
    phase = kind == .accessory ? .resting(until: now + chances.seconds(0...2)) : .accounting(since: now)
  }

  private func accounting(_ since: Double, _ now: Double) {
    // The delay leaves time for the last line to be completed.
    guard now - since > 0.5 else { return }
    if accessoryFacts.opened > accessoryFacts.closed {
      if now - since > Self.patience {
        fail(
          "\(Int(Self.patience)) s after \(host?.name ?? "") was gone the accessory has not said why the session is over"
        )
      }
      return
    }
    account()
    phase = .resting(until: now + chances.seconds(0...1))
  }

  private func account() {
    let read = accessoryFacts.bytesRead - before.bytes
    let claimed = hostFacts.bytes
    tally.add(hostFacts)
    tally.sessions += accessoryFacts.closed - before.closed
    if !isLoadTest, host?.ending == .exit(0) { tally.sends += 1 }
    tally.acknowledged += claimed
    guard read < claimed else { return }
    tally.missing += claimed - read
    tally.wrongs.append("\(host?.name ?? "") was told that \(claimed) bytes are there, and the accessory read \(read)")
  }

  private func goOn(_ now: Double) throws {
    if kind == .accessory {
      try startAccessory()
      phase = .plugging(since: now)
    } else {
      try startHost()
      phase = .working(kill: timeOfDeath(now))
    }
  }

  func sample() {
    if let survivor, !survivor.hasEnded(), let holding = Holding(of: survivor.pid) { growth.add(holding) }
  }

  // MARK: The end

  var canBeAskedToLeave: Bool { [host, accessory].allSatisfy { $0?.handlesInterrupt ?? true } }

  /// Asks the host to end, as Ctrl-C would. If the accessory is not running, it is started again first, because a host
  /// cannot end properly without one.
  func askHostToLeave() {
    guard !isBroken else { return }
    if case .working = phase { host?.send(SIGINT) } else if kind == .accessory { host?.send(SIGINT) }
    phase = .leaving
  }

  var hasNoHost: Bool { host?.hasEnded() ?? true }

  func askAccessoryToLeave() {
    accessory?.send(SIGINT)
  }

  var hasNobody: Bool { hasNoHost && (accessory?.hasEnded() ?? true) }

  func conclude() {
    for child in [host, accessory].compactMap(\.self) where !child.hasEnded() {
      tally.wrongs.append("\(child.name) did not end when it was asked to")
      child.kill()
    }
    for line in accessory?.newLines() ?? [] { accessoryFacts.take(line) }
    for line in host?.newLines() ?? [] { hostFacts.take(line) }
    takeWrongs()
    if let host, host.sent == SIGINT {
      tally.ended(host, hostFacts)
      // If a load test is stopped early, it reports that its plan is incomplete.
      let wasStopped = hostFacts.last.contains("stopped by Ctrl-C") && host.ending == .exit(1)
      if host.ending != .exit(0), !wasStopped {
        tally.wrongs.append("\(host.name): \(host.ending.map(\.description) ?? ""), \(hostFacts.last)")
      }
      if kind == .accessory { tally.add(hostFacts) } else { account() }
    }
    if let accessory, accessory.sent == SIGINT {
      tally.ended(accessory, accessoryFacts)
      if accessory.ending != .exit(0) {
        tally.wrongs.append("\(accessory.name): \(accessory.ending.map(\.description) ?? "")")
      }
    }
    if let complaint = growth.complaint { tally.wrongs.append(complaint) }
  }
}

extension Couple.Kind {
  var letter: String {
    switch self {
    case .echo: "e"
    case .sink: "s"
    case .accessory: "a"
    }
  }
}

extension SeededRandom {
  mutating func seconds(_ range: ClosedRange<Double>) -> Double { Double.random(in: range, using: &self) }

  /// Returns the faults for one side of a cable. There may be no faults, faults that a link must recover from, or
  /// faults that only slow the link down. Bits are flipped on one side only. If both sides flipped bits, two flips
  /// could cancel out in a checksum, and wrong bytes would go unnoticed.
  mutating func faults(flipsBits: Bool) -> [String] {
    let all = [
      "loss,chance=1%", "duplicate,chance=2%", "reorder,chance=2%,by=2,wait=20ms",
      flipsBits ? "corrupt,chance=1%" : "loss,chance=2%,ack",
      "latency,delay=5ms,jitter=10ms", "split,size=97", "glue,size=3000,wait=5ms", "rate,bytes=400000",
      "stall,after=4s,for=700ms", "slow-reader,bytes=2048,every=5ms",
    ]
    let count = Int.random(in: 0...2, using: &self)
    return all.shuffled(using: &self).prefix(count).flatMap { ["--fault", $0] }
  }
}
