public import ExternalAccessory

/// What the manager tells of an accessory.
public enum AccessoryEvent: Sendable {
  /// It is there; with no protocols yet, perhaps, and then not for long.
  case connected(EAAccessory)
  /// It is gone.
  case disconnected(EAAccessory)

  /// Which.
  public var accessory: EAAccessory {
    switch self {
    case .connected(let accessory), .disconnected(let accessory): accessory
    }
  }
}

extension EAAccessoryManager {
  /// Accessories that come and go from now on. Registers for notifications, and takes that back when nobody listens any
  /// more. What is connected already is in `connectedAccessories`.
  ///
  /// ```swift
  /// for await event in EAAccessoryManager.shared().events {
  ///   if case .connected(let accessory) = event { print(accessory.protocolStrings) }
  /// }
  /// ```
  public var events: AsyncStream<AccessoryEvent> {
    AsyncStream { continuation in
      let observers = Observers([
        observe(.EAAccessoryDidConnect) { continuation.yield(.connected($0)) },
        observe(.EAAccessoryDidDisconnect) { continuation.yield(.disconnected($0)) },
      ])
      registerForLocalNotifications()
      continuation.onTermination = { [self] _ in
        observers.stop()
        unregisterForLocalNotifications()
      }
    }
  }

  private func observe(
    _ name: Notification.Name, _ hear: @escaping @Sendable (EAAccessory) -> Void
  ) -> any NSObjectProtocol {
    NotificationCenter.default.addObserver(forName: name, object: self, queue: nil) { note in
      if let accessory = note.userInfo?[EAAccessoryKey] as? EAAccessory { hear(accessory) }
    }
  }
}

/// Tokens of the notification centre, which may be given back on any thread.
private struct Observers: @unchecked Sendable {
  private let tokens: [any NSObjectProtocol]

  init(_ tokens: [any NSObjectProtocol]) { self.tokens = tokens }

  func stop() { for token in tokens { NotificationCenter.default.removeObserver(token) } }
}
