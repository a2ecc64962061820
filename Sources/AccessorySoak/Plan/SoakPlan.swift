import AccessoryCore
import AccessoryFaults
import AccessoryFormats
import AccessoryHost
import AccessoryProfiles
import AccessoryWorlds

/// The plan for a seeded world: its accessories, apps, cable faults and steps.
///
/// A random plan depends only on the seed, so it can be shown, replayed and shrunk. Random choices made during the run
/// (faults, jitter) also depend only on the seed. The plan's file is a scenario with several apps, which open sessions
/// and send bytes. The soak's rules, rather than expectations, decide whether such a scenario passes. Reading a plan's
/// file restores the plan, which reproduces the same world byte for byte.
public struct SoakPlan: Equatable, Sendable {
  /// An accessory in the world.
  public struct Accessory: Equatable, Sendable {
    /// The name that steps use to refer to the accessory.
    public var name: String { profile.name }
    /// The accessory's profile, including its quirks.
    public var profile: Profile
    /// Link settings that are not part of profiles.
    public var link: SoakLinkChoices
    /// The accessory's plans for its sessions, in order. After the last plan, the accessory starts over with the first.
    /// If the list is nil, the built-in echo handles sessions.
    public var streams: [SoakStreamPlan]?
  }

  /// An app on the world's device.
  public struct App: Equatable, Sendable {
    /// The sessions that the app opens, in order, as accessories appear.
    public var sessions: [SoakStreamPlan]
    /// How long the app waits before it opens its next session.
    public var patience: Duration
    /// Whether the app also tries to open sessions with accessories that do not offer any protocols.
    public var isRude: Bool
    /// The name that steps use to refer to the app.
    public var name = "app-0"
  }

  /// An action at a given time.
  public typealias Step = Scenario.Step

  /// The description of the plan in a file.
  public var about = Scenario.About()
  /// The random seed.
  public var seed: UInt64
  /// The accessories.
  public var accessories: [Accessory]
  /// The apps.
  public var apps: [App]
  /// The steps, in order of time.
  public var steps: [Step]
  /// The faults on the world's cables.
  public var faults: [CableFault]
  /// The speed of the cables.
  public var speed: World.Settings.CableSpeed
  /// The device's link settings.
  public var deviceLink: SoakLinkChoices
  /// The size of the window that the device announces, in packets.
  public var deviceWindow: UInt8
  /// The maximum length of a packet that the device accepts.
  public var deviceLength: UInt16
  /// When the device publishes accessories to apps.
  public var policy: PublicationMachine.Policy
  /// The flicker that the device causes, if any.
  public var deviceFlicker: Flicker?
  /// Whether the device begins with authentication or with identification.
  public var order = HostOrder.authentication
  /// The identifier of the first session on each cable.
  public var firstSession: UInt16
  /// When the steps end. After the last step, the world only completes unfinished work.
  public var length: Duration
  /// Corner cases that count as a broken rule if they are reached.
  public var forbidden: [SoakCoverage.Corner] = []

  /// Whether the link may deliver wrong bytes without either end noticing, in which case the rules about bytes do not
  /// apply. Undetected wrong bytes can be caused by faults that correct the checksum, by two faults whose bit flips
  /// cancel out in the checksum, and by quirks that lose bytes or start sessions with bytes from earlier sessions.
  public var isHostile: Bool {
    // By a closure: a key path copies the profile.
    if accessories.contains(where: { $0.profile.quirks.spoilsBytes }) { return true }
    let corrupting = faults.compactMap { if case .corrupt(let corrupt) = $0.fault.effect { corrupt } else { nil } }
    return corrupting.count > 1 || corrupting.contains(where: \.mendsSum)
  }

  /// Whether any link in this world works without acknowledgements. Links without acknowledgements need lossless cables
  /// because they do not retransmit packets.
  public var hasZeroAcknowledgement: Bool {
    accessories.contains(where: \.profile.link.zeroAcknowledgement)
  }
}

