/// The accessory's side of the protocol.
///
/// An accessory begins with detection and a SYN. The accessory then answers the device's requests in any order:
/// certificate and challenge requests may come before or after identification, in the same read, or twice. The owner
/// decides whether and how to answer a challenge or a session request.
public typealias AccessoryPeer = Peer<AccessoryRole>

/// The state that the accessory's role adds to ``PeerCore``: the identification and the progress.
public struct AccessoryRole: PeerRole {
  fileprivate var prepared: PreparedIdentification
  fileprivate var identifiesAtOnce = true
  var progress = AccessoryProgress()

  /// Processes received bytes and answers the control messages in them.
  @inlinable
  public static func receive(_ bytes: RawSpan, _ peer: inout AccessoryPeer, now: Instant) {
    if peer.core.takes(bytes) { return }
    workThrough(bytes, &peer, now: now)
  }

  @usableFromInline
  static func workThrough(_ bytes: RawSpan, _ peer: inout AccessoryPeer, now: Instant) {
    var offset = 0
    while let message = peer.core.advance(bytes, at: &offset, now: now) { peer.handle(message) }
    peer.core.endDelivery(now: now)
  }

  /// Handles all timeouts that have expired by `now`. The accessory's role adds no timeouts to those of the link.
  public static func handleTimeout(_ peer: inout AccessoryPeer, now: Instant) {
    if peer.core.dropsCutPiece(now: now) { workThrough([UInt8]().span.bytes, &peer, now: now) }
    peer.core.handleTimeout(now: now)
  }

  /// Ends every session with `reason`, because the channel has ended; the identification stays unchanged.
  public static func stop(_ peer: inout AccessoryPeer, _ reason: String) {
    peer.core.stop(reason)
  }

  /// Returns what the accessory is waiting for while the link is up.
  public static func phase(of peer: inout AccessoryPeer) -> PeerPhase { peer.progressOnLink.phase }
}

struct AccessoryProgress: Equatable {
  enum Step: Equatable {
    case device
    case owner
    /// The accessory has answered, and the device must decide.
    case answered
    case accepted
    case refused
  }

  /// The link that this state refers to; see ``LinkCounters/establishments``.
  var link = 0
  var authentication = Step.device
  var identification = Step.device

  var phase: PeerPhase {
    switch (authentication, identification) {
    case (.owner, _), (_, .owner): .owner
    case (.refused, _), (_, .refused): .refused
    case (_, .answered), (.accepted, .device): .identification
    case (.accepted, .accepted): .ready
    case (.device, _), (.answered, _): .authentication
    }
  }
}

extension Peer where Role == AccessoryRole {
  /// The identification that the accessory sends when the device next requests it.
  public var identification: Identification {
    get { role.prepared.identification }
    set { role.prepared = PreparedIdentification(newValue) }
  }

  /// Whether the identification is sent as soon as the device requests it; if not, the owner receives
  /// ``PeerEvent/identificationRequested`` and may answer with ``identify(as:)``.
  public var identifiesAtOnce: Bool {
    get { role.identifiesAtOnce }
    set { role.identifiesAtOnce = newValue }
  }

  /// Creates an accessory that has not started.
  public init(identification: Identification, settings: LinkSettings = LinkSettings()) {
    self.init(identification: PreparedIdentification(identification), settings: settings)
  }

  /// Creates an accessory that has not started, from an encoded identification.
  public init(identification: PreparedIdentification, settings: LinkSettings = LinkSettings()) {
    self.init(
      core: PeerCore(role: .accessory, settings: settings), role: AccessoryRole(prepared: identification))
  }

  // MARK: Answers

  /// Answers the device's request for the certificate.
  public mutating func provideCertificate(_ bytes: [UInt8]) {
    core.send(ControlMessage(.authenticationCertificate) { $0.blob(0, bytes) })
    noteAuthentication(.answered)
  }

  /// Answers the device's challenge.
  public mutating func provideResponse(_ bytes: [UInt8]) {
    core.send(ControlMessage(.authenticationResponse) { $0.blob(0, bytes) })
    noteAuthentication(.answered)
  }

  /// Opens a session that the device requested, and reports any bytes that have already arrived for it. Only
  /// accessories that declare EA03 should report the status.
  public mutating func acceptSession(_ id: UInt16, reportingStatus: Bool) {
    guard core.sessions.isRequested(id) else { return }
    let hasBytes = core.sessions.accept(id)
    if reportingStatus { core.send(.sessionStatus(id, close: false)) }
    if hasBytes { core.events.append(.sessionReadable(id)) }
  }

