/// One end of the protocol: bytes and time go in, bytes and events come out.
///
/// ```
///   Peer<Role>
///     core   scanner, link, control stream, sessions, events: the same for both roles
///     role   an accessory's answers; a device's requests, and their progress
/// ```
///
/// After every call the owner drains, in this order: ``PeerCore/nextEvent()`` until nil,
/// ``PeerCore/transmit(atMost:now:_:)`` until false, then looks at ``PeerCore/deadline``.
/// `AccessorySessions.Connection` is the owner everywhere but in tests.
public struct Peer<Role: PeerRole>: ~Copyable {
  /// What both roles share. Owners use it directly, because some of its methods are called for every packet and a
  /// stored property costs no call.
  public var core: PeerCore
  var role: Role

  /// Takes bytes that arrived.
  public mutating func receive(_ bytes: RawSpan, now: Instant) {
    Role.receive(bytes, &self, now: now)
  }

  /// Handles the time of ``PeerCore/deadline``.
  public mutating func handleTimeout(now: Instant) {
    Role.handleTimeout(&self, now: now)
  }

  /// The channel is gone: every session ends with `reason`, and nothing is waited for any more.
  public mutating func stop(_ reason: String) {
    Role.stop(&self, reason)
  }
}

/// What one role adds to what both share: ``AccessoryRole`` and ``DeviceRole``.
///
/// Static, with the peer as a parameter: a generic owner that calls a mutating method of `Peer<Role>` has to look up the
/// metadata of that type first, which takes longer than a short packet.
public protocol PeerRole {
  /// Takes bytes that arrived, and answers the control messages in them.
  static func receive(_ bytes: RawSpan, _ peer: inout Peer<Self>, now: Instant)

  /// Handles everything whose time has come at `now`.
  static func handleTimeout(_ peer: inout Peer<Self>, now: Instant)

  /// What this end waits for while the link is up.
  static func phase(of peer: borrowing Peer<Self>) -> PeerPhase

  /// The channel is gone: every session ends with `reason`.
  static func stop(_ peer: inout Peer<Self>, _ reason: String)
}

// What both roles use to read control messages.
extension PeerCore {
  /// Reports the event that `read` makes from a message; a message that cannot be read is reported as malformed.
  mutating func report(_ message: ControlMessage, _ read: (ControlMessage) throws(ParameterError) -> PeerEvent?) {
    do throws(ParameterError) {
      events.append(try read(message) ?? .message(message))
    } catch {
      events.append(.malformed("\(message.id): \(error)"))
    }
  }

  /// Reads what `read` wants from a message's parameters; a message that cannot be read is reported as malformed, and
  /// nil returned.
  mutating func decode<Value>(
    _ message: ControlMessage, _ read: ([Parameter]) throws(ParameterError) -> Value
  ) -> Value? {
    do throws(ParameterError) {
      return try read(try ParameterReader.read(message.body))
    } catch {
      events.append(.malformed("\(message.id): \(error)"))
      return nil
    }
  }
}

/// What one end waits for, as the wire shows it. An owner that limits how long the other end may be silent goes by it.
public enum PeerPhase: Hashable, Sendable, CaseIterable {
  /// Nothing: not started, or given up, as with a device that supports only iAP1.
  case stopped
  /// The other end's part in detection.
  case detection
  /// The other end's SYN or ACK.
  case synchronization
  /// The other end's next message of authentication.
  case authentication
  /// The other end's next message of identification.
  case identification
  /// For an answer of this end's owner.
  case owner
  /// Nothing: sessions may be opened. iAP2 has no keep-alive, so silence means nothing now.
  case ready
  /// Nothing that must come: one end refused the other, which may leave or try again.
  case refused

  /// Whether there is no link yet.
  public var isBeforeLink: Bool { self == .detection || self == .synchronization }
}

extension Link {
  /// What the peer waits for while the link is not up; nil when it is up.
  var waiting: PeerPhase? {
    switch phase {
    case .stopped: .stopped
    case .detecting, .listening: .detection
    case .synchronizing, .answering: .synchronization
    case .established: nil
    }
  }
}

/// How far a device has come with an accessory on one link, from the accessory's side.
struct AccessoryProgress: Equatable {
  /// The end that acts next.
  enum Step: Equatable {
    /// The device sends next.
    case device
    /// The accessory's owner was asked for something.
    case owner
    /// The accessory has answered, and the device decides.
    case answered
    case accepted
    case refused
  }

  /// Which link it is about; see ``LinkCounters/establishments``.
  var link = 0
  var authentication = Step.device
  var identification = Step.device

  /// What the accessory waits for.
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

extension Peer {
  /// What this end waits for.
  public var phase: PeerPhase { core.link.waiting ?? Role.phase(of: self) }
}

extension AccessoryRole {
  /// What the accessory waits for while the link is up.
  public static func phase(of peer: borrowing AccessoryPeer) -> PeerPhase { peer.progressOnLink.phase }
}

extension Peer where Role == AccessoryRole {
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

extension DeviceRole {
  /// What the device waits for while the link is up.
  public static func phase(of peer: borrowing DevicePeer) -> PeerPhase {
    switch peer.role.progress {
    case .linkDown: .owner
    case .asking where peer.core.answerDeadline == nil: .owner
    case .asking(.authentication, _): .authentication
    case .asking(.identification, _): .identification
    case .ready: .ready
    case .refused: .refused
    }
  }
}
