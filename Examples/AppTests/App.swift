import ExternalAccessory

/// An app as it might be written for iOS: it opens a session when an accessory offers its protocol.
final class App: @unchecked Sendable {
  private(set) var (connects, disconnects) = (0, 0)
  private(set) var session: EASession?
  private var tokens: [any NSObjectProtocol] = []

  init() {
    let center = NotificationCenter.default
    tokens = [
      center.addObserver(forName: .EAAccessoryDidConnect, object: nil, queue: .main) { [weak self] note in
        guard let self, let accessory = note.userInfo?[EAAccessoryKey] as? EAAccessory else { return }
        connects += 1
        guard accessory.protocolStrings.contains("com.lawaken.iap2") else { return }
        session = EASession(accessory: accessory, forProtocol: "com.lawaken.iap2")
      },
      center.addObserver(forName: .EAAccessoryDidDisconnect, object: nil, queue: .main) { [weak self] _ in
        self?.disconnects += 1
        self?.session = nil
      },
    ]
    EAAccessoryManager.shared().registerForLocalNotifications()
  }
}
