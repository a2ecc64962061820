import AccessoryCore

/// Keeps one session with one accessory, as an app does that wants its accessory back: remembers its serial number,
/// tries every three seconds and at most ten times, at once when it arrives and when the app becomes active, and stops
/// when it succeeds.
///
/// ```
///            arrival, activation                    session ended, disconnect
///   idle ───────────────────────▶ connecting ──▶ connected ───────────────────▶ waiting ──┐ every `interval`,
///                                     │ failed                                    ▲  │    │ at most `attempts`
///                                     └───────────────────────────────────────────┘  └────┘
///                                                             too many: exhausted ◀──┘   an arrival begins anew
/// ```
///
/// The machine opens nothing: it says ``Action/connect(_:)`` and is told how that went.
///
/// Two points in which plain client code goes wrong, and this does not: the arrival of another accessory does not end
/// the waiting for this one; and an appearance without the protocol (the first half of a flicker) is not an arrival.
public struct Reconnection: Equatable, Sendable {
  /// What follows from an event.
  public enum Action: Equatable, Sendable {
    /// Nothing now.
    case nothing
    /// Open a session with this publication, and tell how it went.
    case connect(PublishedAccessory)
    /// That was the last attempt.
    case giveUp(attempts: Int)
  }

  private enum State: Equatable {
    /// Nothing was lost: an arrival is taken, nothing is sought.
    case idle
    case connecting(connectionID: Int, attempts: Int)
    case connected(connectionID: Int)
    case waiting(until: Instant, attempts: Int)
    case exhausted
  }

  /// The protocol that is wanted.
  public let protocolName: String
  /// How long to wait between two attempts.
  public let interval: Duration
  /// How many attempts are made.
  public let attempts: Int
  /// The serial number of the accessory that is wanted: of the last one that was connected. Nil takes the first that
  /// offers the protocol. To be kept where it outlives the app.
  public private(set) var serial: String?
  private var state = State.idle

  /// A policy for one protocol.
  ///
  /// - Parameter serial: the serial number that was remembered the last time.
  public init(
    protocolName: String, serial: String? = nil, interval: Duration = .seconds(3), attempts: Int = 10
  ) {
    self.protocolName = protocolName
    self.serial = serial
    self.interval = interval
    self.attempts = attempts
  }

  /// When ``handleTimeout(_:now:)`` wants to be called.
  public var deadline: Instant? {
    if case .waiting(let until, _) = state { return until }
    return nil
  }

  /// Whether a session is open, as far as was told.
  public var isConnected: Bool {
    if case .connected = state { return true }
    return false
  }

  /// Wants whichever accessory comes next.
  public mutating func forget() {
    serial = nil
  }

  // MARK: What the app hears

  /// An accessory connected.
  public mutating func arrived(_ accessory: PublishedAccessory, now: Instant) -> Action {
    guard isWanted(accessory) else { return .nothing }
    switch state {
    case .idle, .waiting, .exhausted: return connect(accessory, attempts: 0)
    case .connecting, .connected: return .nothing
    }
  }

  /// An accessory disconnected.
  public mutating func left(_ accessory: PublishedAccessory, now: Instant) -> Action {
    switch state {
    case .connected(accessory.connectionID): wait(attempts: 0, now)
    case .connecting(accessory.connectionID, let attempts): wait(attempts: attempts, now)
    default: break
    }
    return .nothing
  }

  /// The app became active, and sees these accessories.
  public mutating func becameActive(_ accessories: [PublishedAccessory], now: Instant) -> Action {
    switch state {
    case .idle: return attempt(accessories, made: 0, now, waits: false)
    case .waiting(_, let made): return attempt(accessories, made: made, now)
    case .connecting, .connected, .exhausted: return .nothing
    }
  }

  /// The time of ``deadline`` has come; these accessories are seen.
  public mutating func handleTimeout(_ accessories: [PublishedAccessory], now: Instant) -> Action {
    guard case .waiting(let until, let made) = state, until <= now else { return .nothing }
    return attempt(accessories, made: made, now)
  }

  // MARK: What became of a session

  /// The session is open.
  public mutating func opened(_ accessory: PublishedAccessory) {
    serial = accessory.serialNumber
    state = .connected(connectionID: accessory.connectionID)
  }

  /// There was no session.
  public mutating func failed(now: Instant) -> Action {
    guard case .connecting(_, let made) = state else { return .nothing }
    return rest(after: made, now)
  }

  /// The session ended, though the accessory may be there still.
  public mutating func ended(now: Instant) {
    if case .connected = state { wait(attempts: 0, now) }
  }

  // MARK: Attempts

  private func isWanted(_ accessory: PublishedAccessory) -> Bool {
    accessory.protocols.contains(protocolName) && (serial == nil || accessory.serialNumber == serial)
  }

  private mutating func attempt(
    _ accessories: [PublishedAccessory], made: Int, _ now: Instant, waits: Bool = true
  ) -> Action {
    if let accessory = accessories.first(where: isWanted) { return connect(accessory, attempts: made + 1) }
    return waits ? rest(after: made + 1, now) : .nothing
  }

  private mutating func connect(_ accessory: PublishedAccessory, attempts: Int) -> Action {
    state = .connecting(connectionID: accessory.connectionID, attempts: attempts)
    return .connect(accessory)
  }

  private mutating func rest(after made: Int, _ now: Instant) -> Action {
    if made >= attempts {
      state = .exhausted
      return .giveUp(attempts: made)
    }
    wait(attempts: made, now)
    return .nothing
  }

  private mutating func wait(attempts made: Int, _ now: Instant) {
    state = .waiting(until: now + interval, attempts: made)
  }
}
