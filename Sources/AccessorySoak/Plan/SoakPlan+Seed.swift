import AccessoryCore
import AccessoryFaults
import AccessoryHost
import AccessoryProfiles
import AccessoryWorlds

extension SoakPlan {
  /// The plan of a seed. With a template, the accessories have that profile: its identity, protocols, link,
  /// authentication and quirks. An echo plays as it is; in place of any other behaviour, sessions carry the plan's
  /// bytes both ways, because only known bytes can be checked.
  ///
  /// Worlds are small, so that thousands fit into a test: most have one accessory and a few sessions of a few packets.
  /// What is rare on a real wire is common here: windows of one, numbers about to wrap, packets that hold hardly a
  /// byte.
  public init(seed: UInt64, template: ProfileTemplate? = nil) {
    var dice = Dice(seed: seed)
    self.seed = seed
    let count = dice.percent(92) ? 1 : dice.number(2...3)
    accessories = (0..<count).map { number in
      guard let template else { return Accessory(number: number, &dice) }
      var profile = template.instance(number + 1, of: count)
      if count > 1 { profile.name += "-\(number + 1)" }
      return Accessory(profile, &dice)
    }
    let payload = accessories.map { Int($0.profile.link.maximumPacketLength) - 12 }.min() ?? 12
    apps = (0..<(dice.percent(90) ? 1 : 2)).map { App(number: $0, payload: payload, &dice) }
    line = World.Settings.Line()
    if dice.percent(50) { line.latency = dice.milliseconds(0...20) }
    if dice.percent(10) { line.bytesPerSecond = dice.number(5_000...1_000_000) }
    deviceLink = SoakLinkChoices(&dice)
    deviceWindow = UInt8(dice.percent(60) ? 127 : dice.spread(1...127))
    deviceLength = UInt16(dice.percent(50) ? 65_535 : dice.number(700...4_096))
    policy = dice.percent(25) ? .early : .ready
    firstSession = dice.percent(3) ? UInt16(dice.number(65_530...65_535)) : UInt16(dice.number(1...1_000))
    length = dice.milliseconds(500...15_000)
    steps = []
    faults = []
    if dice.percent(12) {
      var flicker = Flicker(.device)
      flicker.empty = dice.milliseconds(0...300)
      flicker.gap = dice.milliseconds(0...300)
      flicker.cycles = dice.number(1...3)
      deviceFlicker = flicker
    }
    planFaults(&dice)
    planSteps(&dice)
  }

  private mutating func planFaults(_ dice: inout Dice) {
    let count = dice.percent(25) ? 0 : dice.number(1...4)
    for _ in 0..<count {
      let fault = SoakFaults.any(lossless: hasZeroAcknowledgement, &dice)
      faults.append(CableFault(fault, at: dice.percent(50) ? .device : .accessory))
    }
    if dice.percent(20) {
      // At some point between the first detection sequence and the first session.
      let cut = Fault(.cut(Fault.Cut(packets: dice.number(1...30))), dice.pick([.in, .out]))
      faults.append(CableFault(cut, at: dice.percent(50) ? .device : .accessory))
    }
  }

  private mutating func planSteps(_ dice: inout Dice) {
    for accessory in accessories {
      let at = dice.percent(80) ? .zero : dice.milliseconds(0...500)
      steps.append(Step(at: at, action: .accessory(.plugIn, of: accessory.name)))
    }
    let milliseconds = Int(length.wholeNanoseconds / 1_000_000)
    for _ in 0..<dice.spread(0...4) {
      let at = dice.milliseconds(0...milliseconds)
      let name = accessories[dice.number(0...accessories.count - 1)].name
      let plugIn = WorldAction.accessory(.plugIn, of: name)
      switch dice.number(0...99) {
      case ..<20:
        steps.append(Step(at: at, action: .accessory(.unplug(), of: name)))
        steps.append(Step(at: at + dice.milliseconds(0...500), action: plugIn))
      case ..<45:
        steps.append(Step(at: at, action: .pull(name)))
        steps.append(Step(at: at + dice.milliseconds(0...500), action: plugIn))
      case ..<60: steps.append(Step(at: at, action: plugIn))
      case ..<75: steps.append(Step(at: at, action: .resetLink(name)))
      case ..<90: steps.append(Step(at: at, action: .accessory(.closeSessions, of: name)))
      default:
        let app = apps[dice.number(0...apps.count - 1)].name
        steps.append(Step(at: at, action: .app(.quits, of: .named(app))))
      }
    }
    // A stable sort: of steps at the same time, the one planned first happens first.
    for index in steps.indices { steps[index].at = min(steps[index].at, length) }
    steps = steps.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
  }
}

