import AccessoryCore
import AccessoryFormats
import IAP2

/// How long the other side of a cable may be silent, depending on the step that it must take next. When a limit
/// expires, the cable is closed, so that another host or accessory can take the silent side's place.
///
/// On a cable whose two ends are fixed (``Cable/isDedicated``), the limits apply only on request, because no other
/// device is waiting for the cable.
public struct HandshakeTimeouts: Equatable, Sendable {
  /// How long the other side may take to answer detection, or to disconnect after detection has failed. If nil, there
  /// is no limit.
  public var detection: Duration?
  /// The limit for agreeing on a link once detection has been answered.
  public var link: Duration?
  /// The limit for authentication messages.
  public var authentication: Duration?
  /// The limit for identification messages.
  public var identification: Duration?
  /// How long the other side may take to disconnect or try again after this side has refused it.
  public var refusal: Duration?

  /// Whether the limits also apply to cables whose two ends are fixed.
  public var coversDedicated = false

  /// The default limit. According to a field report, iOS waits this long for an answer.
  public static let usual = Duration.seconds(30)

  /// Creates timeouts with the same limit for each step; nil means no limit. The limit after a refusal is ten times as
  /// long, to give the user time to read the result.
  public init(_ limit: Duration? = HandshakeTimeouts.usual) {
    (detection, link, authentication, identification) = (limit, limit, limit, limit)
    refusal = limit.map { $0 * 10 }
  }

  /// Creates timeouts with the same limit for each step; zero means no limit.
  public init(each limit: Duration) { self.init(limit == .zero ? nil : limit) }

  /// No limit at all.
  public static let unlimited = HandshakeTimeouts(nil)

  /// The limits for a device. For answers to its own requests, a device has separate limits; see
  /// `DevicePeer.Settings.answerTimeout`. A refused accessory may stay connected, because a real device would not
  /// disconnect it either.
  public static let ofDevice: HandshakeTimeouts = {
    var handshakeTimeouts = HandshakeTimeouts()
    (handshakeTimeouts.authentication, handshakeTimeouts.identification, handshakeTimeouts.refusal) = (nil, nil, nil)
    return handshakeTimeouts
  }()

  /// Returns the limit for a phase, or nil if nothing is expected from the other side.
  public func limit(of phase: PeerPhase) -> Duration? {
    switch phase {
    case .detection, .stopped: detection
    case .synchronization: link
    case .authentication: authentication
    case .identification: identification
    case .refused: refusal
    case .owner, .ready: nil
    }
  }
}

/// Describes a period in which the other side was silent for too long.
public struct Silence: Equatable, Sendable {
  /// The phase that took too long.
  public let phase: PeerPhase
  /// How long the other side was allowed to be silent.
  public let limit: Duration

  /// Returns a sentence fragment that starts with `other`, such as "the device did not take part in detection within 30
  /// s".
  public func sentence(about other: String) -> String {
    "\(other) did not \(missing) within \(DurationText.format(limit))"
  }

  private var missing: String {
    switch phase {
    case .detection: "take part in detection"
    case .stopped: "disconnect after detection had failed"
    case .synchronization: "agree on a link"
    case .authentication: "finish authentication"
    case .identification: "finish identification"
    case .refused: "leave after its refusal"
    case .owner, .ready: "answer"
    }
  }
}

/// Measures how long a phase lasts.
///
/// ```
///   detection ──▶ synchronization ──▶ authentication ⇄ identification ──▶ ready
///       ▲                                      │
///       └────────── the link went down ────────┘
/// ```
///
/// Detection and synchronization count as one phase, so that a peer that keeps answering detection but never agrees on
/// a link gets no extra time.
///
/// Invariant: there is a deadline only in a phase that has a limit.
struct PhaseClock {
  private let handshakeTimeouts: HandshakeTimeouts
  private(set) var phase = PeerPhase.stopped
  private(set) var deadline: Instant?

  init(_ handshakeTimeouts: HandshakeTimeouts) {
    self.handshakeTimeouts = handshakeTimeouts
  }

  mutating func note(_ next: PeerPhase, now: Instant) {
    guard next != phase, !(next.isBeforeLink && phase.isBeforeLink) else { return }
    begin(next, now: now)
  }

  /// Handles the deadline. Returns the phase that took too long and its limit, or nil if the other side was not silent
  /// for too long.
  mutating func handleTimeout(_ current: PeerPhase, now: Instant) -> Silence? {
    guard let due = deadline, due <= now else { return nil }
    // No event reports the change from detection to synchronization, which has its own limit.
    if phase == .detection, current == .synchronization {
      begin(current, now: now)
      return nil
    }
    deadline = nil
    return handshakeTimeouts.limit(of: phase).map { Silence(phase: phase, limit: $0) }
  }

  private mutating func begin(_ next: PeerPhase, now: Instant) {
    phase = next
    deadline = handshakeTimeouts.limit(of: next).map { now + $0 }
  }
}
