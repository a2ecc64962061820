// Sections 7 and 6.2 of the guide: remembers the serial number, and tries to connect every three seconds, at most ten
// times.
import ExternalAccessory
import ExternalAccessoryAppStandIns

class AutoReconnectManager {
  var targetSerialNumber: String?

  let protocolString: String

  var connection: AccessoryConnection?

  private var reconnectTimer: Timer?

  private let reconnectInterval: TimeInterval = 3.0

  private let maxReconnectAttempts = 10

  private var reconnectAttempts = 0

  private var observers: [NSObjectProtocol] = []

  init(protocolString: String) {
    self.protocolString = protocolString
    setupNotifications()
  }

  private func setupNotifications() {
    observers = [
      NotificationCenter.default.addObserver(
        forName: .EAAccessoryDidConnect, object: nil, queue: nil,
        using: { [weak self] in self?.accessoryDidConnect($0) }
      ),

      NotificationCenter.default.addObserver(
        forName: .EAAccessoryDidDisconnect, object: nil, queue: nil,
        using: { [weak self] in self?.accessoryDidDisconnect($0) }
      ),

      NotificationCenter.default.addObserver(
        forName: UIApplication.didBecomeActiveNotification, object: nil, queue: nil,
        using: { [weak self] _ in self?.appDidBecomeActive() }
      ),
    ]

    EAAccessoryManager.shared().registerForLocalNotifications()
  }

  deinit {
    observers.forEach(NotificationCenter.default.removeObserver)

    EAAccessoryManager.shared().unregisterForLocalNotifications()

    connection?.closeSession()
  }
}

extension AutoReconnectManager {
  private static let lastConnectedSerialKey = "MFi_LastConnectedSerial"

  func saveLastConnectedAccessory(_ accessory: EAAccessory) {
    targetSerialNumber = accessory.serialNumber
    UserDefaults.standard.set(accessory.serialNumber, forKey: Self.lastConnectedSerialKey)
  }

  func loadLastConnectedAccessory() -> String? {
    return UserDefaults.standard.string(forKey: Self.lastConnectedSerialKey)
  }

  func clearLastConnectedAccessory() {
    targetSerialNumber = nil
    UserDefaults.standard.removeObject(forKey: Self.lastConnectedSerialKey)
  }
}

extension AutoReconnectManager {
  private func accessoryDidConnect(_ notification: Notification) {
    guard let accessory = notification.userInfo?[EAAccessoryKey] as? EAAccessory else {
      return
    }

    stopReconnectTimer()
    reconnectAttempts = 0

    if let targetSerial = targetSerialNumber {
      if accessory.serialNumber == targetSerial {
        connectToAccessory(accessory)
      }
    } else {
      connectToAccessory(accessory)
    }
  }

  private func accessoryDidDisconnect(_ notification: Notification) {
    guard let accessory = notification.userInfo?[EAAccessoryKey] as? EAAccessory else {
      return
    }

    if accessory.serialNumber == connection?.accessory?.serialNumber {
      connection?.closeSession()

      startReconnectTimer()
    }
  }

  private func appDidBecomeActive() {
    if connection?.session == nil {
      attemptReconnect()
    }
  }

  private func connectToAccessory(_ accessory: EAAccessory) {
    let conn = AccessoryConnection(protocolString: protocolString)
    if conn.connect(to: accessory) {
      self.connection = conn
      saveLastConnectedAccessory(accessory)
      print("已连接到配件: \(accessory.name)")
    }
  }
}

extension AutoReconnectManager {
  func startReconnectTimer() {
    stopReconnectTimer()

    reconnectTimer = Timer.scheduledTimer(withTimeInterval: reconnectInterval, repeats: true) { [weak self] _ in
      self?.attemptReconnect()
    }
  }

  func stopReconnectTimer() {
    reconnectTimer?.invalidate()
    reconnectTimer = nil
  }

  func attemptReconnect() {
    guard reconnectAttempts < maxReconnectAttempts else {
      print("已达到最大重连次数")
      stopReconnectTimer()
      return
    }

    reconnectAttempts += 1
    print("尝试重连 (\(reconnectAttempts)/\(maxReconnectAttempts))")

    if targetSerialNumber == nil {
      targetSerialNumber = loadLastConnectedAccessory()
    }

    let accessories = EAAccessoryManager.shared().connectedAccessories

    if let targetSerial = targetSerialNumber {
      if let accessory = accessories.first(where: { $0.serialNumber == targetSerial }) {
        connectToAccessory(accessory)
        stopReconnectTimer()
        reconnectAttempts = 0
      }
    } else {
      if let accessory = accessories.first(where: { $0.protocolStrings.contains(protocolString) }) {
        connectToAccessory(accessory)
        stopReconnectTimer()
        reconnectAttempts = 0
      }
    }
  }
}
