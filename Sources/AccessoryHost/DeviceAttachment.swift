import AccessoryCables
import AccessoryCore
import AccessorySessions
import Certificates
import IAP2

/// The device's side of one cable. Identification and authentication are handled by state machines in the peer, and
/// publication by a state machine in this class.
final class DeviceAttachment: CableSide {
  static let otherEnd = "accessory"
  unowned let device: Device
  private let place: String
  private let key: String
  private let refusesSignatures: Bool
  private let ended: (CableOutcome) -> Void
  let connection: Connection<DeviceRole>
  /// The file transfers on the link, or nil until the first transfer.
  var files: FileTransfers?
  /// The identifier of the most recently offered artwork file.
  var offered: UInt8?
  // Exclusivity checking is off for speed, because every event uses these properties. No other code runs while these
  // properties are read or written.
  @exclusivity(unchecked) private var publication: PublicationMachine
  @exclusivity(unchecked) private var shown: TimelineEvent.Subject?
  @exclusivity(unchecked) private(set) var identified: TimelineEvent.Subject?
  /// The object that applies the device's message rules, or nil if none of them applies to this accessory.
  @exclusivity(unchecked) var player: MessagePlayer?
  private let worldNumber: Int?
  @exclusivity(unchecked) private var timer: LoopTimer?
  @exclusivity(unchecked) private var linkWasUp = false
  @exclusivity(unchecked) private var wasReady = false
  private var legacyFrames = 0
  private var certificate: [UInt8] = []
  private var challenge: [UInt8] = []
  var warnings: ReportLimit?
  var declarations = DeclarationWatch()
  private var watch = LineWatch()
  private var watchTimer: LoopTimer?

  init(
    cable: Cable, place: String, key: String, refusesSignatures: Bool, worldNumber: Int?, device: Device,
    ended: @escaping (CableOutcome) -> Void
  ) {
    self.device = device
    (self.place, self.key) = (place, key)
    self.refusesSignatures = refusesSignatures
    self.worldNumber = worldNumber
    self.ended = ended
    var settings = device.peerSettings
    if device.findsOrder {
      let next = device.orders.next(at: key)
      settings.order = next.order
      settings.firstAnswerTimeout = next.isLast ? nil : device.settings.firstAnswerTimeout
    }
    if let longest = cable.main.longestTransfer {
      settings.link.parameters = settings.link.parameters.fitting(frames: longest)
    }
    var peer = DevicePeer(settings: settings, memory: device.memory)
    peer.core.reportsMessages = device.settings.reportsMessages
    connection = Connection(
      peer: peer, cable: cable, handshakeTimeouts: device.settings.handshakeTimeouts, on: device.loop)
    publication = PublicationMachine(policy: device.settings.policy, flicker: device.settings.flicker)
  }

  var published: PublishedAccessory? { publication.current }

  var linkCounters: LinkCounters { connection.inspect { $0.core.counters } }

  func start() {
    log(.attach(place))
    connection.start(self)
    if device.watchesLines {
      connection.linkMoved = { [unowned self] in watchLineSoon() }
      lookAtLine()
    }
  }

  /// Schedules the next check of the line, unless the line is idle. An idle session therefore causes no wake-ups.
  private func watchLineSoon() {
    guard watchTimer == nil else { return }
    watchTimer = device.loop.schedule(after: .seconds(1)) { [unowned self] in
      watchTimer = nil
      lookAtLine()
    }
  }

  private func lookAtLine() {
    for sentence in watch.look(at: connection.inspect { $0.lineState }, now: device.loop.now) {
      log(.warning(sentence))
    }
    if !watch.isIdle { watchLineSoon() }
  }

  func close(_ reason: String) {
    connection.close(reason)
    finish(reason)
  }

  func resetLink(ifSerialIs serial: String) {
    guard identified?.serial == serial else { return }
    log(.fault("the device resets the link"))
    connection.perform { $0.resetLink(now: $1) }
    withdraw()
  }

  func openSession(_ protocolName: String) throws(SessionRefusal) -> Session {
    let session = try connection.openSession(protocolName)
    log(.sessionOpen(id: Int(session.id), protocolName: protocolName))
    return session
  }

  private func finish(_ reason: String) {
    warnings?.flush()
    watchTimer?.cancel()
    if device.watchesLines {
      for sentence in watch.finish(connection.inspect { $0.lineState }) { log(.warning(sentence)) }
    }
    if let action = publication.gone() { perform(action) }
    player?.stop()
    player = nil
    timer?.cancel()
    timer = nil
    log(.detach(reason))
    device.forget(self)
    ended(CableOutcome(reason: reason, linkWasUp: linkWasUp, unfinishedAt: wasReady ? nil : lastMessage?.description))
  }

  // MARK: Connection

