import AccessoryCore
import AccessoryFormats
import AccessoryProfiles
import AccessorySessions
import Certificates
import IAP2
import LinuxIO

/// The accessory's end of a cable. Handles authentication and sessions according to the profile and its quirks.
final class AccessoryAttachment: CableSide {
  static let otherEnd = "device"

  unowned let accessory: SimulatedAccessory
  let prepared: PreparedProfile
  let isWhole: Bool
  let connection: Connection<AccessoryRole>
  var files: FileTransfers?
  private(set) var isIdentified = false
  private var isAuthenticated = false
  private let answersAuthentication: Bool
  // Exclusivity is not checked for what every attachment clears; while it changes, no other code uses it.
  /// Sends the accessory's automatic messages. If there are no automatic messages, the player is nil.
  @exclusivity(unchecked) var player: MessagePlayer?
  @exclusivity(unchecked) private var timers: [LoopTimer] = []
  private var staleBytes: StaleBytes?
  /// Open native channels that the accessory deliberately leaves unanswered.
  @exclusivity(unchecked) private var ignoredChannels: [any Channel] = []
  @exclusivity(unchecked) var warnings: ReportLimit?
  private var declarations = DeclarationWatch()

  /// Creates an attachment of `accessory`. The accessory must outlive the attachment.
  init(
    of accessory: SimulatedAccessory, prepared: PreparedProfile, cable: Cable, link: consuming LinkSettings,
    handshakeTimeouts: HandshakeTimeouts,
    isWhole: Bool, answersAuthentication: Bool, on loop: any EventLoop
  ) {
    self.accessory = accessory
    self.prepared = prepared
    self.isWhole = isWhole
    self.answersAuthentication = answersAuthentication
    staleBytes = prepared.profile.quirks.staleBytes.map(StaleBytes.init(limit:))
    if let longest = cable.main.longestTransfer { link.parameters = link.parameters.fitting(frames: longest) }
    var peer = AccessoryPeer(
      identification: prepared.identification(isWhole: isWhole, hasNativeChannels: cable.hasNativeChannels),
      settings: link)
    peer.identifiesAtOnce = prepared.profile.quirks.identification == nil
    peer.core.reportsMessages = accessory.reportsMessages
    if isWhole, !prepared.rules.isEmpty { peer.core.heardMessages = prepared.heardMessages }
    connection = Connection(peer: peer, cable: cable, handshakeTimeouts: handshakeTimeouts, on: loop)
  }

  func start() {
    let beside = prepared.besideTheLink
    if isWhole, !beside.isEmpty, !connection.cable.hasNativeChannels {
      log(
        .warning(
          "\(beside.joined(separator: ", ")): sessions use the link instead of native transport, because this cable "
            + "has no native channels"))
    }
    if !beside.isEmpty {
      connection.cable.onNativeChannel { [weak self] name, channel in
        if let self { nativeChannelOpened(channel, name) } else { channel.close() }
      }
    }
    connection.start(self)
  }

  func close(_ reason: @autoclosure () -> String) {
    cleanUp()
    connection.close(reason())
    warnings?.flush()
  }

  /// Stops answering in the sessions of this attachment. On the device, the sessions stay open.
  func forgetSessions() {
    for session in connection.forgetSessions() { accessory.log(.note("session \(session.id): forgotten")) }
  }

  /// Runs `work` after a delay, unless this attachment is gone by then. The timer must not retain the attachment.
  private func later(_ delay: Duration, _ work: @escaping (AccessoryAttachment) -> Void) {
    timers.removeAll { $0.deadline == nil }
    timers.append(connection.loop.schedule(after: delay) { [weak self] in if let self { work(self) } })
  }

  // MARK: The connection

  func connectionTold(_ event: PeerEvent) {
    switch event {
    case .linkUp: log(.link(isUp: true, "up"))
    case .linkDown(let end):
      (isIdentified, isAuthenticated) = (false, false)
      stopMessages()
      log(.link(isUp: false, end.description))
    case .certificateRequested: answerAuthentication(nil)
    case .challenged(let challenge): answerChallenge(challenge)
    case .authenticationSucceeded:
      isAuthenticated = true
      log(.authentication(.accepted))
      noteProgress()
    case .authenticationFailed: log(.authentication(.refusedByDevice))
    case .identificationRequested: identifyLate()
    case .identificationAccepted:
      isIdentified = true
      log(.identification("accepted by the device"))
      beginRules()
      noteProgress()
    case .identificationRejected(let refused):
      let list = refused.keys.sorted().map(String.init).joined(separator: ", ")
      log(.warning("the device refused the identification: parameters \(list)"))
    case .sessionRequested(let id, let protocolID): openSession(id, protocolID)
    case .passed(let passed): handlePassing(passed)
    case .fileTransfer(let packet): transfers?.receive(packet)
    default: if let warning = event.warning { warn(warning) }
    }
  }