  /// Refuses a session that the device requested.
  public mutating func refuseSession(_ id: UInt16) {
    guard core.sessions.isRequested(id) else { return }
    core.dropRequested(id)
    core.send(.sessionStatus(id, close: true))
  }

  /// Leaves a requested session unanswered, as some busy accessories do; bytes that arrive for the session are dropped.
  public mutating func ignoreSession(_ id: UInt16) {
    if core.sessions.isRequested(id) { core.dropRequested(id) }
  }

  /// Sends the identification late, or again after a rejection.
  public mutating func identify(as identification: Identification) {
    self.identification = identification
    identify()
  }

  private mutating func identify() {
    guard core.send(role.prepared.message) else { return }
    noteIdentification(.answered)
    core.events.append(.identificationSent)
  }

  // MARK: Requests

  fileprivate mutating func handle(_ message: ControlMessage) {
    switch message.id {
    case .startIdentification:
      noteIdentification(.owner)
      if identifiesAtOnce { identify() } else { core.events.append(.identificationRequested) }
    case .identificationAccepted:
      noteIdentification(.accepted)
      core.events.append(.identificationAccepted)
    case .identificationRejected: handleRejection(message)
    case .requestAuthenticationCertificate:
      noteAuthentication(.owner)
      core.events.append(.certificateRequested)
    case .requestAuthenticationChallengeResponse:
      if let challenge = core.decode(message, { p throws(ParameterError) in try p.only(0, "data").value }) {
        noteAuthentication(.owner)
        core.events.append(.challenged(challenge))
      }
    case .authenticationSucceeded:
      noteAuthentication(.accepted)
      core.events.append(.authenticationSucceeded)
    case .authenticationFailed:
      noteAuthentication(.refused)
      core.events.append(.authenticationFailed)
    case .startExternalAccessorySession: handleSessionRequest(message)
    case .stopExternalAccessorySession: handleSessionStop(message)
    default: core.events.append(.message(message))
    }
  }

  private mutating func handleRejection(_ message: ControlMessage) {
    let refused = core.decode(message) { parameters throws(ParameterError) in
      var refused: [UInt16: [MessageID]] = [:]
      for parameter in parameters {
        let isList = parameter.id == 6 || parameter.id == 7
        refused[parameter.id, default: []] += isList ? try parameter.list().map(MessageID.init) : []
      }
      return refused
    }
    guard let refused else { return }
    noteIdentification(.refused)
    core.events.append(.identificationRejected(refused))
  }

  private mutating func handleSessionRequest(_ message: ControlMessage) {
    let request = core.decode(message) { parameters throws(ParameterError) in
      (
        try parameters.only(0, "protocol").number(as: UInt8.self),
        try parameters.only(1, "session").number(as: UInt16.self)
      )
    }
    guard let (protocolID, id) = request else { return }
    guard core.carriesSessions else {
      core.events.append(
        .malformed("\(message.id) requests session \(id) on a link without an External Accessory session"))
      return
    }
    if core.sessions.index(of: id) != nil {
      core.events.append(.malformed("\(message.id) requests session \(id), which is already open"))
      return
    }
    // A device that requests thousands of sessions gets no answers beyond the limit.
    guard core.sessions.openCount < Self.sessionLimit else {
      core.events.append(.malformed("\(message.id) requests more than \(Self.sessionLimit) sessions at once"))
      return
    }
    core.sessions.open(id, protocolID: protocolID, .requested)
    core.events.append(.sessionRequested(id: id, protocolID: protocolID))
  }

  private static var sessionLimit: Int { 256 }

  private mutating func handleSessionStop(_ message: ControlMessage) {
    let id = core.decode(message) { parameters throws(ParameterError) in
      try parameters.only(0, "session").number(as: UInt16.self)
    }
    guard let id else { return }
    guard core.sessions.index(of: id) != nil else {
      core.events.append(.malformed("\(message.id) closes session \(id), which is not open"))
      return
    }
    core.endSession(id, .closedByDevice)
  }

  @inline(__always)
  fileprivate var progressOnLink: AccessoryProgress {
    let link = core.link.counters.establishments
    return role.progress.link == link ? role.progress : AccessoryProgress(link: link)
  }

  mutating func noteAuthentication(_ step: AccessoryProgress.Step) {
    role.progress = progressOnLink
    role.progress.authentication = step
  }

  mutating func noteIdentification(_ step: AccessoryProgress.Step) {
    role.progress = progressOnLink
    role.progress.identification = step
  }
}
