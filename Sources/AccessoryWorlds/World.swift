import AccessoryCables
import AccessoryCore
import AccessoryFaults
import AccessoryFormats
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import Certificates
import IAP2
import LinuxIO

/// A simulated world in one process. The world consists of a device, its apps, and any number of simulated accessories
/// on in-memory cables, all on one loop.
///
/// In a world that runs on a `VirtualLoop`, waiting takes no real time, and the same seed always gives the same run.
///
/// ```swift
/// let loop = VirtualLoop(seed: 7)
/// let world = World(on: loop)
/// let glasses = world.add(profile)
/// try glasses.plugIn()
/// try loop.runUntilQuiet()
/// print(world.events.map(\.json))
/// ```
public final class World {
  /// A world's settings.
  public struct Settings {
    /// How accessories authenticate.
    public enum Authentication: Sendable {
      /// Data of the right size but no cryptography, for tests that do not involve authentication.
      case stub
      /// P-256, which libcrypto computes at both ends.
      case real
    }

    /// A cable's speed.
    public struct CableSpeed: Equatable, Sendable {
      /// The delay for each byte.
      public var latency = Duration.zero
      /// The number of bytes per second in each direction, or nil if there is no limit.
      public var bytesPerSecond: Int?

      /// Creates a cable speed with no delay and no rate limit.
      public init() {}
    }

    /// The kind of authentication.
    public var authentication = Authentication.stub
    /// How the device treats an accessory that does not authenticate.
    public var authenticationMode = AuthenticationMode.verify
    /// The speed of the cables.
    public var speed = CableSpeed()
    /// The faults on every cable. The faults start over each time a cable is plugged in. At each end, bytes pass
    /// through the faults in the order of the list. A fault that cuts a cable unplugs it at both ends.
    public var faults: [CableFault] = []
    /// Wraps the main channel at each end of each cable. The wrapper sits between the faults and the protocol code.
    public var wrap: (any Channel, CableEnd) -> any Channel {
      get { wrapper ?? { channel, _ in channel } }
      set { wrapper = newValue }
    }
    fileprivate var wrapper: ((any Channel, CableEnd) -> any Channel)?
    /// The device's protocol settings.
    public var peer = DevicePeer.Settings()
    /// When the device publishes accessories to apps.
    public var policy = PublicationMachine.Policy.ready
    /// Whether the device begins with authentication or identification. By default, the device never switches to the
    /// opposite order, so that a run does not depend on when a cable is unplugged.
    public var order = HostOrder.authentication
    /// A flicker that the device causes.
    public var deviceFlicker: Flicker?
    /// The seed for coprocessors and their certificates.
    public var seed: UInt64 = 1
    /// What the device tells accessories about itself, and how it answers them.
    public var deviceProfile = DeviceProfile()
    /// The artwork of the current track, or nil if there is none.
    public var artwork: [UInt8]?
    /// Whether every control message causes an event, and every undeclared message causes a warning.
    public var reportsMessages = false
    /// Whether to keep the transcript, which takes time and memory.
    public var keepsTranscript = false
    /// Whether to keep ``World/events``. For a world that runs forever, set this property to false.
    public var keepsEvents = true
    /// Whether the faults on a cable may change while the cable is plugged in. See ``World/change(faults:of:)``.
    public var faultsMayChange = false
    /// Called with every event as it happens, even if events are not kept.
    public var report: (TimelineEvent) -> Void {
      get { reporter ?? { _ in } }
      set { reporter = newValue }
    }
    fileprivate var reporter: ((TimelineEvent) -> Void)?
    /// How many bytes of each payload the transcript shows.
    public var transcriptBytes = Transcript.usualBytes
    /// Called with each new line of the transcript.
    public var reportLine: (String) -> Void = { _ in }
    /// Pauses the cables while the lines of the transcript cannot be written.
    public var transcriptGate: CableGate?
    /// Records every byte on the cables, and records every event as a comment.
    public var recorder: CaptureRecorder?

    /// Creates the default settings.
    public init() {}
  }

  /// The event loop that runs the world.
  public let loop: any EventLoop
  /// The device.
  public let device: Device
  /// All events, in order.
  public var events: [TimelineEvent] { log.events }
  /// The packets on the cables, one per line, if the transcript is kept.
  public var transcript: [String] { log.lines }

