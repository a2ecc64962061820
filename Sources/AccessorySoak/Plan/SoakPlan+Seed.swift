import AccessoryCore
import AccessoryFaults
import AccessoryFormats
import AccessoryHost
import AccessoryProfiles
import AccessoryWorlds

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
