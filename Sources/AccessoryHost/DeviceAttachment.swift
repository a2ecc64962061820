import AccessoryCore
import AccessorySessions
import AccessoryTransports
import Certificates
import IAP2

/// One accessory at the other end of one cable, from the device's side: three machines (identification and
/// authentication inside the peer, publication here) and what runs between them.
final class DeviceAttachment: ConnectionOwner {
  private unowned let device: Device
  private let place: String
  private let announced: BenchCard?
  private let refusesSignatures: Bool
  private let ended: (CableEnd) -> Void
  private let connection: Connection<DevicePeer>
  private var publication: PublicationMachine
  private var timer: LoopTimer?
  private var linkWasUp = false
  private var identification: Identification?
  private var certificate: [UInt8] = []
  private var challenge: [UInt8] = []

  init(
    cable: Cable, place: String, announced: BenchCard?, refusesSignatures: Bool, device: Device,
    ended: @escaping (CableEnd) -> Void
  ) {
    self.device = device
    self.place = place
    self.announced = announced
    self.refusesSignatures = refusesSignatures
    self.ended = ended
    connection = Connection(peer: DevicePeer(settings: device.settings.peerSettings), cable: cable, on: device.loop)
    publication = PublicationMachine(policy: device.settings.policy, flicker: device.settings.flicker)
    timer = device.loop.makeTimer { [unowned self] in publicationDeadlineCame() }
  }

  /// What apps see of it now.
  var published: PublishedAccessory? { publication.current }

  /// What its link has done.
  var linkCounters: LinkCounters { connection.inspect { $0.counters } }

  func start() {
    tell(.attach(place))
    connection.start(self)
  }

  func close(_ reason: String) {
    connection.close(reason)
    finish(reason)
  }

  /// Resets the link if the accessory has this serial number.
  func resetLink(ifSerialIs serial: String) {
    guard identification?.serialNumber == serial else { return }
    tell(.fault("the device resets the link"))
    connection.perform { $0.resetLink(now: $1) }
    withdraw()
  }

  func openSession(_ protocolName: String) throws(SessionRefusal) -> Session {
    let session = try connection.openSession(protocolName)
    tell(.sessionOpen(id: Int(session.id), protocolName: protocolName))
    return session
  }

  private func finish(_ reason: String) {
    if let action = publication.gone() { device.perform(action) }
    timer?.cancel()
    timer = nil
    tell(.detach(reason))
    device.forget(self)
    ended(CableEnd(reason: reason, linkWasUp: linkWasUp))
  }

  // MARK: The connection

  func connectionTold(_ event: PeerEvent) {
    switch event {
    case .linkUp(let agreement):
      linkWasUp = true
      tell(
        .link(
          isUp: true,
          "packets up to \(agreement.peerMaximumPacketLength) bytes, window \(agreement.peerMaximumOutstandingPackets)")
      )
    case .linkDown(let end):
      tell(.link(isUp: false, end.description))
      withdraw()
    case .certificateReceived(let bytes): handleCertificate(bytes)
    case .responseReceived(let response): handleResponse(response)
    case .authenticationSucceeded: tell(.authentication("succeeded"))
    case .authenticationFailed: withdraw()
    case .identified(let identification, let verdict): handleIdentification(identification, verdict)
    case .identificationUpdated(let identification): self.identification = identification
    case .identificationCancelled: tell(.warning("the accessory took its identification back"))
    case .ready: handleReady()
    case .answerTimedOut(let step):
      tell(.warning("the accessory never answered: \(step == .authentication ? "authentication" : "identification")"))
    case .skipped(let skipped): tell(.warning(skipped.description))
    case .malformed(let text): tell(.warning(text))
    case .strayData(let session, let bytes):
      tell(.warning("\(bytes) bytes came for session \(session), which is not open: dropped"))
    default: break
    }
  }