  private let settings: Settings
  private let log: Log
  /// The authenticator that the device and the accessories share, or nil if authentication is real.
  private let stub: StubAuthenticator?
  /// The accessories, keyed by number. Numbers are never reused.
  // Exclusivity is not checked, because every cable and fault uses these properties. They belong to the world's loop, and
  // no other code runs while they change.
  @exclusivity(unchecked) private var accessories: [Int: Entry] = [:]
  private var accessoryCount = 0
  private var faultChances: SeededRandom
  private var faultsPast: [FaultTally] = []
  /// The texts of some faults that have acted. The number is limited, because faults can be changed any number of times.
  @exclusivity(unchecked) private var faultTexts: [(fault: Fault, text: String)] = []
  @exclusivity(unchecked) private var cableCount = 0

  /// A class, because an entry is looked up for every end of a cable.
  private final class Entry {
    let accessory: SimulatedAccessory
    let port: LoopbackPort?
    @exclusivity(unchecked) var faults: [CableFault]
    @exclusivity(unchecked) var taps: CableTaps?
    @exclusivity(unchecked) var channels: [(channel: FaultChannel, end: Cable.End)] = []

    init(_ accessory: SimulatedAccessory, _ port: LoopbackPort?, _ faults: [CableFault]) {
      (self.accessory, self.port, self.faults) = (accessory, port, faults)
    }
  }

  private final class Log {
    // Exclusivity checking is off, because every event writes to this property and the write calls no other code.
    @exclusivity(unchecked) private(set) var events: [TimelineEvent] = []
    var lines: [String] = []
    private let report: ((TimelineEvent) -> Void)?
    private let keeps: Bool

    init(_ settings: Settings) {
      keeps = settings.keepsEvents
      report = settings.reporter
    }

    func add(_ event: consuming TimelineEvent) {
      // Without a report, the event is moved into the array; a copy would take longer than the rest.
      guard let report else {
        if keeps { events.append(event) }
        return
      }
      if keeps { events.append(copy event) }
      report(event)
    }
  }

  /// Creates a world with a device. No accessory is plugged in.
  public init(_ settings: Settings = Settings(), on loop: any EventLoop) {
    self.settings = settings
    self.loop = loop
    let log = Log(settings)
    self.log = log
    faultChances = loop.random.derived("faults")
    stub = settings.authentication == .stub ? StubAuthenticator(seed: settings.seed) : nil
    var device = DeviceSettings(authenticator: stub ?? AccessoryVerifier())
    device.policy = settings.policy
    device.peer = settings.peer
    device.authentication = settings.authenticationMode
    device.order = settings.order
    device.flicker = settings.deviceFlicker
    device.reportsMessages = settings.reportsMessages
    (device.profile, device.artwork) = (settings.deviceProfile, settings.artwork)
    self.device = Device(settings: device, on: loop) { event in log.add(event) }
  }

  /// Creates an accessory in this world, without plugging it in. `link` may change link settings that profiles do not
  /// contain. `behavior` replaces the behaviors in the profile.
  public func add(
    _ profile: Profile, link: @escaping (inout LinkSettings) -> Void = { _ in },
    behavior: ((Behavior) -> any AccessoryBehavior)? = nil
  ) -> SimulatedAccessory {
    let number = nextNumber()
    let port = makePort(number)
    return add(
      profile, at: port, port, number, authenticator(for: profile, settings.seed &+ UInt64(number)),
      link: link, behavior: behavior)
  }

  /// Creates an accessory in this world and connects it to a port that other hosts use. The faults act at the
  /// accessory's end of the cable.
  public func add(
    _ profile: Profile, at port: any Port, authenticator: any AccessoryAuthenticator,
    handshakeTimeouts: HandshakeTimeouts = HandshakeTimeouts(),
    link: @escaping (inout LinkSettings) -> Void = { _ in }, behavior: ((Behavior) -> any AccessoryBehavior)? = nil
  ) -> SimulatedAccessory {
    let number = nextNumber()
    let wrapped = WrappedPort(port) { [unowned self] cable in
      cableCount += 1
      return wrap(cable, CableEnd(end: .accessory, accessory: number, cable: cableCount))
    }
    return add(
      profile, at: wrapped, nil, number, authenticator, handshakeTimeouts: handshakeTimeouts, link: link,
      behavior: behavior)
  }

  /// Creates an in-memory port to the device in this world, for other kinds of accessories, such as recorded ones.
  public func makePort() -> any Port { makePort(nextNumber()) }

