// The guide's reconnection (section 7): remembers the serial number, tries every three seconds, at most ten times.
import ExternalAccessory

final class AutoReconnectManager: @unchecked Sendable {
  private static let lastConnectedSerialKey = "MFi_LastConnectedSerial"
  var targetSerialNumber: String?
  let protocolString: String
  private(set) var connection: AccessoryConnection?
  private var reconnectTimer: Timer?
  private var reconnectAttempts = 0
  private var observers: [any NSObjectProtocol] = []

  init(protocolString: String) {
    self.protocolString = protocolString
    let center = NotificationCenter.default
    observers = [
      center.addObserver(forName: .EAAccessoryDidConnect, object: nil, queue: .main) { [weak self] in self?.came($0) },
      center.addObserver(forName: .EAAccessoryDidDisconnect, object: nil, queue: .main) { [weak self] in self?.went($0)
      },
    ]
    EAAccessoryManager.shared().registerForLocalNotifications()
  }

  deinit {
    for observer in observers { NotificationCenter.default.removeObserver(observer) }
    EAAccessoryManager.shared().unregisterForLocalNotifications()
    connection?.closeSession()
  }

  private func came(_ notification: Notification) {
    guard let accessory = notification.userInfo?[EAAccessoryKey] as? EAAccessory else { return }
    stopReconnectTimer()
    reconnectAttempts = 0
    if targetSerialNumber == nil || accessory.serialNumber == targetSerialNumber { connectToAccessory(accessory) }
  }

  private func went(_ notification: Notification) {
    guard let accessory = notification.userInfo?[EAAccessoryKey] as? EAAccessory else { return }
    print("gone: \(accessory.name)")
    guard accessory.serialNumber == targetSerialNumber else { return }
    connection?.closeSession()
    startReconnectTimer()
  }

  func connectToAccessory(_ accessory: EAAccessory) {
    let made = AccessoryConnection(protocolString: protocolString)
    guard made.connect(to: accessory) else { return }
    connection = made
    targetSerialNumber = accessory.serialNumber
    UserDefaults.standard.set(accessory.serialNumber, forKey: Self.lastConnectedSerialKey)
    print("connected to \(accessory.name)")
  }

  private func startReconnectTimer() {
    stopReconnectTimer()
    reconnectTimer = Timer.scheduledTimer(withTimeInterval: 3, repeats: true) { [weak self] _ in
      self?.attemptReconnect()
    }
  }

  private func stopReconnectTimer() {
    reconnectTimer?.invalidate()
    reconnectTimer = nil
  }

  func attemptReconnect() {
    guard reconnectAttempts < 10 else { return stopReconnectTimer() }
    reconnectAttempts += 1
    let wanted = targetSerialNumber ?? UserDefaults.standard.string(forKey: Self.lastConnectedSerialKey)
    let fits = EAAccessoryManager.shared().connectedAccessories.first {
      $0.protocolStrings.contains(protocolString) && (wanted == nil || $0.serialNumber == wanted)
    }
    guard let fits else { return }
    connectToAccessory(fits)
    stopReconnectTimer()
    reconnectAttempts = 0
  }
}
