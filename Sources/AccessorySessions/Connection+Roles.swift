import AccessoryCore
import IAP2

extension Connection where Role == AccessoryRole {
  /// Accepts and opens the session that the device requested.
  public func acceptSession(_ id: UInt16, protocolName: String, reportingStatus: Bool) -> Session {
    // The session is adopted before the answer is sent, because data may follow the request in the same turn.
    let session = adopt(id, protocolName)
    perform { peer, _ in peer.acceptSession(id, reportingStatus: reportingStatus) }
    return session
  }

  /// Leaves the device's session request unanswered.
  public func ignoreSession(_ id: UInt16) {
    perform { peer, _ in peer.ignoreSession(id) }
  }

  /// Refuses the session that the device requested.
  public func refuseSession(_ id: UInt16) {
    perform { peer, _ in peer.refuseSession(id) }
  }

  /// Opens a session for which the device has already opened a native channel.
  public func acceptNativeSession(_ channel: any Channel, protocolName: String) -> Session {
    adoptNative(channel, protocolName, closing: .closedByAccessory)
  }
}

/// The reason a session could not be opened.
public enum SessionRefusal: Error, Equatable, Sendable, CustomStringConvertible {
  /// The accessory is not ready, or does not offer this protocol.
  case notAvailable(protocolName: String)
  /// The protocol's sessions use native transport, and its native channel is not available.
  case noNativeChannel(protocolName: String, NativeChannelRefusal)

  /// A sentence fragment for messages.
  public var description: String {
    switch self {
    case .notAvailable(let name): "the accessory no longer offers the protocol \(name)"
    case .noNativeChannel(let name, let refusal):
      "\(name) uses native transport instead of the link, and \(refusal)"
    }
  }
}

extension Connection where Role == DeviceRole {
  /// Opens a session for an app, which can use it immediately.
  public func openSession(_ protocolName: String) throws(SessionRefusal) -> Session {
    var session: Session?
    let route = perform { peer, now in
      let route = peer.openSession(protocolNamed: protocolName, now: now)
      if case .link(let id) = route { session = adopt(id, protocolName) }
      return route
    }
    switch route {
    case .link:
      guard let session else { preconditionFailure("a session over the link must be adopted with its number") }
      return session
    case .native:
      // The transport components describe every way to reach the accessory, and this cable is only one of them. The
      // protocol alone determines which native channel is used.
      do throws(NativeChannelRefusal) {
        return adoptNative(try cable.openNativeChannel(for: protocolName), protocolName, closing: .closedByDevice)
      } catch {
        throw .noNativeChannel(protocolName: protocolName, error)
      }
    case nil:
      throw .notAvailable(protocolName: protocolName)
    }
  }
}