  /// Creates a coprocessor like the ones in the accessories of this world.
  public func authenticator(for profile: Profile) -> any AccessoryAuthenticator {
    authenticator(for: profile, settings.seed)
  }

  private func nextNumber() -> Int {
    defer { accessoryCount += 1 }
    return accessoryCount
  }

  private func add(
    _ profile: Profile, at port: any Port, _ loopback: LoopbackPort?, _ number: Int,
    _ authenticator: any AccessoryAuthenticator, handshakeTimeouts: HandshakeTimeouts = HandshakeTimeouts(),
    link: @escaping (inout LinkSettings) -> Void,
    behavior: ((Behavior) -> any AccessoryBehavior)?
  ) -> SimulatedAccessory {
    let accessory = SimulatedAccessory(
      profile, at: port, authenticator: authenticator, on: loop, handshakeTimeouts: handshakeTimeouts,
      reportsMessages: settings.reportsMessages, link: link, behavior: behavior,
      report: { [log] in log.add($0) })
    accessory.worldNumber = number
    accessories[number] = Entry(accessory, loopback, settings.faults)
    return accessory
  }

  /// Removes an accessory from the world. The accessory must be unplugged.
  public func remove(_ accessory: SimulatedAccessory) {
    guard let number = number(of: accessory), let entry = accessories.removeValue(forKey: number) else { return }
    for (channel, _) in entry.channels { FaultTally.add(channel, to: &faultsPast) }
  }

  package func number(of accessory: SimulatedAccessory) -> Int? {
    accessories.first { $0.value.accessory === accessory }?.key
  }

  private func entry(of accessory: SimulatedAccessory) -> Entry? {
    number(of: accessory).flatMap { accessories[$0] }
  }

  /// Replaces the faults on the future cables of an accessory. If ``Settings/faultsMayChange`` is true, also replaces
  /// the faults on its current cables.
  public func change(faults: [CableFault], of accessory: SimulatedAccessory) {
    guard let entry = entry(of: accessory) else { return }
    entry.faults = faults
    guard settings.faultsMayChange else { return }
    for (channel, end) in entry.channels where !channel.isOver {
      channel.change(
        to: faults.filter { $0.end == end }.map(\.fault), random: SeededRandom(seed: faultChances.next()))
    }
  }

  /// Attaches removable observers to an accessory's future cables.
  public func tap(_ accessory: SimulatedAccessory, by taps: CableTaps) {
    entry(of: accessory)?.taps = taps
  }

  package func record(_ event: TimelineEvent) {
    log.add(event)
  }

  /// Unplugs an accessory's cable abruptly. Bytes in transit are lost, and both ends notice immediately. If `unnoticed`
  /// is set, the device does not notice the unplug until one of its requests goes unanswered.
  public func pull(_ accessory: SimulatedAccessory, unnoticed: Bool = false) {
    guard let entry = entry(of: accessory) else {
      preconditionFailure("an accessory can be pulled only in the world that it was added to")
    }
    log.add(
      TimelineEvent(
        time: loop.now, side: .cable,
        kind: .fault(
          "the cable of \(accessory.profile.identity.name) is pulled"
            + (unnoticed ? ", and the device does not notice" : "")), worldNumber: number(of: accessory)))
    if unnoticed { entry.port?.severDevice() }
    pull(entry.accessory, entry.port)
  }

  private func pull(_ accessory: SimulatedAccessory, _ port: LoopbackPort?) {
    port?.pull()
    // The accessory notices the unplug only when its channel ends, and may have been plugged in again by that time.
    let plug = accessory.plugCount
    loop.schedule(after: .zero) {
      if accessory.plugCount == plug { accessory.unplug("the cable was pulled") }
    }
  }

  /// How many times each fault has acted so far, counted across all cables.
  public var faultCounts: [FaultTally] {
    accessories.sorted { $0.key < $1.key }.flatMap(\.value.channels).reduce(into: faultsPast) {
      FaultTally.add($1.channel, to: &$0)
    }
  }

  /// Returns the counts for each fault at the accessory's end of its cables. The faults on each cable are counted from
  /// when the cable was plugged in.
  public func faultCounts(
    of accessory: SimulatedAccessory
  ) -> [(fault: Fault, direction: Fault.Direction, count: FaultCount)] {
    (entry(of: accessory)?.channels ?? []).filter { $0.end == .accessory }.flatMap(\.channel.counts)
  }

  /// Unplugs everything. Run the loop briefly after this call, so that both sides notice the unplug.
  public func tearDown() {
    for number in accessories.keys.sorted() { accessories[number]?.accessory.unplug("the world was stopped") }
    device.unplugAll("the world was stopped")
  }

