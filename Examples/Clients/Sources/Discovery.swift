import ExternalAccessory

/// Finds an accessory that offers a protocol: at launch in the list of accessories, later through notifications.
/// Connections without protocols and accessories with other protocols are ignored.
nonisolated final class Discovery: @unchecked Sendable {
  private var tokens: [any NSObjectProtocol] = []

  init(
    _ protocolName: String, connected: @escaping @Sendable (EAAccessory) -> Void,
    disconnected: @escaping @Sendable (EAAccessory) -> Void
  ) {
    let center = NotificationCenter.default
    tokens = [
      center.addObserver(forName: .EAAccessoryDidConnect, object: nil, queue: nil) { note in
        guard let accessory = note.userInfo?[EAAccessoryKey] as? EAAccessory else { return }
        if accessory.protocolStrings.contains(protocolName) { connected(accessory) }
      },
      center.addObserver(forName: .EAAccessoryDidDisconnect, object: nil, queue: nil) { note in
        if let accessory = note.userInfo?[EAAccessoryKey] as? EAAccessory { disconnected(accessory) }
      },
    ]
    EAAccessoryManager.shared().registerForLocalNotifications()
    let manager = EAAccessoryManager.shared()
    for accessory in manager.connectedAccessories where accessory.protocolStrings.contains(protocolName) {
      connected(accessory)
    }
  }

  func stop() {
    for token in tokens { NotificationCenter.default.removeObserver(token) }
    tokens = []
    EAAccessoryManager.shared().unregisterForLocalNotifications()
  }
}
