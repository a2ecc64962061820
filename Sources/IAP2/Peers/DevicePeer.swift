/// The Apple device's end of the protocol: it answers detection, then asks.
///
/// Once the link is up it takes the accessory through identification and authentication in the order of its settings,
/// and says ``PeerEvent/ready`` when both are done. Sessions may be opened from then on.
public struct DevicePeer: Peer, ~Copyable {
  /// The choices of a device.
  public struct Settings: Hashable, Sendable {
    /// Which of the two comes first. Both are seen; publishing an accessory early needs its name before its certificate.
    public enum Order: Hashable, Sendable {
      /// AA00 … AA05, then 1D00.
      case authenticationFirst
      /// 1D00, 1D01, 1D02, then AA00.
      case identificationFirst
    }

    /// The link's choices.
    public var link = LinkSettings.device
    /// Which comes first.
    public var order = Order.authenticationFirst
    /// How identifications are judged.
    public var judge = IdentificationJudge()
    /// How long the accessory may take for each answer. iOS's own limit is not public; a field report has 30 s.
    public var answerTimeout: Milliseconds = 30_000
    /// How many refused identifications end the link: after the second a device was seen to stop.
    public var rejectionLimit = 2
    /// What an accessory that lists the messages as received is told once it is ready, as iPhones do.
    public var news: [DeviceUpdate] = [
      .uuid("00000000-0000-4000-8000-00000000EA51"), .language("en"), .name("easim"),
    ]
    /// What an accessory that asks for power news is told, as far as it asks.
    public var power: PowerUpdate = {
      var power = PowerUpdate()
      power.maximumCurrentDrawn = 100
      power.willCharge = false
      power.accessoryPowerMode = 0
      power.isExternalChargerConnected = false
      power.charging = .no
      power.batteryPercent = 80
      return power
    }()
    /// The number of the first session; the device chooses, and 1 is the commonest.
    public var firstSession: UInt16 = 1

    /// Every choice at its default.
    public init() {}
  }

  /// What the accessory is asked for.
  public enum Step: Hashable, Sendable {
    /// The certificate or the response to the challenge.
    case authentication
    /// The identification.
    case identification
  }

  /// The way to a ready accessory, as far as it has come.
  private enum Progress: Equatable {
    case linkDown
    case asking(Step, remaining: Step?, deadline: Instant?)
    case ready
    case refused
  }

  /// How a session reaches the accessory.
  public enum SessionRoute: Equatable, Sendable {
    /// Over the link; the session's number.
    case link(UInt16)
    /// Over the native channel of this transport component, beside the link.
    case native(component: UInt16)
  }

  /// The parts both roles share.
  public var core: PeerCore
  /// The choices this device was made with.
  public let settings: Settings
  /// What the accessory said it is, once accepted.
  public var identification: Identification? { accepted?.identification }
  private var accepted: JudgedIdentification?

  private let memory: IdentificationMemory?
  private var progress = Progress.linkDown
  /// Which link `progress` is about: one may go down and another come up within a single read.
  private var followedLink = 0
  private var authentication = DeviceAuthentication()
  private var rejections = 0
  private var nextSession: UInt16

  /// A device that has not started; `memory` is what it remembers of the accessories it had before, if anything.
  public init(settings: Settings = Settings(), memory: IdentificationMemory? = nil) {
    core = PeerCore(role: .device, settings: settings.link)
    self.settings = settings
    self.memory = memory
    nextSession = settings.firstSession
  }

  /// Begins by listening.
  public mutating func start(now: Instant) {
    core.link.start(now: now)
  }

  /// Bytes arrived.
  @inlinable
  public mutating func receive(_ bytes: RawSpan, now: Instant) {
    if !core.takesByte(of: bytes) { workThrough(bytes, now: now) }
  }

  @usableFromInline
  mutating func workThrough(_ bytes: RawSpan, now: Instant) {
    core.beginDelivery()
    var offset = 0
    while true {
      let message = core.advance(bytes, at: &offset, now: now)
      followLink(now: now)
      guard let message else { break }
      handle(message, now: now)
    }
    core.announceRoom()
  }

  /// The time of ``deadline`` has come.
  public mutating func handleTimeout(now: Instant) {
    core.handleTimeout(now: now)
    followLink(now: now)
    if case .asking(let step, let remaining, let due?) = progress, due <= now {
      progress = .asking(step, remaining: remaining, deadline: nil)
      core.events.append(.answerTimedOut(step))
    }
  }

  /// When ``handleTimeout(now:)`` wants to be called.
  public var deadline: Instant? {
    if core.link.isEstablished, case .asking(_, _, let due) = progress { return Instant.earlier(core.deadline, due) }
    return core.deadline
  }

