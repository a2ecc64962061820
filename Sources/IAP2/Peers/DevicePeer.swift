/// The Apple device's side of the protocol: it answers detection, and then sends requests.
///
/// Once the link is up, the device takes the accessory through identification and authentication, in the order given by
/// its settings, and reports ``PeerEvent/ready`` when both are complete. Sessions can be opened once the accessory is
/// ready.
public typealias DevicePeer = Peer<DeviceRole>

extension Peer where Role == DeviceRole {
  /// A device's settings.
  public typealias Settings = DeviceRole.Settings
  /// A step in which the device requests something from the accessory.
  public typealias Step = DeviceRole.Step
  /// How a session reaches the accessory.
  public typealias SessionRoute = DeviceRole.SessionRoute

  /// Creates a device that has not started; `memory` caches identifications of earlier accessories.
  public init(settings: Settings = Settings(), memory: IdentificationMemory? = nil) {
    self.init(
      core: PeerCore(role: .device, settings: settings.link), role: DeviceRole(settings: settings, memory: memory))
  }

  /// The accessory's identification, once the device has accepted it.
  public var identification: Identification? { role.accepted?.identification }

  /// Whether the accessory has been identified and authenticated.
  public var isReady: Bool { core.isLinkUp && role.progress == .ready }

  /// The accessory's progress on the current or last link, or nil once the accessory is ready.
  public var unfinished: DeviceRole.Unfinished? { role.unfinishedNow }

  /// Uses this startup order from the next link on, without falling back to the other order. The limit for each later
  /// answer is reduced by the time already spent waiting for the first answer, so that trying one startup order and
  /// then the other takes no longer than a single time limit.
  public mutating func begin(with order: DeviceRole.Settings.Order) {
    role.order = order
    guard let first = role.firstAnswerTimeout else { return }
    role.answerTimeout = Milliseconds(max(1, role.answerTimeout.count - first.count))
    role.firstAnswerTimeout = nil
  }

  // MARK: Until the accessory is ready

  /// Reacts if processing the received bytes established or ended the link.
  mutating func followLink(now: Instant) {
    let isUp = core.isLinkUp
    if !isUp || core.link.counters.establishments != role.followedLink { role.linkEnded() }
    guard isUp, case .linkDown = role.progress else { return }
    role.followedLink = core.link.counters.establishments
    role.authentication = .idle
    role.rejections = 0
    guard role.settings.asksForAuthentication else { return ask(.identification, then: nil, now: now) }
    switch role.order {
    case .authenticationFirst: ask(.authentication, then: .identification, now: now)
    case .identificationFirst: ask(.identification, then: .authentication, now: now)
    }
  }

  private mutating func ask(_ step: Step, then remaining: Step?, now: Instant) {
    role.progress = .asking(step, remaining: remaining)
    let first = remaining == nil ? nil : role.firstAnswerTimeout
    core.answerDeadline = now + (first ?? role.answerTimeout)
    switch step {
    case .authentication:
      role.authentication = .awaitingCertificate
      core.send(ControlMessage(.requestAuthenticationCertificate))
    case .identification: core.send(ControlMessage(.startIdentification))
    }
  }

  private mutating func finish(_ step: Step, now: Instant) {
    guard case .asking(step, let remaining) = role.progress else { return }
    if let remaining { return ask(remaining, then: nil, now: now) }
    role.progress = .ready
    core.answerDeadline = nil
    core.events.append(.ready)
  }

  private mutating func refuse() {
    role.progress = .refused
    core.answerDeadline = nil
  }

  /// Runs the answer timeout while an authentication message from the accessory is due, and stops it otherwise.
  private mutating func timeAuthentication(now: Instant) {
    guard case .asking(.authentication, _) = role.progress else { return }
    let isWaiting = [.awaitingCertificate, .awaitingResponse].contains(role.authentication)
    core.answerDeadline = isWaiting ? now + role.answerTimeout : nil
  }

  /// Answers the accessory's certificate with a challenge.
  public mutating func challenge(_ bytes: [UInt8], now: Instant) {
    guard core.isLinkUp, role.authentication == .awaitingChallenge else { return }
    role.authentication = .awaitingResponse
    core.send(ControlMessage(.requestAuthenticationChallengeResponse) { $0.blob(0, bytes) })
    timeAuthentication(now: now)
  }

  /// Ends authentication by sending the owner's decision.
  public mutating func concludeAuthentication(accepted: Bool, now: Instant) {
    let state = role.authentication
    guard core.isLinkUp, state == .awaitingVerdict || (state == .awaitingChallenge && !accepted) else { return }
    role.authentication = .over
    core.send(ControlMessage(accepted ? .authenticationSucceeded : .authenticationFailed))
    core.events.append(accepted ? .authenticationSucceeded : .authenticationFailed)
    if accepted { finish(.authentication, now: now) } else { refuse() }
  }

  // MARK: Sessions

  private static var sessionLimit: Int { 65_536 }