  func connectionTold(_ event: PeerEvent) {
    switch event {
    case .linkUp(let agreement):
      linkWasUp = true
      log(.link(isUp: true, device.terms(of: agreement)))
    case .linkDown(let end):
      log(.link(isUp: false, end.description))
      withdraw()
      // If the link restarted during a single read, the first message has already been sent on the new link.
      if end != .restarted { tryOtherOrder(after: "the link ended") }
      if case .unusable(let error) = end { log(.refused(.synchronization(error))) }
    case .certificateReceived(let bytes): handleCertificate(bytes)
    case .responseReceived(let response): handleResponse(response)
    case .authenticationSucceeded: log(.authentication(.succeeded))
    case .authenticationFailed: withdraw()
    case .identified(let judged): handleIdentification(judged)
    case .identificationUpdated(let identification): identified = .init(JudgedIdentification(identification))
    case .identificationCancelled: log(.warning("the accessory cancelled its identification"))
    case .ready: handleReady()
    case .answerTimedOut(let step):
      if tryOtherOrder(after: "the accessory did not answer") { return connection.perform { $0.resetLink(now: $1) } }
      log(.warning("the accessory never answered: \(step == .authentication ? "authentication" : "identification")"))
      log(.refused(.unanswered(step)))
    case .legacyFrame(let frame): handleLegacy(frame)
    case .passed(let passed): handlePassing(passed)
    case .appLaunchRequested(let request): handleLaunch(request)
    case .fileTransfer(let packet): transfers?.receive(packet)
    default: if let warning = event.warning { warn(warning) }
    }
  }

  func connectionSessionEnded(_ session: Session, _ end: SessionEnd) {
    device.sessionEnded(session)
    log(.closed(session, reason: end.description))
  }

  func connectionEnded(_ end: ChannelEnd) {
    tryOtherOrder(after: end.description)
    finish(end.description)
  }

  func connectionGaveUp(_ silence: Silence) {
    if !linkWasUp { log(.refused(.silent(silence))) }
    finish("closed the cable: \(silence.sentence(about: "the accessory"))")
  }

  var phase: PeerPhase { connection.phase }
  var epoch: UInt64 { device.settings.epoch }
  var keepFile: FileTransfers.Keeper? { device.settings.keepFile }

  // MARK: Trying the other order

  private var lastMessage: MessageID? { connection.inspect { $0.unfinished?.last } }

  /// If the accessory did not answer the first message, reverses the order of authentication and identification for the
  /// next link, unless both have been tried. `event` describes how the device noticed that there was no answer.
  @discardableResult
  private func tryOtherOrder(after event: String) -> Bool {
    guard device.findsOrder, let unfinished = connection.inspect({ $0.unfinished }),
      unfinished.ignoredStep != nil, let other = device.orders.ignored(at: key)
    else { return false }
    connection.perform { peer, _ in peer.begin(with: other) }
    log(.warning("\(event) after \(unfinished.last); from now on, easim requests identification first (1D00)"))
    return true
  }

  // MARK: Authentication

  private func handleCertificate(_ bytes: [UInt8]) {
    certificate = bytes
    let authenticator = device.authenticator
    var sizes = CertificateSizes()
    sizes.whole = bytes.count
    sizes.serial = authenticator.certificateSerial(of: bytes)?.count ?? 0
    publication.certificateCame(sizes)
    do throws(AuthenticatorError) {
      challenge = try authenticator.challenge(for: bytes)
      connection.perform { $0.challenge(self.challenge, now: $1) }
    } catch {
      refuse(.certificate("\(error)"))
    }
  }

  private func handleResponse(_ response: [UInt8]) {
    // A new certificate will precede the next response, so the current challenge and certificate are no longer needed.
    defer { (challenge, certificate) = ([], []) }
    switch device.authenticator.judge(response: response, to: challenge, certificate: certificate) {
    case .accepted where refusesSignatures:
      refuse(.onPurpose)
    case .accepted(let warnings):
      for warning in warnings { log(.warning(warning)) }
      connection.perform { $0.concludeAuthentication(accepted: true, now: $1) }
    case .refused(let reason): refuse(.signature("\(reason)"))
    }
  }

  private func refuse(_ reason: TimelineEvent.Authentication.Refusal) {
    log(.authentication(.refused(reason)))
    connection.perform { $0.concludeAuthentication(accepted: false, now: $1) }
    log(.refused(.authentication(reason.description)))
  }

  /// Handles an iAP1 frame. A single frame might be noise, or a greeting from an accessory that tries both iAP1 and
  /// iAP2.
  private func handleLegacy(_ frame: [UInt8]) {
    if let warning = PeerEvent.legacyFrame(frame).warning { warn(warning) }
    legacyFrames += 1
    if legacyFrames == 2, !linkWasUp { log(.refused(.legacyAccessory(frame: frame))) }
  }