extension SoakPlan {
  /// Creates the plan for a seed. If a template is given, accessories use its identity, protocols, link, authentication
  /// and quirks. The template's behavior is used only if it is an echo. With any other behavior, sessions carry the
  /// plan's bytes in both directions, because only known bytes can be verified.
  ///
  /// Worlds are small, so a test can run thousands of them. Most worlds have one accessory and a few sessions with a
  /// few packets each. Conditions that are rare on a real wire are common here, such as windows of one packet, sequence
  /// numbers that are about to wrap around, and packets that have hardly any room for payload.
  public init(seed: UInt64, template: ProfileTemplate? = nil) {
    var random = PlanRandom(seed: seed)
    self.seed = seed
    let count = random.percent(92) ? 1 : random.number(2...3)
    accessories = (0..<count).map { number in
      guard let template else { return Accessory(number: number, &random) }
      var profile = template.instance(number + 1, of: count)
      if count > 1 { profile.name += "-\(number + 1)" }
      return Accessory(profile, &random)
    }
    let payload = accessories.map { Int($0.profile.link.maximumPacketLength) - 12 }.min() ?? 12
    apps = (0..<(random.percent(90) ? 1 : 2)).map { App(number: $0, payload: payload, &random) }
    speed = World.Settings.CableSpeed()
    if random.percent(50) { speed.latency = random.milliseconds(0...20) }
    if random.percent(10) { speed.bytesPerSecond = random.number(5_000...1_000_000) }
    deviceLink = SoakLinkChoices(&random)
    deviceWindow = UInt8(random.percent(60) ? 127 : random.spread(1...127))
    deviceLength = UInt16(random.percent(50) ? 65_535 : random.number(700...4_096))
    policy = random.percent(25) ? .early : .ready
    firstSession = random.percent(3) ? UInt16(random.number(65_530...65_535)) : UInt16(random.number(1...1_000))
    length = random.milliseconds(500...15_000)
    steps = []
    faults = []
    if random.percent(12) {
      var flicker = Flicker(.device)
      flicker.empty = random.milliseconds(0...300)
      flicker.gap = random.milliseconds(0...300)
      flicker.cycles = random.number(1...3)
      deviceFlicker = flicker
    }
    planFaults(&random)
    planSteps(&random)
  }

  private mutating func planFaults(_ random: inout PlanRandom) {
    let count = random.percent(25) ? 0 : random.number(1...4)
    for _ in 0..<count {
      let fault = SoakFaults.any(lossless: hasZeroAcknowledgement, &random)
      faults.append(CableFault(fault, at: random.percent(50) ? .device : .accessory))
    }
    if random.percent(20) {
      // The cable is cut at some point between the first detection sequence and the first session.
      let cut = Fault(.cut(Fault.Cut(packets: random.number(1...30))), random.pick([.in, .out]))
      faults.append(CableFault(cut, at: random.percent(50) ? .device : .accessory))
    }
  }

  private mutating func planSteps(_ random: inout PlanRandom) {
    for accessory in accessories {
      let at = random.percent(80) ? .zero : random.milliseconds(0...500)
      steps.append(Step(at: at, .accessory(.plugIn, of: accessory.name)))
    }
    let milliseconds = Int(length.wholeNanoseconds / 1_000_000)
    for _ in 0..<random.spread(0...4) {
      let at = random.milliseconds(0...milliseconds)
      let name = accessories[random.number(0...accessories.count - 1)].name
      let plugIn = WorldAction.accessory(.plugIn, of: name)
      switch random.number(0...99) {
      case ..<20:
        steps.append(Step(at: at, .accessory(.unplug(), of: name)))
        steps.append(Step(at: at + random.milliseconds(0...500), plugIn))
      case ..<45:
        steps.append(Step(at: at, .pull(name)))
        steps.append(Step(at: at + random.milliseconds(0...500), plugIn))
      case ..<60: steps.append(Step(at: at, plugIn))
      case ..<75: steps.append(Step(at: at, .resetLink(name)))
      case ..<90: steps.append(Step(at: at, .accessory(.closeSessions, of: name)))
      default:
        let app = apps[random.number(0...apps.count - 1)].name
        steps.append(Step(at: at, .app(.quits, of: .named(app))))
      }
    }
    // The sort is stable, so steps that occur at the same time stay in the order in which they were planned.
    for index in steps.indices { steps[index].at = min(steps[index].at, length) }
    steps = steps.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
  }
}

/// Link settings for either end that are not part of profiles.
public struct SoakLinkChoices: Equatable, Sendable {
  /// The sequence number of the first SYN.
  public var initialSequence: UInt8 = 0
  /// Which form of extended acknowledgement this end sends.
  public var extendedAcknowledgement = 0
  /// How many packets one acknowledgement may cover, if this differs from the profile. In a profile, this number must
  /// be less than the window, but some real accessories break this rule.
  public var cumulativeAcknowledgements: UInt8?
  /// Whether a timeout causes only the oldest packet to be retransmitted.
  public var repeatsOldestOnly = false
  /// Whether receiving a packet restarts the acknowledgement timer.
  public var timesFromEach = false
  /// Whether this end keeps packets that arrive after a missing packet.
  public var keepsAhead = true
  /// Whether the accessory sends another SYN if the device's answer contains different retransmission values.
  public var offersAgain = false
  /// Whether the device answers a SYN with retransmission values of its own.
  public var answersOwnRecovery = false
  /// The maximum number of unread bytes in a session.
  public var receiveBound = 256 * 1024
  /// The maximum number of unsent bytes in a session.
  public var sendBound = 256 * 1024
}