  /// Opens a session for a declared protocol. The session is open immediately, because most accessories never confirm
  /// sessions. The first data may be delayed; see ``DeviceRole/Settings/firstWriteDelay``. Returns nil if the accessory
  /// is not ready, does not declare the protocol, or has a link that cannot carry the session. If the link cannot carry
  /// the session, an event gives the reason.
  public mutating func openSession(protocolNamed name: String, now: Instant) -> SessionRoute? {
    guard isReady, let found = role.accepted?.identification.externalAccessoryProtocol(named: name) else { return nil }
    if let component = found.nativeTransportComponent { return .native(component: component) }
    guard core.carriesSessions else {
      core.events.append(
        .malformed("\(name) cannot be opened: the accessory's SYN declares no External Accessory session"))
      return nil
    }
    guard core.sessions.entries.count < Self.sessionLimit else { return nil }
    while core.sessions.entries.contains(where: { $0.id == role.nextSession }) { role.nextSession &+= 1 }
    let id = role.nextSession
    guard core.send(.startSession(id, protocolID: found.id)) else { return nil }
    role.nextSession &+= 1
    core.sessions.open(id, protocolID: found.id)
    if role.settings.firstWriteDelay.count > 0 { core.holdWrites(to: id, until: now + role.settings.firstWriteDelay) }
    return .link(id)
  }

  /// Ends the link with a reset; the accessory then restarts the link.
  public mutating func resetLink(now: Instant) {
    core.resetLink(now: now)
    followLink(now: now)
  }

  // MARK: Answers

  mutating func handle(_ message: ControlMessage, now: Instant) {
    switch message.id {
    case .authenticationCertificate:
      handle(message, in: .awaitingCertificate, then: .awaitingChallenge, now: now, PeerEvent.certificateReceived)
    case .authenticationResponse:
      handle(message, in: .awaitingResponse, then: .awaitingVerdict, now: now, PeerEvent.responseReceived)
    case .identificationInformation: handleIdentification(message, now: now)
    case .identificationInformationUpdate: handleUpdate(message)
    case .cancelIdentification: core.events.append(.identificationCancelled)
    case .externalAccessorySessionStatus: handleStatus(message)
    case .requestAppLaunch:
      let request = core.decode(message) { _ throws(ParameterError) in try AppLaunchRequest(message) }
      if case let request?? = request { core.events.append(.appLaunchRequested(request)) }
    default: core.events.append(.message(message))
    }
  }

  private mutating func handle(
    _ message: ControlMessage, in state: DeviceRole.Authentication, then next: DeviceRole.Authentication, now: Instant,
    _ event: ([UInt8]) -> PeerEvent
  ) {
    guard let bytes = core.decode(message, { p throws(ParameterError) in try p.only(0, "data").value }) else { return }
    guard role.authentication == state else { return reportUnasked(message) }
    role.authentication = next
    core.events.append(event(bytes))
    timeAuthentication(now: now)
  }

  private mutating func reportUnasked(_ message: ControlMessage) {
    core.events.append(.malformed("\(message.id) arrived unrequested"))
  }

  private mutating func handleIdentification(_ message: ControlMessage, now: Instant) {
    guard case .asking(.identification, _) = role.progress else { return reportUnasked(message) }
    let judge = role.settings.judge
    let judged = role.memory?.judged(message, by: judge) ?? JudgedIdentification(reading: message, judge)
    core.events.append(.identified(judged))
    if judged.verdict.isAccepted {
      role.accepted = judged
      core.send(ControlMessage(.identificationAccepted))
      finish(.identification, now: now)
      return
    }
    role.rejections += 1
    core.send(judged.verdict.rejection)
    if role.rejections >= DeviceRole.rejectionLimit {
      refuse()
    } else {
      core.answerDeadline = now + role.answerTimeout
    }
  }

  private mutating func handleUpdate(_ message: ControlMessage) {
    guard let accepted = role.accepted else {
      core.events.append(.malformed("\(message.id) arrived before the identification was accepted"))
      return
    }
    let texts = core.decode(message) { parameters throws(ParameterError) in
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
    role.accepted = JudgedIdentification(updated, accepted.verdict)
    core.events.append(.identificationUpdated(updated))
  }

  private mutating func handleStatus(_ message: ControlMessage) {
    let status = core.decode(message) { parameters throws(ParameterError) in
      (
        try parameters.only(0, "session").number(as: UInt16.self),
        try parameters.only(1, "status").number(as: UInt8.self)
      )
    }
    guard let (id, value) = status else { return }
    guard let index = core.sessions.index(of: id) else {
      // The answer arrived after this end had closed the session.
      return
    }
    switch value {
    case 0:
      core.sessions.noteAnswer(at: index)
      core.releaseWrites(at: index)
      core.events.append(.sessionConfirmed(id))
    case 1: core.endSession(id, core.sessions.entries[index].phase == .heard ? .closedByAccessory : .refused)
    default:
      core.events.append(.malformed("\(message.id) has status \(value); the known values are 0 (OK) and 1 (close)"))
    }
  }
}
