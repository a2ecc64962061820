import AccessoryCables
import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import Certificates
import IAP2
import LinuxIO
import TestSupport

@testable import AccessorySoak
@testable import AccessoryWorlds

/// A seeded world on real descriptors. The world consists of an accessory (on a Unix socket, a TCP port or a USB/IP
/// server), a host with its apps, and hostile peers that connect before the host does and while it is connected.
/// Everything runs on one loop in real time.
///
/// ```
/// hostile peers ──▶ host retries until it gets in ──first session──▶ more hostile peers
///     ──all planned data written──▶ settle ──all delivered──▶ unplug ──quiet──▶ judge
/// ```
///
/// The rules are the same as in the soak, except that one is stricter: because these media lose nothing, no link may go
/// down before the world ends. Time is not measured. The only purpose of the time limit is to stop worlds that hang.
final class DescriptorWorld {
  enum Medium: CaseIterable {
    case unix
    case tcp
    case usbip
  }

  struct Facts {
    var media: Set<Medium> = []
    var hostile: Set<HostilePeer.Kind> = []
    var sessions = 0
    var bytes = 0
  }

  private static let hangLimit = Duration.seconds(120)

  let medium: Medium
  private(set) var facts = Facts()
  private let plan: SoakPlan
  private let record = SoakRecord()
  private let loop: EpollLoop
  private let folder = TemporaryFolder()
  private var random: PlanRandom
  private var maker: PortMaker?
  private var port: (any Port)?
  private var accessory: SimulatedAccessory?
  private var device: Device?
  private var dialer: Dialer?
  private var dialing: (any Connecting)?
  private var redial: LoopTimer?
  private var apps: [(handler: SoakApp, view: AppView)] = []
  private var accounts: [SoakAccount] = []
  private var streams: [(stream: SoakStream, half: SoakAccount.Half, bytes: Int)] = []
  private var peers: [HostilePeer] = []
  private var cableCount = 0
  private var isEnding = false

  init(seed: UInt64) throws {
    loop = try EpollLoop(seed: seed)
    medium = Medium.allCases[Int(seed % 3)]
    var random = PlanRandom(seed: seed)
    plan = Self.plan(seed: seed, &random)
    self.random = random
  }

  /// Returns the seed's plan without anything that depends on virtual time (faults, quirks and long pauses). The plan's
  /// link settings work on a busy machine.
  private static func plan(seed: UInt64, _ random: inout PlanRandom) -> SoakPlan {
    var plan = SoakPlan(seed: seed)
    plan.accessories = [plan.accessories[0]]
    (plan.faults, plan.steps, plan.deviceFlicker) = ([], [], nil)
    plan.accessories[0].profile.quirks = []
    var link = plan.accessories[0].profile.link
    link.retransmissionTimeout = .milliseconds(random.number(500...1_000))
    link.cumulativeAcknowledgementTimeout = min(link.cumulativeAcknowledgementTimeout, .milliseconds(20))
    link.maximumRetransmissions = 30
    link.maximumPacketLength = max(link.maximumPacketLength, 128)
    plan.accessories[0].profile.link = link
    plan.accessories[0].streams = plan.accessories[0].streams?.map(quick)
    for index in plan.apps.indices {
      plan.apps[index].isRude = false
      plan.apps[index].patience = min(plan.apps[index].patience, .milliseconds(10))
      plan.apps[index].sessions = plan.apps[index].sessions.map(quick)
    }
    return plan
  }

  private static func quick(_ stream: SoakStreamPlan) -> SoakStreamPlan {
    var stream = stream
    stream.think = min(stream.think, .milliseconds(1))
    switch stream.reading {
    case .eager: break
    case .slow(let bytes, let every): stream.reading = .slow(bytes: bytes, every: min(every, .milliseconds(2)))
    case .stops(let after, _): stream.reading = .stops(after: after, resumes: .milliseconds(20))
    }
    if case .after(let time) = stream.closing { stream.closing = .after(min(time, .milliseconds(30))) }
    return stream
  }