  func connectionSessionEnded(_ session: Session, _ end: SessionEnd) {
    device.sessionEnded(session)
    tell(
      .sessionClose(
        id: Int(session.id), protocolName: session.protocolName, reason: end.description, read: session.bytesRead,
        written: session.bytesWritten))
  }

  func connectionEnded(_ end: ChannelEnd) {
    finish(end.description)
  }

  // MARK: Authentication

  private func handleCertificate(_ bytes: [UInt8]) {
    certificate = bytes
    let authenticator = device.settings.authenticator
    var sizes = CertificateSizes()
    sizes.whole = bytes.count
    sizes.serial = authenticator.certificateSerial(of: bytes)?.count ?? 0
    publication.certificateCame(sizes)
    do throws(AuthenticatorError) {
      challenge = try authenticator.challenge(for: bytes)
      connection.perform { $0.challenge(self.challenge, now: $1) }
    } catch {
      tell(.authentication("refused: \(error)"))
      connection.perform { $0.concludeAuthentication(accepted: false, now: $1) }
    }
  }

  private func handleResponse(_ response: [UInt8]) {
    switch device.settings.authenticator.judge(response: response, to: challenge, certificate: certificate) {
    case .accepted where refusesSignatures:
      tell(.authentication("refused: the signature is right, and refused on purpose"))
      connection.perform { $0.concludeAuthentication(accepted: false, now: $1) }
    case .accepted(let warnings):
      for warning in warnings { tell(.warning(warning)) }
      connection.perform { $0.concludeAuthentication(accepted: true, now: $1) }
    case .refused(let reason):
      tell(.authentication("refused: \(reason)"))
      connection.perform { $0.concludeAuthentication(accepted: false, now: $1) }
    }
  }

  // MARK: Identification and publication

  private func handleIdentification(_ identification: Identification, _ verdict: IdentificationJudge.Verdict) {
    for finding in verdict.warnings { tell(.warning("identification: \(finding)")) }
    for finding in verdict.errors { tell(.warning("identification refused: \(finding)")) }
    guard verdict.isAccepted else { return }
    self.identification = identification
    let names = identification.protocols.map(\.name).joined(separator: ", ")
    tell(.identification(names.isEmpty ? "no protocols" : names))
    for difference in announced?.differences(from: identification) ?? [] { tell(.warning(difference)) }
    if let action = publication.identified(identification, now: device.loop.now, ids: &device.ids) {
      device.perform(action)
    }
  }

  private func handleReady() {
    perform(publication.ready(now: device.loop.now, ids: &device.ids, random: &device.random))
  }

  private func publicationDeadlineCame() {
    perform(publication.handleTimeout(now: device.loop.now, ids: &device.ids, random: &device.random))
  }

  private func perform(_ actions: [PublicationMachine.Action]) {
    if let deadline = publication.deadline { timer?.arm(at: deadline) } else { timer?.cancel() }
    for action in actions { device.perform(action) }
  }

  private func withdraw() {
    identification = nil
    timer?.cancel()
    if let action = publication.gone() { device.perform(action) }
  }

  private func tell(_ kind: TimelineEvent.Kind) {
    let subject =
      published.map(TimelineEvent.Subject.init)
      ?? identification.map {
        .init(name: $0.name, serial: $0.serialNumber, protocols: $0.protocols.map(\.name))
      }
    device.tell(kind, subject)
  }
}

extension BenchCard {
  /// Where an identification says something else than this card: a sentence for each.
  func differences(from identification: Identification) -> [String] {
    func difference(_ what: String, _ said: String, _ is: String) -> String? {
      said == `is` ? nil : "its card says \(what) '\(said)', its identification '\(`is`)': the identification counts"
    }
    return [
      difference("name", name, identification.name),
      difference("serial number", serial, identification.serialNumber),
      difference("manufacturer", manufacturer, identification.manufacturer),
      difference("model", model, identification.model),
      difference(
        "protocols", protocols.joined(separator: ", "),
        identification.protocols.map(\.name).joined(separator: ", ")),
    ].compactMap(\.self)
  }
}
