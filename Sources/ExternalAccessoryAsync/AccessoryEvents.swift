public import ExternalAccessory

/// A connect or disconnect. The type is `@unchecked Sendable`, because accessories are not Sendable with the trait
/// AppleSendability.
public enum AccessoryEvent: @unchecked Sendable {
  /// The accessory connected. If the accessory has no protocols, it is not ready yet, and connects again later.
  case connected(EAAccessory)
  /// The accessory disconnected.
  case disconnected(EAAccessory)

  /// The accessory.
  public var accessory: EAAccessory {
    switch self {
    case .connected(let accessory), .disconnected(let accessory): accessory
    }
  }
}

extension EAAccessoryManager {
  /// The accessories' connections and disconnections, starting now. The stream registers for notifications, and
  /// unregisters when the iteration ends. Accessories that are already connected are in `connectedAccessories`.
  ///
  /// ```swift
  /// for await event in EAAccessoryManager.shared().events {
  ///   if case .connected(let accessory) = event { print(accessory.protocolStrings) }
  /// }
  /// ```
  public var events: AsyncStream<AccessoryEvent> {
    AsyncStream { continuation in
      // Observers can be removed from any thread.
      nonisolated(unsafe) let observers = [
        observe(.EAAccessoryDidConnect) { continuation.yield(.connected($0)) },
        observe(.EAAccessoryDidDisconnect) { continuation.yield(.disconnected($0)) },
      ]
      registerForLocalNotifications()
      continuation.onTermination = { _ in
        for observer in observers { NotificationCenter.default.removeObserver(observer) }
        EAAccessoryManager.shared().unregisterForLocalNotifications()
      }
    }
  }

  private func observe(
    _ name: Notification.Name, _ onEvent: @escaping @Sendable (EAAccessory) -> Void
  ) -> any NSObjectProtocol {
    NotificationCenter.default.addObserver(forName: name, object: self, queue: nil) { note in
      if let accessory = note.userInfo?[EAAccessoryKey] as? EAAccessory { onEvent(accessory) }
    }
  }
}