  // MARK: Playing

  func play() throws -> [SoakViolation] {
    try plugIn()
    for _ in 0..<random.number(0...2) { attack() }
    try connect()
    let planned = plan.apps.reduce(0) { $0 + $1.sessions.count }
    wait("\(planned) sessions") { accounts.count == planned }
    wait("everything to be written") { streams.allSatisfy { $0.half.end != nil || $0.half.written == $0.bytes } }
    for app in apps { app.handler.settle() }
    for entry in streams { entry.stream.settle() }
    wait("everything to be delivered") { accounts.allSatisfy { $0.isSettled(linkWentDown: false) } }
    judge()
    tearDown()
    return record.violations
  }

  private func wait(_ what: String, _ condition: () -> Bool) {
    if record.violations.isEmpty, !loop.run(until: condition, limit: Self.hangLimit) {
      record.violation(.end, "waited for \(what): \(accounts.map(\.account))", at: loop.now)
    }
  }

  private func plugIn() throws {
    let address: Address =
      switch medium {
      case .unix: .unix(path: folder.file("s"))
      case .tcp: .tcp(host: "127.0.0.1", port: 0)
      case .usbip: .usbip(host: "127.0.0.1", port: 0)
      }
    let maker = PortMaker(.linked, PortContext(on: loop))
    let port = try maker.makePort(at: address, for: plan.accessories[0].profile)
    (self.maker, self.port) = (maker, port)
    let part = plan.accessories[0]
    let accessory = SimulatedAccessory(
      part.profile, at: port,
      authenticator: StubAuthenticator(
        seed: plan.seed, generation: part.profile.authentication.generation == .current ? .current : .older), on: loop,
      handshakeTimeouts: HandshakeTimeouts(.milliseconds(500)), link: { part.link.apply(to: &$0) },
      behavior: { [unowned self] _ in SoakBehavior { [unowned self] in handler(for: $0) } },
      report: { [record] in record.saw($0) })
    self.accessory = accessory
    record.leaks.watch(accessory, "accessory")
    try accessory.plugIn()
  }

  private var address: Address {
    get throws { try Address(parsing: String(port?.place.prefix { $0 != "," } ?? "")) }
  }

  private func attack() {
    guard
      let address = try? address,
      let peer = HostilePeer(
        random.pick(HostilePeer.Kind.allCases), to: address, speaking: medium == .usbip ? .usbip : .iAP2,
        seed: random.next(), on: loop)
    else { return record.violation(.plugging, "nothing listens at \(port?.place ?? "")", at: loop.now) }
    facts.hostile.insert(peer.kind)
    peers.append(peer)
  }

  // MARK: The host

  private func connect() throws {
    var settings = DeviceSettings(authenticator: StubAuthenticator(seed: plan.seed))
    settings.policy = plan.policy
    settings.peer.firstSession = plan.firstSession
    plan.deviceLink.apply(to: &settings.peer.link)
    settings.peer.link.parameters.maximumOutstandingPackets = plan.deviceWindow
    settings.peer.link.parameters.maximumPacketLength = plan.deviceLength
    let device = Device(settings: settings, on: loop) { [record] in record.saw($0) }
    self.device = device
    record.leaks.watch(device, "device")
    for app in plan.apps {
      let handler = SoakApp(app, on: loop, record) { [unowned self] session, _, stream in opened(session, stream) }
      apps.append((handler, device.makeApp(handler)))
      record.leaks.watch(handler, "app")
    }
    let address = try address
    guard medium == .usbip else {
      let dialer = try MediumTable.linked.makeDialer(to: address, for: device, on: loop) { [unowned self] in
        $0.with(main: watched($0.main))
      }
      self.dialer = dialer
      return try dialer.start()
    }
    redial = loop.makeTimer { [unowned self] in dialUSBIP(address) }
    dialUSBIP(address)
  }

