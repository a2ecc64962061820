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
  /// What only this role has.
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