  func connectionSessionEnded(_ session: Session, _ end: SessionEnd) {
    let reason = end == .closedByAccessory ? session.closingReason.map { "\(end): \($0)" } : nil
    log(.closed(session, reason: reason ?? end.description))
  }

  func connectionEnded(_ end: ChannelEnd) {
    cleanUp()
    accessory.deviceLeft(.note("the device left: \(end)"))
  }

  func connectionGaveUp(_ silence: Silence) {
    cleanUp()
    accessory.deviceLeft(.warning("closed the cable: \(silence.sentence(about: "the device"))"))
  }

  private func cleanUp() {
    for timer in timers { timer.cancel() }
    timers.removeAll()
    player?.stop()
    player = nil
    for channel in ignoredChannels { channel.close() }
    ignoredChannels = []
    warnings?.flush()
  }

  var epoch: UInt64 { accessory.epoch }
  var keepFile: FileTransfers.Keeper? { accessory.keepFile }

  func log(_ kind: consuming TimelineEvent.Kind) {
    accessory.log(kind)
  }

  private func noteProgress() {
    if isIdentified, isAuthenticated || !answersAuthentication { accessory.deviceIsDone() }
  }

  // MARK: Authentication and identification

  /// Sends the response to a challenge, or the certificate if there is none.
  private func answerAuthentication(_ response: [UInt8]?) {
    guard answersAuthentication else {
      // A device that starts authentication before identification gets stuck here.
      log(.authentication(.unanswered))
      accessory.deviceIsDone()
      return
    }
    guard let quirk = prepared.profile.quirks.authentication else { return send(response) }
    switch quirk.answer {
    case .never: log(.authentication(.unanswered))
    case .slow: later(quirk.delay) { $0.send(response) }
    case .ignoreFirst where !isIdentified: log(.authentication(.unanswered))
    case .hangup where !isIdentified:
      later(.zero) {
        let reason = "the device requested authentication before identification"
        $0.close(reason)
        $0.accessory.deviceLeft(.note("the device left: hung up, because \(reason)"))
      }
    case .refuse, .wrong, .ignoreFirst, .hangup: send(response)
    }
  }

  private func send(_ response: [UInt8]?) {
    connection.perform { peer, _ in
      if let response { return peer.provideResponse(response) }
      peer.provideCertificate(accessory.authenticator.certificate)
    }
  }

  private func answerChallenge(_ challenge: [UInt8]) {
    let authenticator = accessory.authenticator
    guard authenticator.isSlow else {
      return take(Result { () throws(AuthenticatorError) in try authenticator.respond(to: challenge) })
    }
    let loop = connection.loop
    let owner = LoopBound(Weak(self), on: loop)
    let link = linkNumber
    do throws(SystemError) {
      try Worker.start {
        let result = Result { () throws(AuthenticatorError) in try authenticator.respond(to: challenge) }
        loop.execute {
          // An answer to a challenge from one link must not be sent on another link.
          guard let owner = owner.value.object, owner.linkNumber == link else { return }
          owner.take(result)
        }
      }
    } catch {
      log(.warning("the challenge cannot be answered: \(error)"))
    }
  }

  private var linkNumber: Int { connection.inspect { $0.core.counters.establishments } }

  private func take(_ result: Result<[UInt8], AuthenticatorError>) {
    switch result {
    case .success(var response):
      if prepared.profile.quirks.authentication?.answer == .wrong, !response.isEmpty {
        response[response.count - 1] ^= 1
      }
      answerAuthentication(response)
    case .failure(let error): log(.warning("the challenge cannot be answered: \(error)"))
    }
  }

  private func identifyLate() {
    guard let quirk = prepared.profile.quirks.identification, quirk.answer == .slow else {
      log(.identification("left unanswered"))
      return
    }
    later(quirk.delay) {
      $0.connection.perform { peer, _ in peer.identify(as: peer.identification) }
    }
  }

  // MARK: Messages