  // MARK: Identification and publication

  private func handleIdentification(_ judged: JudgedIdentification) {
    for finding in judged.verdict.warnings { log(.warning("identification: \(finding)")) }
    for finding in judged.verdict.errors { log(.warning("identification refused: \(finding)")) }
    guard judged.verdict.isAccepted else { return log(.refused(.identification(judged.verdict.errors))) }
    let identified = TimelineEvent.Subject(judged)
    self.identified = identified
    let names = identified.protocols.joined(separator: ", ")
    log(.identification(names.isEmpty ? "no protocols" : names))
    beginRules(declared: judged.identification.messagesReceived)
    if let action = publication.identified(judged, now: device.loop.now, ids: &device.ids) { perform(action) }
  }

  private func handleReady() {
    wasReady = true
    device.orders.ready(at: key)
    player?.connected()
    perform(publication.ready(now: device.loop.now, ids: &device.ids, random: &device.random))
  }

  private func perform(_ actions: [AccessoryNotice]) {
    if let deadline = publication.deadline { armTimer(at: deadline) } else { timer?.cancel() }
    for action in actions { perform(action) }
  }

  /// Arms the timer. The timer is created on demand because only a device that causes flickers needs it.
  private func armTimer(at deadline: Instant) {
    let timer =
      timer
      ?? device.loop.makeTimer { [unowned self] in
        perform(publication.handleTimeout(now: device.loop.now, ids: &device.ids, random: &device.random))
      }
    self.timer = timer
    timer.arm(at: deadline)
  }

  private func withdraw() {
    identified = nil
    stopMessages()
    timer?.cancel()
    if let action = publication.gone() { perform(action) }
  }

  private func perform(_ action: AccessoryNotice) {
    let accessory = action.accessory
    if shown?.connectionID != accessory.connectionID { shown = .init(accessory) }
    if let shown { device.perform(action, shown, worldNumber: worldNumber) }
  }

  func log(_ kind: consuming TimelineEvent.Kind) {
    device.log(kind, subject, worldNumber: worldNumber)
  }

  /// The accessory that an event concerns: the published one or, if none is published, the identified one.
  private var subject: TimelineEvent.Subject? {
    if let shown, shown.connectionID == published?.connectionID { return shown }
    return published.map(TimelineEvent.Subject.init) ?? identified
  }
}

// File transfers, messages sent by the device's rules, and other messages that do not belong to identification or
// sessions.
extension DeviceAttachment {
  /// Once this accessory's identification has been accepted, starts the rules that apply to it. A rule may send a
  /// message immediately.
  func beginRules(declared: [MessageID]) {
    guard player != nil || MessageRules.concern(device.rules, declared: declared) else { return }
    if player == nil {
      player = makePlayer(device.rules)
      connection.perform { [device] peer, _ in peer.core.heardMessages = device.heardMessages }
    }
    player?.begin(declared: declared)
  }

  /// Adds a sent or received message to the timeline and applies the rules to it.
  func handlePassing(_ passed: PassedMessage) {
    let isShown = device.settings.reportsMessages
    if isShown { log(.message(passed)) }
    guard passed.direction == .received else { return }
    let message = passed.message
    if isShown {
      let declared = connection.inspect { $0.identification?.messagesSent }
      if let text = declarations.warning(about: message.id, sentByAccessory: declared) { warn(text) }
    }
    if message.id == .startNowPlayingUpdates, let player { offerArtwork(message, player) }
    applyRules(to: message)
  }

  /// Sends a message if the accessory is identified and has this serial number; nil stands for any serial number.
  func send(_ id: MessageID, _ parameters: [MessageRule.Element], ifSerialIs serial: String?) -> Bool {
    guard let identified, serial == nil || serial == identified.serial else { return false }
    return send(id, parameters)
  }

  func handleLaunch(_ request: AppLaunchRequest) {
    log(
      .note(
        "the accessory asks to launch the app \(request.bundleID)\(request.withAlert ? ", after asking the user" : "")")
    )
    device.launchRequested(request)
  }

  /// If the accessory asks for the current track's artwork, starts the file transfer before sending the update that
  /// refers to the file.
  private func offerArtwork(_ message: ControlMessage, _ player: MessagePlayer) {
    if let offered, files?.isUnderWay(offered) == true { return }
    guard let artwork = device.settings.artwork, let parameters = try? ParameterReader.read(message.body),
      let item = try? parameters.first(0)?.group(), item.first(26) != nil,
      let id = transfers?.begin(artwork, type: 2)
    else { return }
    offered = id
    _ = player.change(.nowPlayingUpdate, [.init(0, .group([.init(26, .bytes([id]))]))])
  }
}