  private func watched(_ channel: any Channel) -> any Channel {
    cableCount += 1
    return WireWatch.watch(
      channel, at: CableEnd(end: .device, accessory: 0, cable: cableCount), maximumLength: plan.deviceLength,
      record, on: loop)
  }

  /// Dials until a connection succeeds, because another host may still be using the device.
  private func dialUSBIP(_ address: Address) {
    guard !isEnding, case .usbip(let host, let port) = address else { return }
    dialing = Transports.connect(to: .tcp(host: host, port: port), on: loop) { [unowned self] result in
      guard case .success(let found) = result else { return redialSoon() }
      let host = USBIPHost(found.cable.main, busID: "1-1", on: loop)
      device?.plugIn(Cable(main: watched(host)), at: address.description) { [weak self] _ in self?.redialSoon() }
    }
  }

  private func redialSoon() { redial?.arm(at: loop.now + .milliseconds(10)) }

  // MARK: Sessions

  private func opened(_ session: Session, _ stream: SoakStreamPlan) {
    let account = SoakAccount(
      accessory: 0, plan, isHostile: plan.isHostile, id: session.id, number: accounts.count, linkDowns: 0)
    if accounts.isEmpty { for _ in 0..<random.number(1...3) { attack() } }
    accounts.append(account)
    makeStream(stream, session, account, .device).start()
  }

  private func handler(for session: Session) -> any SessionHandler {
    guard let account = accounts.last(where: { $0.id == session.id && !$0.simulator.isOpen }) else {
      record.violation(.opening, "the accessory opened session \(session.id), which no app asked for", at: loop.now)
      let account = SoakAccount(
        accessory: 0, plan, isHostile: plan.isHostile, id: session.id, number: accounts.count, linkDowns: 0)
      return SoakEcho(session, account, on: loop, record)
    }
    guard let plans = plan.accessories[0].streams else { return SoakEcho(session, account, on: loop, record) }
    let stream = makeStream(plans[accounts.count % plans.count], session, account, .accessory)
    loop.schedule(after: .zero) { [weak stream] in stream?.start() }
    return stream
  }

  private func makeStream(
    _ stream: SoakStreamPlan, _ session: Session, _ account: SoakAccount, _ end: Cable.End
  ) -> SoakStream {
    let made = SoakStream(
      stream, session, account, end, seed: plan.seed &+ UInt64(streams.count), on: loop, record)
    streams.append((made, account[end], stream.bytes))
    if end == .device { session.handler = made }
    return made
  }

  // MARK: The end

  private func judge() {
    for account in accounts {
      if let wrong = account.fault(linkWentDown: false) { record.violation(wrong, at: loop.now) }
      facts.bytes += account.device.read + account.simulator.read
    }
    facts.media = [medium]
    facts.sessions = accounts.count
  }

  private func tearDown() {
    isEnding = true
    dialer?.stop()
    dialing?.cancel()
    redial?.cancel()
    for app in apps { app.view.close() }
    device?.unplugAll("the world ends")
    wait("the host's cables to end") { device?.cableCount == 0 }
    accessory?.unplug("the world ends")
    wait("both ends of each session to end") {
      accounts.allSatisfy { $0.device.end != nil && (!$0.simulator.isOpen || $0.simulator.end != nil) }
    }
    streams = []
    (dialer, dialing, redial, device, accessory, port, maker) = (nil, nil, nil, nil, nil, nil, nil)
    (apps, accounts) = ([], [])
    wait("the connections of \(peers.map(\.kind)) to end") { peers.allSatisfy(\.isOver) }
    peers = []
    _ = loop.run(until: { record.leaks.leaks.isEmpty }, limit: .seconds(30))
    for name in record.leaks.leaks { record.violation(.leak, "leaked: \(name)", at: loop.now) }
  }
}
