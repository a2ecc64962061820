/// One side of the protocol, which consumes bytes and the current time, and produces bytes and events.
///
/// ```
///   Peer<Role>
///     core   scanner, link, control stream, sessions, events: the same for both roles
///     role   an accessory's answers; a device's requests, and their progress
/// ```
///
/// After every call, the owner calls ``PeerCore/nextEvent()`` until it returns nil, then
/// ``PeerCore/transmit(atMost:now:_:)`` until it returns false, and then reads ``PeerCore/deadline``. Outside tests,
/// the owner is always an `AccessorySessions.Connection`.
public struct Peer<Role: PeerRole>: ~Copyable {
  /// The state that both roles share. Owners use this state directly, because some of its methods are called for every
  /// packet, and reading a stored property needs no function call.
  public var core: PeerCore
  var role: Role

  /// Processes received bytes.
  @inlinable
  public mutating func receive(_ bytes: RawSpan, now: Instant) {
    Role.receive(bytes, &self, now: now)
  }

  /// Handles all timeouts that have expired. Call this method at ``PeerCore/deadline``.
  public mutating func handleTimeout(now: Instant) {
    Role.handleTimeout(&self, now: now)
  }

  /// Ends every session with `reason`, because the channel has ended.
  public mutating func stop(_ reason: String) {
    Role.stop(&self, reason)
  }

  /// Returns what this end is waiting for. The method is mutating for the reason given at ``PeerCore/nextDeadline()``.
  public mutating func currentPhase() -> PeerPhase { core.link.waiting ?? Role.phase(of: &self) }
}

/// The behavior that ``AccessoryRole`` or ``DeviceRole`` adds to the shared core.
///
/// The requirements are static and take the peer as a parameter. To call a mutating method of `Peer<Role>`, a generic
/// owner would first have to look up the type's metadata, which takes longer than processing a short packet.
public protocol PeerRole {
  /// Processes received bytes and answers the control messages in them.
  static func receive(_ bytes: RawSpan, _ peer: inout Peer<Self>, now: Instant)

  /// Handles all timeouts that have expired by `now`.
  static func handleTimeout(_ peer: inout Peer<Self>, now: Instant)

  /// Returns what this end is waiting for while the link is up. The peer is not changed, but it is `inout` for the
  /// reason given at ``PeerCore/nextDeadline()``.
  static func phase(of peer: inout Peer<Self>) -> PeerPhase

  /// Ends every session with `reason`, because the channel has ended.
  static func stop(_ peer: inout Peer<Self>, _ reason: String)
}

/// What an end is waiting for, according to the packets exchanged so far. Owners use the phase to limit how long the
/// other end may stay silent.
public enum PeerPhase: Hashable, Sendable, CaseIterable {
  /// This end is not waiting: it has not started, or it has given up, for example because the device supports only
  /// iAP1.
  case stopped
  /// This end is waiting for the other end to take part in detection.
  case detection
  /// This end is waiting for the other end's SYN or ACK.
  case synchronization
  case authentication
  case identification
  /// This end is waiting for an answer from its own owner.
  case owner
  /// Sessions may be opened. Silence is normal in this phase, because iAP2 has no keep-alive.
  case ready
  /// One end rejected the other's identification or authentication; the rejected end may disconnect or try again.
  case refused

  /// Whether the link is still being established.
  public var isBeforeLink: Bool { self == .detection || self == .synchronization }
}

extension Link {
  var waiting: PeerPhase? {
    switch phase {
    case .stopped: .stopped
    case .detecting, .listening: .detection
    case .synchronizing, .answering: .synchronization
    case .established: nil
    }
  }
}
