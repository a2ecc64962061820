// Section 3 of the guide: connected accessories, connections and disconnections, the picker.
import ExternalAccessory

class AccessoryDiscovery: NSObject {
  private var observers: [NSObjectProtocol] = []

  func list() {
    let accessoryManager = EAAccessoryManager.shared()
    let connectedAccessories = accessoryManager.connectedAccessories

    for accessory in connectedAccessories {
      print("配件名称: \(accessory.name)")
      print("制造商: \(accessory.manufacturer)")
      print("型号: \(accessory.modelNumber)")
      print("序列号: \(accessory.serialNumber)")
      print("固件版本: \(accessory.firmwareRevision)")
      print("硬件版本: \(accessory.hardwareRevision)")
      print("支持的协议: \(accessory.protocolStrings)")
    }
  }

  func listen() {
    observers = [
      NotificationCenter.default.addObserver(
        forName: .EAAccessoryDidConnect, object: nil, queue: nil,
        using: { [weak self] in self?.accessoryDidConnect($0) }
      ),
      NotificationCenter.default.addObserver(
        forName: .EAAccessoryDidDisconnect, object: nil, queue: nil,
        using: { [weak self] in self?.accessoryDidDisconnect($0) }
      ),
    ]

    EAAccessoryManager.shared().registerForLocalNotifications()
  }

  deinit {
    observers.forEach(NotificationCenter.default.removeObserver)
    EAAccessoryManager.shared().unregisterForLocalNotifications()
  }

  func accessoryDidConnect(_ notification: Notification) {
    if let accessory = notification.userInfo?[EAAccessoryKey] as? EAAccessory {
      print("配件已连接: \(accessory.name)")
    }
  }

  func accessoryDidDisconnect(_ notification: Notification) {
    if let accessory = notification.userInfo?[EAAccessoryKey] as? EAAccessory {
      print("配件已断开: \(accessory.name)")
    }
  }

  func pick() {
    EAAccessoryManager.shared().showBluetoothAccessoryPicker(withNameFilter: nil) { error in
      if let error = error {
        print("选择配件失败: \(error.localizedDescription)")
      } else {
        print("用户已选择配件")
      }
    }
  }
}
