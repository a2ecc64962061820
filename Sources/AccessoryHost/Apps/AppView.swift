import AccessorySessions

/// One app's view of a device: which accessories it sees, and the sessions it opens.
public final class AppView {
  private let device: Device
  private let handler: any AppHandler
  /// What the app has been told is there, in the order of publication.
  public private(set) var accessories: [PublishedAccessory]

  init(device: Device, handler: any AppHandler) {
    self.device = device
    self.handler = handler
    accessories = device.published
  }

  /// Opens a session with a published accessory; live as soon as this returns.
  public func openSession(with accessory: PublishedAccessory, protocolName: String) throws(AppSessionError) -> Session {
    guard let attachment = device.attachment(publishing: accessory.connectionID) else {
      throw .notConnected(connectionID: accessory.connectionID)
    }
    guard accessory.protocols.contains(protocolName) else {
      throw .protocolNotOffered(protocolName, offered: accessory.protocols)
    }
    do {
      return try attachment.openSession(protocolName)
    } catch {
      throw .refused(error)
    }
  }

  /// Looks no longer.
  public func close() {
    device.forget(self)
  }

  func appeared(_ accessory: PublishedAccessory) {
    accessories.append(accessory)
    handler.accessoryDidConnect(accessory, self)
  }

  func disappeared(_ accessory: PublishedAccessory) {
    accessories.removeAll { $0.connectionID == accessory.connectionID }
    handler.accessoryDidDisconnect(accessory, self)
  }
}

/// Who hears what an app hears.
public protocol AppHandler: AnyObject {
  /// An accessory appeared; perhaps with no protocols, and then not for long.
  func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView)
  /// An accessory disappeared; as it was last seen, number included.
  func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView)
}

/// Why an app got no session.
public enum AppSessionError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The accessory, or this publication of it, is gone.
  case notConnected(connectionID: Int)
  /// It does not offer the protocol; during the first half of a flicker it offers none.
  case protocolNotOffered(String, offered: [String])
  /// The connection refused.
  case refused(SessionRefusal)

  /// A sentence.
  public var description: String {
    switch self {
    case .notConnected(let id): "the accessory with connection ID \(id) is not connected any more"
    case .protocolNotOffered(let name, let offered):
      offered.isEmpty
        ? "the accessory offers no protocols yet, \(name) among them: wait for its next connect"
        : "the accessory does not offer \(name); it offers \(offered.joined(separator: ", "))"
    case .refused(let refusal): refusal.description
    }
  }
}