/// The plan for one end of a session.
public struct SoakStreamPlan: Equatable, Sendable {
  /// How this end of the session reads incoming data.
  public enum Reading: Equatable, Sendable {
    case eager
    /// This end reads a number of bytes at a time and pauses between reads.
    case slow(bytes: Int, every: Duration)
    /// This end reads a number of bytes and then pauses. If `resumes` is nil, this end never reads again.
    case stops(after: Int, resumes: Duration?)
  }

  /// When this end closes the session.
  public enum Closing: Equatable, Sendable {
    case never
    case afterWriting
    case after(Duration)
  }

  /// The index of the session's protocol in the accessory's list, modulo the length of that list.
  public var protocolNumber = 0
  /// How many bytes this end writes in total.
  public var bytes = 0
  /// The maximum number of bytes per write.
  public var chunk = 1
  /// How long this end waits after each write.
  public var think = Duration.zero
  /// How this end reads incoming data.
  public var reading = Reading.eager
  /// When this end closes the session.
  public var closing = Closing.never
}

extension SoakPlan.Accessory {
  fileprivate init(number: Int, _ random: inout PlanRandom) {
    var profile = Profile(
      name: "soak-\(number)",
      identity: .init(
        name: "Soak \(number)", manufacturer: "Example Works", modelNumber: "S-1", serialNumber: "SOAK-\(number)"),
      protocols: (0..<(random.percent(70) ? 1 : random.number(2...4))).map {
        .init("com.example.soak\($0)", id: UInt8($0 * 7 + 1))
      })
    profile.link = Profile.Link(&random)
    if random.percent(10) { profile.authentication = .init(.older) }
    for quirk in SoakQuirks.some(&random) { profile.apply(quirk) }
    let (wanted, window) = (profile.link.maximumCumulativeAcknowledgements, profile.link.maximumOutstandingPackets)
    profile.link.maximumCumulativeAcknowledgements = min(wanted, window)
    self.init(profile, echoes: nil, &random)
    if wanted > window, !profile.link.zeroAcknowledgement { link.cumulativeAcknowledgements = wanted }
  }

  /// Creates an accessory from a profile. Worlds have no native channels, so protocols that use native transport are
  /// sent over the link.
  fileprivate init(_ profile: Profile, _ random: inout PlanRandom) {
    var profile = profile
    for index in profile.protocols.indices { profile.protocols[index].nativeTransportComponent = nil }
    self.init(profile, echoes: profile.protocols.allSatisfy { profile.behavior(of: $0) == .echo }, &random)
  }

  private init(_ profile: Profile, echoes: Bool?, _ random: inout PlanRandom) {
    self.profile = profile
    link = SoakLinkChoices(&random)
    let payload = Int(profile.link.maximumPacketLength) - 12
    streams = echoes ?? random.percent(25) ? nil : (0..<3).map { _ in SoakStreamPlan(payload: payload, &random) }
  }
}

extension SoakPlan.App {
  fileprivate init(number: Int, payload: Int, _ random: inout PlanRandom) {
    name = "app-\(number)"
    sessions = (0..<random.spread(1...4)).map { _ in SoakStreamPlan(payload: payload, &random) }
    patience = random.percent(40) ? .zero : random.milliseconds(0...400)
    isRude = random.percent(30)
  }
}

extension Profile.Link {
  fileprivate init(_ random: inout PlanRandom) {
    self.init()
    maximumOutstandingPackets = UInt8(random.spread(1...127))
    switch random.number(0...99) {
    // An accessory whose packets are this short never becomes ready, because authentication messages do not fit.
    case ..<3: maximumPacketLength = UInt16(random.number(24...51))
    case ..<50: maximumPacketLength = UInt16(random.number(52...300))
    case ..<85: maximumPacketLength = UInt16(random.number(300...4_096))
    default: maximumPacketLength = 65_535
    }
    retransmissionTimeout = .milliseconds(
      random.percent(95) ? random.number(20...2_000) : random.number(2_000...65_535))
    cumulativeAcknowledgementTimeout = .milliseconds(
      random.percent(90) ? random.number(10...500) : random.number(500...32_767))
    maximumRetransmissions = UInt8(random.spread(1...30))
    let most = random.percent(98) ? Int(maximumOutstandingPackets) : 127
    maximumCumulativeAcknowledgements = UInt8(random.number(0...most))
    zeroAcknowledgement = random.percent(8)
    if random.percent(20) {
      controlSession = 10
      externalAccessorySession = 11
      fileTransferSession = random.percent(50) ? 12 : nil
    }
  }
}

