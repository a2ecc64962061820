/// The accessory's end of the protocol.
///
/// It begins with detection and SYN; from then on the device asks and the accessory answers, in whichever order the
/// device likes: certificate and challenge before identification or after, both in one read, or twice. What to answer
/// to a challenge and to a session request is the owner's to say, and it may say nothing.
public struct AccessoryPeer: Peer, ~Copyable {
  /// The parts both roles share.
  public var core: PeerCore
  /// Who the accessory says it is when it is asked next.
  public var identification: Identification {
    get { prepared.identification }
    set { prepared = PreparedIdentification(newValue) }
  }
  private var prepared: PreparedIdentification
  /// Whether the identification goes out as soon as it is asked for; otherwise the owner is told
  /// ``PeerEvent/identificationRequested`` and answers with ``identify(as:)``, or never.
  public var identifiesAtOnce = true

  /// An accessory that has not started.
  public init(identification: Identification, settings: LinkSettings = LinkSettings()) {
    self.init(identification: PreparedIdentification(identification), settings: settings)
  }

  /// An accessory that has not started, and whose identification was written before.
  public init(identification: PreparedIdentification, settings: LinkSettings = LinkSettings()) {
    core = PeerCore(role: .accessory, settings: settings)
    prepared = identification
  }

  /// Begins with detection.
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
    while let message = core.advance(bytes, at: &offset, now: now) { handle(message) }
    core.announceRoom()
  }

  /// The time of ``deadline`` has come.
  public mutating func handleTimeout(now: Instant) {
    core.handleTimeout(now: now)
  }

  /// When ``handleTimeout(now:)`` wants to be called.
  public var deadline: Instant? { core.deadline }

  /// The channel is gone.
  public mutating func stop(_ reason: String) {
    core.stop(reason)
  }

  // MARK: Answers

  /// Answers the device's request for the certificate.
  public mutating func provideCertificate(_ bytes: [UInt8]) {
    core.send(.certificate(bytes))
  }

  /// Answers the device's challenge.
  public mutating func provideResponse(_ bytes: [UInt8]) {
    core.send(.response(bytes))
  }

  /// Opens a session that the device asked for; what came for it meanwhile is told. The status is reported only by
  /// accessories that declare it (EA03).
  public mutating func acceptSession(_ id: UInt16, reportingStatus: Bool) {
    guard core.sessions.isPending(id) else { return }
    let hasBytes = core.sessions.accept(id)
    if reportingStatus { core.send(.sessionStatus(id, close: false)) }
    if hasBytes { core.events.append(.sessionReadable(id)) }
  }

  /// Refuses a session that the device asked for.
  public mutating func refuseSession(_ id: UInt16) {
    guard core.sessions.isPending(id) else { return }
    core.dropPending(id)
    core.send(.sessionStatus(id, close: true))
  }

  /// Leaves a session that the device asked for without an answer, as some accessories do when they are busy; what
  /// comes for it is stray.
  public mutating func ignoreSession(_ id: UInt16) {
    if core.sessions.isPending(id) { core.dropPending(id) }
  }

  /// Closes an open session from this side.
  public mutating func closeSession(_ id: UInt16) {
    guard core.sessions.isOpen(id) else { return }
    core.closeSession(id, .closedByAccessory)
  }

  /// Sends an identification: late, or again after the device refused one.
  public mutating func identify(as identification: Identification) {
    self.identification = identification
    identify()
  }

  private mutating func identify() {
    if core.send(prepared.message) { core.events.append(.identificationSent) }
  }

  /// Takes the identification back.
  public mutating func cancelIdentification() {
    core.send(ControlMessage(.cancelIdentification))
  }

  /// Tells the device new names and versions; the rest of an identification cannot change.
  public mutating func updateIdentification(_ identification: Identification) {
    self.identification = identification
    core.send(
      ControlMessage(.identificationInformationUpdate) {
        let texts = [
          identification.name, identification.model, identification.manufacturer, identification.serialNumber,
          identification.firmwareVersion, identification.hardwareVersion, identification.currentLanguage,
        ]
        for (id, text) in texts.enumerated() { $0.text(UInt16(id), text) }
      })
  }

  /// Asks the device to launch an app.
  public mutating func requestAppLaunch(_ request: AppLaunchRequest) {
    core.send(request.message)
  }

  // MARK: Requests

  private mutating func handle(_ message: ControlMessage) {
    switch message.id {
    case .startIdentification:
      if identifiesAtOnce { identify() } else { core.events.append(.identificationRequested) }
    case .identificationAccepted: core.events.append(.identificationAccepted)
    case .identificationRejected: handleRejection(message)
    case .requestAuthenticationCertificate: core.events.append(.certificateRequested)
    case .requestAuthenticationChallengeResponse:
      if let challenge = decode(message, { p throws(ParameterError) in try p.authenticationBlob() }) {
        core.events.append(.challenged(challenge))
      }
    case .authenticationSucceeded: core.events.append(.authenticationSucceeded)
    case .authenticationFailed: core.events.append(.authenticationFailed)
    case .startExternalAccessorySession: handleSessionRequest(message)
    case .stopExternalAccessorySession: handleSessionStop(message)
    case .deviceInformationUpdate, .deviceLanguageUpdate, .deviceTimeUpdate, .deviceUUIDUpdate:
      tell(message) { message throws(ParameterError) in try DeviceUpdate(message).map(PeerEvent.deviceUpdate) }
    case .powerUpdate:
      tell(message) { message throws(ParameterError) in try PowerUpdate(message).map(PeerEvent.powerUpdate) }
    default: core.events.append(.message(message))
    }
  }

  private mutating func handleRejection(_ message: ControlMessage) {
    let refused = decode(message) { parameters throws(ParameterError) in
      var refused: [UInt16: [MessageID]] = [:]
      for parameter in parameters {
        let isList = parameter.id == 6 || parameter.id == 7
        refused[parameter.id, default: []] += isList ? try parameter.list().map(MessageID.init) : []
      }
      return refused
    }
    if let refused { core.events.append(.identificationRejected(refused)) }
  }

  private mutating func handleSessionRequest(_ message: ControlMessage) {
    let request = decode(message) { parameters throws(ParameterError) in
      (
        try parameters.only(0, "protocol").number(as: UInt8.self),
        try parameters.only(1, "session").number(as: UInt16.self)
      )
    }
    guard let (protocolID, id) = request else { return }
    guard core.carriesSessions else {
      core.events.append(
        .malformed("\(message.id) asks for session \(id) on a link without an External Accessory session"))
      return
    }
    if core.sessions.index(of: id) != nil {
      core.events.append(.malformed("\(message.id) asks for session \(id), which is open already"))
      return
    }
    // Bounded: numbers have two bytes, and a device that asks for thousands at once gets no more answers than that.
    guard core.sessions.openCount < Self.sessionLimit else {
      core.events.append(.malformed("\(message.id) asks for more than \(Self.sessionLimit) sessions at once"))
      return
    }
    core.sessions.open(id, protocolID: protocolID, isPending: true)
    core.events.append(.sessionRequested(id: id, protocolID: protocolID))
  }

  private static let sessionLimit = 256

  private mutating func handleSessionStop(_ message: ControlMessage) {
    let id = decode(message) { parameters throws(ParameterError) in
      try parameters.only(0, "session").number(as: UInt16.self)
    }
    guard let id else { return }
    guard core.sessions.index(of: id) != nil else {
      core.events.append(.malformed("\(message.id) closes session \(id), which is not open"))
      return
    }
    core.endSession(id, .closedByDevice)
  }
}