  private func authenticator(for profile: Profile, _ seed: UInt64) -> any AccessoryAuthenticator {
    let generation: CoprocessorGeneration = profile.authentication.generation == .current ? .current : .older
    guard let stub else {
      return SimulatedCoprocessor(
        seed: seed, generation: generation, reading: profile.authentication.challenge == .digest ? .digest : .hashed)
    }
    return generation == stub.generation ? stub : StubAuthenticator(seed: settings.seed, generation: generation)
  }

  // MARK: Cables

  private func makePort(_ accessory: Int) -> LoopbackPort {
    let key = "\(accessory)"
    return LoopbackPort(
      on: loop, speed: settings.speed,
      wrap: { [unowned self] cable, end in
        wrap(cable, CableEnd(end: end, accessory: accessory, cable: cableCount))
      },
      deviceEnd: { [unowned self] cable in
        cableCount += 1
        device.plugIn(
          cable, at: "a cable in memory", key: key,
          refusesSignatures: accessories[accessory]?.accessory.hasRefusedSignatures == true, worldNumber: accessory)
      })
  }

  /// Wraps a channel in layers. From the cable outward, the layers are the faults, the transcript, and other observers.
  private func wrap(_ bare: Cable, _ end: CableEnd) -> Cable {
    var cable = bare
    let entry = accessories[end.accessory]
    let faults = entry?.faults ?? []
    if !faults.isEmpty || settings.faultsMayChange {
      cable = bare.faulty(
        faults.filter { $0.end == end.end }.map(\.fault), mayChange: settings.faultsMayChange,
        random: { [unowned self] in SeededRandom(seed: faultChances.next()) }, on: loop,
        made: { [unowned self] in keep($0, end) }, report: { [weak self] event in self?.handle(event, end) },
        struck: struck(end))
    }
    // The transcript of one end is enough, because it contains both directions.
    if settings.keepsTranscript, end.end == .device {
      cable = cable.transcribed(
        at: end.end, on: loop, gate: settings.transcriptGate, shownBytes: settings.transcriptBytes
      ) { [log, report = settings.reportLine] line in
        log.lines.append(line)
        report(line)
      }
    }
    // An accessory that has its own port serves a device outside this world.
    if end.end == .device || entry.map({ $0.port == nil }) == true {
      if let recorder = settings.recorder {
        cable = cable.recorded(
          by: recorder, at: end.end, named: "world:\(end.cable)",
          description: entry?.accessory.profile.identity.name ?? "", on: loop)
      }
      if let taps = entry?.taps { cable = taps.tap(cable, at: end.end, on: loop) }
    }
    return settings.wrapper.map { cable.with(main: $0(cable.main, end)) } ?? cable
  }

  private func struck(_ end: CableEnd) -> ((FaultStrike) -> Void)? {
    let (recorder, taps) = (settings.recorder, accessories[end.accessory]?.taps)
    guard recorder?.companion != nil || taps != nil else { return nil }
    return { strike in
      recorder?.struck(strike, at: end.end, named: "world:\(end.cable)")
      taps?.struck(strike, at: end.end)
    }
  }

  /// Keeps a channel for ``faultCounts``. Once a channel has ended, keeps only its counts.
  private func keep(_ channel: FaultChannel, _ end: CableEnd) {
    guard let entry = accessories[end.accessory] else { return }
    for (past, _) in entry.channels where past.isOver { FaultTally.add(past, to: &faultsPast) }
    entry.channels.removeAll { $0.channel.isOver }
    entry.channels.append((channel, end.end))
  }

  private func handle(_ event: FaultEvent, _ end: CableEnd) {
    guard let entry = accessories[end.accessory] else { return }
    log.add(
      TimelineEvent(
        time: loop.now, side: .cable, kind: .fault(event.description(of: text(of: event.fault))),
        subject: entry.accessory.plainSubject))
    if event.fault.cuts { pull(entry.accessory, entry.port) }
  }

  /// Returns a fault's text. Writing the text takes longer than the rest of most fault events.
  private func text(of fault: Fault) -> String {
    if let known = faultTexts.first(where: { $0.fault == fault }) { return known.text }
    let text = "\(fault)"
    if faultTexts.count == 16 { faultTexts.removeAll(keepingCapacity: true) }
    faultTexts.append((fault, text))
    return text
  }
}