extension SoakLinkChoices {
  fileprivate init(_ random: inout PlanRandom) {
    initialSequence = UInt8(random.percent(50) ? random.number(235...255) : random.number(0...255))
    extendedAcknowledgement = random.percent(40) ? 0 : random.number(1...2)
    repeatsOldestOnly = random.percent(30)
    timesFromEach = random.percent(30)
    keepsAhead = random.percent(75)
    offersAgain = random.percent(30)
    answersOwnRecovery = random.percent(15)
    if random.percent(60) { receiveBound = random.spread(64...8_000) }
    if random.percent(40) { sendBound = random.spread(40...8_000) }
  }
}

extension SoakStreamPlan {
  /// Creates a plan for packets that hold `payload` bytes. How long a world takes depends on how many packets it sends,
  /// not on how many bytes.
  fileprivate init(payload: Int, _ random: inout PlanRandom) {
    protocolNumber = random.number(0...3)
    let packets = random.spread(0...(random.percent(95) ? 12 : 100))
    bytes = min(packets * min(payload, 1_000) + random.number(0...50), 12_000)
    chunk = random.percent(50) ? max(1, bytes) : random.spread(max(1, bytes / 12)...max(1, bytes))
    think = random.percent(50) ? .zero : random.milliseconds(0...100)
    switch random.number(0...99) {
    case ..<65: reading = .eager
    case ..<82: reading = .slow(bytes: max(random.spread(20...4_000), bytes / 12), every: random.milliseconds(1...50))
    default:
      reading = .stops(
        after: random.spread(0...1_000), resumes: random.percent(50) ? random.milliseconds(10...3_000) : nil)
    }
    switch random.number(0...99) {
    case ..<50: closing = .never
    case ..<75: closing = .afterWriting
    default: closing = .after(random.milliseconds(0...3_000))
    }
  }
}

enum SoakFaults {
  /// Returns a random fault. If `lossless` is true, every byte still arrives exactly once and in order.
  static func any(lossless: Bool, _ random: inout PlanRandom) -> Fault {
    var fault = lossless || random.percent(45) ? harmless(&random) : harmful(&random)
    if case .stale = fault.effect { return fault }
    if random.percent(25) { fault.after = random.milliseconds(0...3_000) }
    return fault
  }

  private static func harmless(_ random: inout PlanRandom) -> Fault {
    var fault = random.pick(harmlessFaults)
    fault.vary(striking: StruckPackets(), &random)
    fault.acts = random.pick(fault.effect.directions)
    return fault
  }

  private static func harmful(_ random: inout PlanRandom) -> Fault {
    var packets = StruckPackets()
    packets.chance = Chance(millionths: random.spread(10_000...300_000))
    packets.kind = random.pick([.any, .any, .any, .data, .ack, .syn])
    var fault = random.pick(harmfulFaults)
    fault.vary(striking: packets, &random)
    if fault.effect.harm == .packets { fault.acts = random.pick([.both, .both, .in, .out]) }
    return fault
  }

  private static let harmlessFaults = faults(.none)
  private static let harmfulFaults = faults(.packets) + faults(.silence)

  private static func faults(_ harm: Fault.Harm) -> [Fault] {
    Fault.format.examples.filter { $0.effect.harm == harm }.flatMap { Array(repeating: $0, count: $0.effect.weight) }
  }
}

enum SoakQuirks {
  static func some(_ random: inout PlanRandom) -> [Quirk] {
    var quirks: [Quirk] = []
    if random.percent(15) {
      var flicker = Flicker(cycles: random.spread(1...3))
      flicker.empty = random.milliseconds(0...300)
      flicker.gap = random.milliseconds(0...300)
      flicker.answersAuthentication = random.pick([true, true, false])
      quirks.append(.flicker(flicker))
    }
    if random.percent(15) {
      var odd = OddSession(random.pick([.refuse, .refuse, .ignore, .silent, .close, .detach]))
      odd.times = random.number(0...2)
      odd.delay = random.milliseconds(0...500)
      quirks.append(.session(odd))
    }
    if random.percent(6) {
      quirks.append(
        .authentication(OddAuthentication(random.pick([.never, .wrong, .slow]), delay: random.milliseconds(0...2_000))))
    }
    if random.percent(6) {
      quirks.append(
        .identification(OddIdentification(random.pick([.never, .slow]), delay: random.milliseconds(0...2_000))))
    }
    if random.percent(20) { quirks.append(.noStatus) }
    return quirks
  }
}
