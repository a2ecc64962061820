import AccessoryCore
import LinuxIO

/// Decides when to connect to an accessory, when to wait, and when to give up.
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
/// A cable whose accessory never became ready counts as a failure. Users at both ends see each failed cable as an
/// attachment, so the pauses between attempts grow longer. The pause is shortest after an attempt that got no answer,
/// and after a cable whose accessory became ready.
///
/// Invariant: only `waiting` and `lost` have a deadline.
struct Line: Equatable, Sendable {
  enum State: Equatable, Sendable {
    case idle
    case dialling
    case connected
    /// The last attempt failed, and the line tries again at this time.
    case waiting(until: Instant)
    /// The last cable ended, and the line connects again at this time.
    case lost(until: Instant)
    /// The problem is permanent, so the line waits for the accessory to change.
    case givenUp
  }

  private(set) var state = State.idle
  /// Why the last attempt failed. An attempt whose accessory never became ready counts as failed.
  private(set) var trouble: TransportError?
  private let pauses: RedialPauses
  private var pause: Duration

  init(pauses: RedialPauses) {
    self.pauses = pauses
    pause = pauses.shortest
  }

  var deadline: Instant? {
    switch state {
    case .waiting(let until), .lost(let until): until
    case .idle, .dialling, .connected, .givenUp: nil
    }
  }

  /// Requests a cable for a new or changed accessory. Returns true if an attempt should start now.
  mutating func dial() -> Bool {
    switch state {
    case .dialling, .connected: return false
    case .idle, .waiting, .lost, .givenUp:
      state = .dialling
      return true
    }
  }

  /// Requests a cable if the deadline has passed. Returns true if an attempt should start now.
  mutating func handleTimeout(now: Instant) -> Bool {
    guard let deadline, deadline <= now else { return false }
    return dial()
  }

  /// Records that the attempt opened a cable.
  mutating func connected() {
    guard state == .dialling else { return }
    state = .connected
    trouble = nil
  }

  /// Records that the attempt failed or could not be made. Returns true if the reason is new.
  mutating func failed(_ reason: TransportError, now: Instant) -> Bool {
    let isNews = trouble != reason
    trouble = reason
    pause = pauses.shortest
    state = reason.mayPass ? .waiting(until: now + pause) : .givenUp
    return isNews
  }

  /// Records that the cable has ended. `reason` explains why the accessory never became ready, or is nil if it did.
  mutating func ended(_ reason: TransportError?, now: Instant) {
    guard state == .connected else { return }
    trouble = reason
    pause = reason == nil ? pauses.shortest : min(pause * 2, pauses.longest)
    state = .lost(until: now + pause)
  }
}

/// How long to wait between two attempts to open a cable.
public struct RedialPauses: Equatable, Sendable {
  /// The pause after an attempt that got no answer, and after a cable whose accessory became ready.
  public var shortest: Duration
  /// The longest pause after cables whose accessory never became ready.
  public var longest: Duration

  /// Creates pauses.
  public init(shortest: Duration, longest: Duration) {
    self.shortest = shortest
    self.longest = longest
  }
}
