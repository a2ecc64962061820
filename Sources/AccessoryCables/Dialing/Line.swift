import AccessoryCore
import LinuxIO

/// Decides for one accessory that was found when to connect, wait, and give up.
///
/// ```
///            dial           connected            ended
///   idle ──────────▶ dialling ──────▶ connected ──────▶ lost ───────┐
///                     │   ▲                                         │ after a pause: dial
///                     │   └─────────────────────────────────────────┤
///                     ├── failed, may pass ─────────▶ waiting ──────┘
///                     └── failed permanently ───────▶ givenUp ──(the accessory changes)──▶ dialling
/// ```
///
/// A cable whose iAP2 link never came up counts as a failure: users see each such attempt as an attachment on both
/// ends, so the pauses grow. After a link that was up, or an attempt without an answer, the pause is the shortest.
///
/// Invariant: there is a deadline in `waiting` and `lost` only.
public struct Line: Equatable, Sendable {
  /// How far the way has come.
  public enum State: Equatable, Sendable {
    /// Nothing was tried yet.
    case idle
    /// Trying to connect.
    case dialling
    /// The cable is plugged in.
    case connected
    /// The last attempt failed; tries again at this time.
    case waiting(until: Instant)
    /// The last cable ended; connects again at this time.
    case lost(until: Instant)
    /// Nothing is tried until the accessory changes, because the reason does not pass by itself.
    case givenUp
  }

  /// How far the way has come.
  public private(set) var state = State.idle
  /// Why there was no cable, or none with a link, the last time.
  public private(set) var trouble: TransportError?
  private let pauses: RedialPauses
  private var pause: Duration

  /// A line on which nothing was tried yet.
  public init(pauses: RedialPauses) {
    self.pauses = pauses
    pause = pauses.shortest
  }

  /// The time of the next attempt.
  public var deadline: Instant? {
    switch state {
    case .waiting(let until), .lost(let until): until
    case .idle, .dialling, .connected, .givenUp: nil
    }
  }

  /// Asks for a cable now: the accessory is wanted, or has changed. Returns whether to begin an attempt.
  public mutating func dial() -> Bool {
    switch state {
    case .dialling, .connected: return false
    case .idle, .waiting, .lost, .givenUp:
      state = .dialling
      return true
    }
  }

  /// Asks for a cable at the deadline. Returns whether to begin an attempt.
  public mutating func handleTimeout(now: Instant) -> Bool {
    guard let deadline, deadline <= now else { return false }
    return dial()
  }

  /// The attempt brought a cable.
  public mutating func connected() {
    guard state == .dialling else { return }
    state = .connected
    trouble = nil
  }

  /// The attempt failed, or cannot be made. Returns whether the reason is news.
  public mutating func failed(_ reason: TransportError, now: Instant) -> Bool {
    let isNews = trouble != reason
    trouble = reason
    pause = pauses.shortest
    state = reason.mayPass ? .waiting(until: now + pause) : .givenUp
    return isNews
  }

  /// The cable ended. `reason` says why, where its link was never up.
  public mutating func ended(_ reason: TransportError?, now: Instant) {
    guard state == .connected else { return }
    trouble = reason
    pause = reason == nil ? pauses.shortest : min(pause * 2, pauses.longest)
    state = .lost(until: now + pause)
  }
}

/// How long to wait between two attempts at a cable.
public struct RedialPauses: Equatable, Sendable {
  /// After an attempt without an answer, and after a cable with a link.
  public var shortest: Duration
  /// At most, after cables without a link.
  public var longest: Duration

  /// Creates pauses.
  public init(shortest: Duration, longest: Duration) {
    self.shortest = shortest
    self.longest = longest
  }
}