  /// Starts the rules in the profile once the device has accepted the identification.
  private func beginRules() {
    guard isWhole, !prepared.rules.isEmpty else { return }
    let player = player ?? makePlayer(prepared.rules)
    self.player = player
    player.begin(declared: nil)
    player.connected()
  }

  /// Logs a control message that was sent or received, and passes received messages to the rules.
  private func handlePassing(_ passed: PassedMessage) {
    if accessory.reportsMessages { log(.message(passed)) }
    guard passed.direction == .received else { return }
    if accessory.reportsMessages {
      let declared = connection.inspect { $0.identification.messagesReceived }
      if let text = declarations.warning(about: passed.message.id, sentByDevice: declared) { warn(text) }
    }
    applyRules(to: passed.message)
  }

  // MARK: Sessions

  private enum Admission {
    case refused
    case ignored
    case opened(OddSession?)
  }

  private func admit(_ session: String, on name: String) -> Admission {
    if let why = accessory.sessionQuirks?.silenceForNewSession() {
      log(.warning("\(session) on \(name) gets no answer: \(why)"))
      return .ignored
    }
    let trouble = accessory.sessionQuirks?.troubleForNewSession()
    switch trouble?.answer {
    case .refuse:
      log(.warning("\(session) on \(name) was refused because of the session quirk"))
      return .refused
    case .ignore:
      log(.warning("\(session) on \(name) was ignored because of the session quirk"))
      return .ignored
    case nil, .silent, .close, .detach: return .opened(trouble)
    }
  }

  private func openSession(_ id: UInt16, _ protocolID: UInt8) {
    guard isWhole, let entry = prepared.profile.protocols.first(where: { $0.id == protocolID }) else {
      log(.warning("the device asked for session \(id) on protocol \(protocolID), which is not offered: refused"))
      connection.refuseSession(id)
      return
    }
    switch admit("session \(id)", on: entry.name) {
    case .refused: connection.refuseSession(id)
    case .ignored: connection.ignoreSession(id)
    case .opened(let trouble):
      let session = connection.acceptSession(
        id, protocolName: entry.name, reportingStatus: prepared.reportsSessionStatus)
      play(session, entry, trouble)
    }
  }

  /// Handles a session that the device started only by opening a native channel.
  private func nativeChannelOpened(_ channel: any Channel, _ name: String) {
    guard isWhole, let entry = prepared.profile.protocols.first(where: { $0.name == name }) else {
      log(.warning("the device opened the native transport of \(name), which is not offered: refused"))
      return channel.close()
    }
    switch admit("a session", on: name) {
    case .refused: channel.close()
    case .ignored: ignoredChannels.append(channel)
    case .opened(let trouble): play(connection.acceptNativeSession(channel, protocolName: name), entry, trouble)
    }
  }

  private func play(_ session: Session, _ entry: Profile.SessionProtocol, _ trouble: OddSession?) {
    log(.sessionOpen(id: Int(session.id), protocolName: entry.name))
    guard session.isOpen else { return }
    accessory.sessionQuirks?.opened(session)
    sendStaleBytes(on: session)
    let played = trouble?.answer == .silent ? SinkBehavior() : accessory.behavior(prepared.profile.behavior(of: entry))
    session.handler = played.makeHandler(for: session, in: context(of: session))
    accessory.sessionQuirks?.began(session)
    guard let trouble else { return }
    switch trouble.answer {
    case .close: later(trouble.delay) { _ in session.close() }
    case .detach: later(trouble.delay) { $0.accessory.unplug("because of the session quirk") }
    case .refuse, .ignore, .silent: break
    }
  }
}

extension AccessoryAttachment {
  /// Returns the context for a session's behavior. Events that the behavior reports get the session's number.
  private func context(of session: Session) -> BehaviorContext {
    let id = session.id
    return BehaviorContext(
      loop: connection.loop, programs: accessory.programs, scripts: accessory.scripts
    ) { [unowned accessory] report in
      switch report {
      case .note(let text): accessory.log(.note("session \(id): \(text)"))
      case .warning(let text): accessory.log(.warning("session \(id): \(text)"))
      default: accessory.log(report)
      }
    }
  }

  private func sendStaleBytes(on session: Session) {
    guard let bytes = staleBytes?.take() else { return }
    if !bytes.isEmpty {
      let count = session.write(bytes.span.bytes)
      log(
        .warning(
          "session \(session.id) begins with \(count) bytes of the previous session because of the stale-bytes quirk"))
    }
    session.writeObserver = { [weak self] in self?.staleBytes?.keep($0) }
  }
}