extension SoakPlan.Accessory {
  fileprivate init(number: Int, _ dice: inout Dice) {
    var profile = Profile(
      name: "soak-\(number)",
      identity: .init(
        name: "Soak \(number)", manufacturer: "Example Works", modelNumber: "S-1", serialNumber: "SOAK-\(number)"),
      protocols: (0..<(dice.percent(70) ? 1 : dice.number(2...4))).map {
        .init("com.example.soak\($0)", id: UInt8($0 * 7 + 1))
      })
    profile.link = Profile.Link(&dice)
    if dice.percent(10) { profile.authentication = .init(.older) }
    for quirk in SoakQuirks.some(&dice) { profile.apply(quirk) }
    let (wanted, window) = (profile.link.maximumCumulativeAcknowledgements, profile.link.maximumOutstandingPackets)
    profile.link.maximumCumulativeAcknowledgements = min(wanted, window)
    self.init(profile, echoes: nil, &dice)
    if wanted > window, !profile.link.zeroAcknowledgement { link.cumulativeAcknowledgements = wanted }
  }

  /// A given profile. Worlds have no native channels, so its native transport uses the link.
  fileprivate init(_ profile: Profile, _ dice: inout Dice) {
    var profile = profile
    for index in profile.protocols.indices { profile.protocols[index].nativeTransportComponent = nil }
    self.init(profile, echoes: profile.protocols.allSatisfy { profile.behavior(of: $0) == .echo }, &dice)
  }

  private init(_ profile: Profile, echoes: Bool?, _ dice: inout Dice) {
    self.profile = profile
    link = SoakLinkChoices(&dice)
    let payload = Int(profile.link.maximumPacketLength) - 12
    conduct =
      echoes ?? dice.percent(25) ? .echo : .streams((0..<3).map { _ in SoakStreamPlan(payload: payload, &dice) })
  }
}

extension SoakPlan.App {
  fileprivate init(number: Int, payload: Int, _ dice: inout Dice) {
    name = "app-\(number)"
    sessions = (0..<dice.spread(1...4)).map { _ in SoakStreamPlan(payload: payload, &dice) }
    patience = dice.percent(40) ? .zero : dice.milliseconds(0...400)
    isRude = dice.percent(30)
  }
}

extension Profile.Link {
  fileprivate init(_ dice: inout Dice) {
    self.init()
    maximumOutstandingPackets = UInt8(dice.spread(1...127))
    switch dice.number(0...99) {
    // Too short for authentication messages: such an accessory never becomes ready.
    case ..<3: maximumPacketLength = UInt16(dice.number(24...51))
    case ..<50: maximumPacketLength = UInt16(dice.number(52...300))
    case ..<85: maximumPacketLength = UInt16(dice.number(300...4_096))
    default: maximumPacketLength = 65_535
    }
    retransmissionTimeout = .milliseconds(dice.percent(95) ? dice.number(20...2_000) : dice.number(2_000...65_535))
    cumulativeAcknowledgementTimeout = .milliseconds(
      dice.percent(90) ? dice.number(10...500) : dice.number(500...32_767))
    maximumRetransmissions = UInt8(dice.spread(1...30))
    let most = dice.percent(98) ? Int(maximumOutstandingPackets) : 127
    maximumCumulativeAcknowledgements = UInt8(dice.number(0...most))
    zeroAcknowledgement = dice.percent(8)
    if dice.percent(20) {
      controlSession = 10
      externalAccessorySession = 11
      fileTransferSession = dice.percent(50) ? 12 : nil
    }
  }
}

extension SoakLinkChoices {
  fileprivate init(_ dice: inout Dice) {
    initialSequence = UInt8(dice.percent(50) ? dice.number(235...255) : dice.number(0...255))
    extendedAcknowledgement = dice.percent(40) ? 0 : dice.number(1...2)
    repeatsOldestOnly = dice.percent(30)
    timesFromEach = dice.percent(30)
    keepsAhead = dice.percent(75)
    offersAgain = dice.percent(30)
    answersOwnRecovery = dice.percent(15)
    if dice.percent(60) { receiveBound = dice.spread(64...8_000) }
    if dice.percent(40) { sendBound = dice.spread(40...8_000) }
  }
}

extension SoakStreamPlan {
  /// A plan for packets that hold `payload` bytes: the cost is in packets, not bytes.
  fileprivate init(payload: Int, _ dice: inout Dice) {
    protocolNumber = dice.number(0...3)
    let packets = dice.spread(0...(dice.percent(95) ? 12 : 100))
    bytes = min(packets * min(payload, 1_000) + dice.number(0...50), 12_000)
    chunk = dice.percent(50) ? max(1, bytes) : dice.spread(max(1, bytes / 12)...max(1, bytes))
    think = dice.percent(50) ? .zero : dice.milliseconds(0...100)
    switch dice.number(0...99) {
    case ..<65: reading = .eager
    case ..<82: reading = .slow(bytes: max(dice.spread(20...4_000), bytes / 12), every: dice.milliseconds(1...50))
    default:
      reading = .stops(after: dice.spread(0...1_000), resumes: dice.percent(50) ? dice.milliseconds(10...3_000) : nil)
    }
    switch dice.number(0...99) {
    case ..<50: closing = .never
    case ..<75: closing = .afterWriting
    default: closing = .after(dice.milliseconds(0...3_000))
    }
  }
}