  /// The channel is gone.
  public mutating func stop(_ reason: String) {
    core.stop(reason)
    progress = .linkDown
    accepted = nil
  }

  /// Whether the accessory is identified and authenticated.
  public var isReady: Bool { core.link.isEstablished && progress == .ready }

  // MARK: The way to ready

  /// Notices that the link came up or went down while bytes were worked through.
  private mutating func followLink(now: Instant) {
    let isUp = core.link.isEstablished
    if !isUp || core.link.counters.establishments != followedLink {
      progress = .linkDown
      accepted = nil
    }
    guard isUp, case .linkDown = progress else { return }
    followedLink = core.link.counters.establishments
    authentication = DeviceAuthentication()
    rejections = 0
    switch settings.order {
    case .authenticationFirst: ask(.authentication, then: .identification, now: now)
    case .identificationFirst: ask(.identification, then: .authentication, now: now)
    }
  }

  private mutating func ask(_ step: Step, then remaining: Step?, now: Instant) {
    progress = .asking(step, remaining: remaining, deadline: now + settings.answerTimeout)
    switch step {
    case .authentication: perform(authentication.begin())
    case .identification: core.send(ControlMessage(.startIdentification))
    }
  }

  private mutating func finish(_ step: Step, now: Instant) {
    guard case .asking(step, let remaining, _) = progress else { return }
    if let remaining {
      ask(remaining, then: nil, now: now)
    } else {
      progress = .ready
      core.events.append(.ready)
      // Listing one of these as received is all the subscription there is.
      guard let wanted = accepted?.identification.messagesReceived, !wanted.isEmpty else { return }
      for news in settings.news where wanted.contains(news.messageID) { core.send(news.message) }
    }
  }

  private mutating func perform(_ action: DeviceAuthentication.Action) {
    switch action {
    case .send(let message): core.send(message)
    case .tell(let event): core.events.append(event)
    case .unexpected(let message): core.events.append(.malformed("\(message) came unasked"))
    }
  }

  /// Gives the accessory its time while the next word of authentication is the accessory's, and none while it is this
  /// side's.
  private mutating func timeAuthentication(now: Instant) {
    guard case .asking(.authentication, let remaining, _) = progress else { return }
    let deadline = authentication.isWaitingForAccessory ? now + settings.answerTimeout : nil
    progress = .asking(.authentication, remaining: remaining, deadline: deadline)
  }

  /// Sends the challenge made for the accessory's certificate.
  public mutating func challenge(_ bytes: [UInt8], now: Instant) {
    guard core.link.isEstablished, authentication.state == .awaitingChallenge else { return }
    perform(authentication.challenge(bytes))
    timeAuthentication(now: now)
  }

  /// Concludes authentication as the owner judged it.
  public mutating func concludeAuthentication(accepted: Bool, now: Instant) {
    guard core.link.isEstablished,
      authentication.state == .awaitingVerdict || (authentication.state == .awaitingChallenge && !accepted)
    else { return }
    perform(authentication.conclude(accepted: accepted))
    core.events.append(accepted ? .authenticationSucceeded : .authenticationFailed)
    if accepted { finish(.authentication, now: now) } else { progress = .refused }
  }

  // MARK: Sessions

  /// There are no more numbers than that.
  private static let sessionLimit = 65_536

  /// Opens a session on a declared protocol. Live at once: most accessories never confirm. Nil when the accessory is
  /// not ready, has no such protocol, or its link cannot carry the session; an event says why in that case.
  public mutating func openSession(protocolNamed name: String) -> SessionRoute? {
    guard isReady, let found = accepted?.identification.externalAccessoryProtocol(named: name) else { return nil }
    if let component = found.nativeTransportComponent { return .native(component: component) }
    guard core.carriesSessions else {
      core.events.append(
        .malformed("\(name) cannot be opened: the accessory's SYN declares no External Accessory session"))
      return nil
    }
    guard core.sessions.entries.count < Self.sessionLimit else { return nil }
    while core.sessions.entries.contains(where: { $0.id == nextSession }) { nextSession &+= 1 }
    let id = nextSession
    guard core.send(.startSession(id, protocolID: found.id)) else { return nil }
    nextSession &+= 1
    core.sessions.open(id, protocolID: found.id)
    return .link(id)
  }

  /// Closes an open session from this side.
  public mutating func closeSession(_ id: UInt16) {
    guard core.sessions.isOpen(id) else { return }
    core.closeSession(id, .closedByDevice)
  }

