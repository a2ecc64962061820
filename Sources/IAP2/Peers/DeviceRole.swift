/// The state that the device's role adds to ``PeerCore``: the settings and the accessory's progress.
public struct DeviceRole: PeerRole {
  /// A device's settings.
  public struct Settings: Hashable, Sendable {
    /// Whether authentication or identification comes first. Apple devices use both orders. The device can publish an
    /// accessory early only if the name arrives before the certificate.
    public enum Order: Hashable, Sendable {
      case authenticationFirst
      case identificationFirst
    }

    /// The link's settings.
    public var link = LinkSettings.device
    /// The order of authentication and identification.
    public var order = Order.authenticationFirst
    /// Whether the accessory is asked to authenticate. Some hosts never ask, and start identification as soon as the
    /// link is up.
    public var asksForAuthentication = true
    /// How identifications are checked.
    public var judge = IdentificationJudge.strict
    /// How long to wait for the accessory's first answer before trying the other startup order, if possible. If nil,
    /// `answerTimeout` applies.
    public var firstAnswerTimeout: Milliseconds?
    /// How long the accessory may take for each answer. iOS's limit is not public; a field report mentions 30 s.
    public var answerTimeout: Milliseconds = 30_000
    /// How long the first data of a session is delayed after EA00, unless the accessory confirms the session earlier
    /// with EA03. Some accessories lose bytes that arrive in the same read as EA00.
    public var firstWriteDelay: Milliseconds = 0
    /// The number of the first session. The device may choose any number; 1 is the most common.
    public var firstSession: UInt16 = 1

    /// Creates the default settings.
    public init() {}
  }

  /// A step in which the device requests something from the accessory.
  public enum Step: Hashable, Sendable {
    case authentication
    case identification
  }

  /// How far the accessory got on a link that ended before the accessory was ready.
  public struct Unfinished: Hashable, Sendable {
    /// The last authentication or identification message that the device sent or received.
    public let last: MessageID
    /// The first step on the link, if the accessory did not answer it and the other startup order had not been tried.
    public let ignoredStep: Step?
  }

  /// How far the accessory has progressed. The accessory's answer is due at ``PeerCore/answerDeadline``.
  enum Progress: Equatable {
    case linkDown
    case asking(Step, remaining: Step?)
    case ready
    case refused
  }

  /// How far authentication has progressed. The owner turns a certificate (AA01) into a challenge (AA02), and answers a
  /// response (AA03) with AA05 or AA04.
  enum Authentication: Equatable {
    case idle
    case awaitingCertificate
    case awaitingChallenge
    case awaitingResponse
    case awaitingVerdict
    case over
  }

  /// How a session reaches the accessory.
  public enum SessionRoute: Equatable, Sendable {
    /// The link carries the session, which has this number.
    case link(UInt16)
    /// The native channel of this transport component carries the session.
    case native(component: UInt16)
  }

  final class SharedSettings {
    let value: Settings

    init(_ value: Settings) { self.value = value }
  }

  /// The number of rejected identifications after which the device stops listening. One Apple device was observed to
  /// stop after the second rejection.
  static let rejectionLimit = 2

  private let shared: SharedSettings
  var settings: Settings { shared.value }
  let memory: IdentificationMemory?
  var accepted: JudgedIdentification?
  var progress = Progress.linkDown
  /// The link that `progress` refers to. The link is recorded because a single read may end one link and establish the
  /// next.
  var followedLink = 0
  var authentication = Authentication.idle
  var order: Settings.Order
  var firstAnswerTimeout: Milliseconds?
  var answerTimeout: Milliseconds
  /// How far the accessory got on the last link, if that link ended before the accessory was ready.
  var unfinished: Unfinished?
  var rejections = 0
  var nextSession: UInt16

  init(settings: Settings, memory: IdentificationMemory?) {
    shared = memory?.shared(settings) ?? SharedSettings(settings)
    self.memory = memory
    order = settings.order
    (firstAnswerTimeout, answerTimeout) = (settings.firstAnswerTimeout, settings.answerTimeout)
    nextSession = settings.firstSession
  }

  /// Processes received bytes and answers the control messages in them.
  @inlinable
  public static func receive(_ bytes: RawSpan, _ peer: inout DevicePeer, now: Instant) {
    if peer.core.takes(bytes) { return }
    workThrough(bytes, &peer, now: now)
  }

  @usableFromInline
  static func workThrough(_ bytes: RawSpan, _ peer: inout DevicePeer, now: Instant) {
    var offset = 0
    while true {
      let message = peer.core.advance(bytes, at: &offset, now: now)
      peer.followLink(now: now)
      guard let message else { break }
      peer.handle(message, now: now)
    }
    peer.core.endDelivery(now: now)
  }

  /// Handles all timeouts that have expired by `now`: ends dead links, and reports missing answers.
  public static func handleTimeout(_ peer: inout DevicePeer, now: Instant) {
    if peer.core.dropsCutPiece(now: now) { workThrough([UInt8]().span.bytes, &peer, now: now) }
    peer.core.handleTimeout(now: now)
    peer.followLink(now: now)
    guard let due = peer.core.answerDeadline, due <= now, case .asking(let step, _) = peer.role.progress else { return }
    peer.core.answerDeadline = nil
    peer.core.events.append(.answerTimedOut(step))
  }

  /// Ends every session and discards the accessory's answers, because the channel has ended.
  public static func stop(_ peer: inout DevicePeer, _ reason: String) {
    peer.core.stop(reason)
    peer.role.linkEnded()
  }

  mutating func linkEnded() {
    if progress != .linkDown { unfinished = unfinishedNow }
    progress = .linkDown
    accepted = nil
  }

  var unfinishedNow: Unfinished? {
    switch progress {
    case .linkDown: unfinished
    case .ready: nil
    case .refused:
      Unfinished(last: authentication == .over ? .authenticationFailed : .identificationRejected, ignoredStep: nil)
    case .asking(.identification, let remaining):
      rejections > 0
        ? Unfinished(last: .identificationRejected, ignoredStep: nil)
        : Unfinished(last: .startIdentification, ignoredStep: remaining == nil ? nil : .identification)
    case .asking(.authentication, let remaining):
      switch authentication {
      case .idle, .awaitingCertificate:
        Unfinished(last: .requestAuthenticationCertificate, ignoredStep: remaining == nil ? nil : .authentication)
      case .awaitingChallenge: Unfinished(last: .authenticationCertificate, ignoredStep: nil)
      case .awaitingResponse: Unfinished(last: .requestAuthenticationChallengeResponse, ignoredStep: nil)
      case .awaitingVerdict, .over: Unfinished(last: .authenticationResponse, ignoredStep: nil)
      }
    }
  }

  /// Returns what the device is waiting for while the link is up.
  public static func phase(of peer: inout DevicePeer) -> PeerPhase {
    peer.role.phase(isAnswerDue: peer.core.answerDeadline != nil)
  }

  func phase(isAnswerDue: Bool) -> PeerPhase {
    switch progress {
    case .linkDown: .owner
    case .asking where !isAnswerDue: .owner
    case .asking(.authentication, _): .authentication
    case .asking(.identification, _): .identification
    case .ready: .ready
    case .refused: .refused
    }
  }
}