  /// Ends the link with a reset; the accessory begins anew.
  public mutating func resetLink(now: Instant) {
    core.resetLink(now: now)
    followLink(now: now)
  }

  // MARK: Answers

  private mutating func handle(_ message: ControlMessage, now: Instant) {
    switch message.id {
    case .authenticationCertificate: handleAuthentication(message, now: now) { $0.receive(certificate: $1) }
    case .authenticationResponse: handleAuthentication(message, now: now) { $0.receive(response: $1) }
    case .identificationInformation: handleIdentification(message, now: now)
    case .identificationInformationUpdate: handleUpdate(message)
    case .cancelIdentification: core.events.append(.identificationCancelled)
    case .externalAccessorySessionStatus: handleStatus(message)
    case .startPowerUpdates: handlePowerSubscription(message)
    case .powerSourceUpdate:
      tell(message) { message throws(ParameterError) in try PowerSource(message).map(PeerEvent.powerSource) }
    case .requestAppLaunch:
      tell(message) { message throws(ParameterError) in try AppLaunchRequest(message).map(PeerEvent.appLaunchRequested)
      }
    default: core.events.append(.message(message))
    }
  }

  private mutating func handleAuthentication(
    _ message: ControlMessage, now: Instant,
    _ receive: (inout DeviceAuthentication, [UInt8]) -> DeviceAuthentication.Action
  ) {
    guard let bytes = decode(message, { p throws(ParameterError) in try p.authenticationBlob() }) else { return }
    let action = receive(&authentication, bytes)
    perform(action)
    if case .tell = action { timeAuthentication(now: now) }
  }

  private mutating func handleIdentification(_ message: ControlMessage, now: Instant) {
    guard case .asking(.identification, let remaining, _) = progress else {
      core.events.append(.malformed("\(message.id) came unasked"))
      return
    }
    let judged =
      memory?.judged(message, by: settings.judge) ?? JudgedIdentification(reading: message, settings.judge)
    core.events.append(.identified(judged))
    if judged.verdict.isAccepted {
      accepted = judged
      core.send(ControlMessage(.identificationAccepted))
      finish(.identification, now: now)
      return
    }
    rejections += 1
    core.send(judged.verdict.rejection)
    progress =
      rejections >= settings.rejectionLimit
      ? .refused : .asking(.identification, remaining: remaining, deadline: now + settings.answerTimeout)
  }

  private mutating func handlePowerSubscription(_ message: ControlMessage) {
    do throws(ParameterError) {
      guard let subscription = try PowerSubscription(message) else { return }
      core.events.append(.powerSubscription(subscription))
      core.send(settings.power.selecting(subscription.parameters).message)
    } catch {
      core.events.append(.malformed("\(message.id): \(error)"))
    }
  }

  private mutating func handleUpdate(_ message: ControlMessage) {
    guard let accepted else {
      core.events.append(.malformed("\(message.id) came before an identification was accepted"))
      return
    }
    let texts = decode(message) { parameters throws(ParameterError) in
      var texts: [UInt16: String] = [:]
      for parameter in parameters where parameter.id <= 6 { texts[parameter.id] = try parameter.text() }
      return texts
    }
    guard let texts else { return }
    var updated = accepted.identification
    updated.name = texts[0] ?? updated.name
    updated.model = texts[1] ?? updated.model
    updated.manufacturer = texts[2] ?? updated.manufacturer
    updated.serialNumber = texts[3] ?? updated.serialNumber
    updated.firmwareVersion = texts[4] ?? updated.firmwareVersion
    updated.hardwareVersion = texts[5] ?? updated.hardwareVersion
    updated.currentLanguage = texts[6] ?? updated.currentLanguage
    self.accepted = JudgedIdentification(updated, accepted.verdict)
    core.events.append(.identificationUpdated(updated))
  }

  private mutating func handleStatus(_ message: ControlMessage) {
    let status = decode(message) { parameters throws(ParameterError) in
      (
        try parameters.only(0, "session").number(as: UInt16.self),
        try parameters.only(1, "status").number(as: UInt8.self)
      )
    }
    guard let (id, value) = status else { return }
    guard let index = core.sessions.index(of: id) else {
      // The answer to a session that this side closed meanwhile.
      return
    }
    switch value {
    case 0:
      core.sessions.noteAnswer(at: index)
      core.events.append(.sessionConfirmed(id))
    case 1: core.endSession(id, core.sessions.entries[index].hasSpoken ? .closedByAccessory : .refused)
    default: core.events.append(.malformed("\(message.id) has status \(value), known are 0 (in order) and 1 (close)"))
    }
  }
}
