import ExternalAccessory
import ExternalAccessoryAppStandIns

// Uses every name in the API as an app would, to check labels, optionality and types in each language mode. This code
// is not run.
func constants() {
  let none: Int = EAConnectionIDNone
  let key: String = EAAccessoryKey, selected: String = EAAccessorySelectedKey
  let domain: String = EABluetoothAccessoryPickerErrorDomain
  let names: [NSNotification.Name] = [.EAAccessoryDidConnect, .EAAccessoryDidDisconnect]
  let completion: EABluetoothAccessoryPickerCompletion = { (error: (any Error)?) in _ = error }
  _ = (none, key, selected, domain, names, completion)
}

func accessory(_ a: EAAccessory) {
  let object: NSObject = a
  let isConnected: Bool = a.isConnected
  let id: Int = a.connectionID
  let texts: [String] = [
    a.manufacturer, a.name, a.modelNumber, a.serialNumber, a.firmwareRevision, a.hardwareRevision, a.dockType,
  ]
  let protocols: [String] = a.protocolStrings
  let delegate: (any EAAccessoryDelegate)? = a.delegate
  a.delegate = delegate
  let set: Set<EAAccessory> = [a]
  _ = (object, isConnected, id, texts, protocols, set, "\(a)", a.hash, a.debugDescription)
}

// Clients add such conformances themselves.
extension EAWiFiUnconfiguredAccessoryProperties: @retroactive Hashable {}
protocol Named { var name: String { get } }
extension EAAccessory: Named {}

final class Nothing: NSObject, EAAccessoryDelegate {}
final class Told: NSObject, EAAccessoryDelegate {
  func accessoryDidDisconnect(_ accessory: EAAccessory) { _ = accessory.connectionID }
}

func manager() {
  let m: EAAccessoryManager = EAAccessoryManager.shared()
  m.registerForLocalNotifications()
  m.unregisterForLocalNotifications()
  let list: [EAAccessory] = m.connectedAccessories
  m.showBluetoothAccessoryPicker(withNameFilter: nil)
  m.showBluetoothAccessoryPicker(withNameFilter: nil, completion: nil)
  m.showBluetoothAccessoryPicker(withNameFilter: NSPredicate { _, _ in true }) { error in
    guard let error = error as NSError? else { return }
    switch EABluetoothAccessoryPickerError.Code(rawValue: error.code) {
    case .alreadyConnected: break
    case .resultNotFound, .resultCancelled, .resultFailed: break
    case nil: break
    }
    _ = list
  }
}
func pick() async throws {
  do {
    try await EAAccessoryManager.shared().showBluetoothAccessoryPicker(withNameFilter: nil)
  } catch EABluetoothAccessoryPickerError.alreadyConnected {
  } catch let error as EABluetoothAccessoryPickerError where error.code == .resultCancelled {
    _ = (
      error.userInfo, error.errorCode as Int, error.errorUserInfo, EABluetoothAccessoryPickerError.errorDomain,
      error.hashValue
    )
  }
  let made = EABluetoothAccessoryPickerError(.resultFailed, userInfo: ["a": 1])
  let again = EABluetoothAccessoryPickerError(_nsError: made as NSError)
  let codes: [EABluetoothAccessoryPickerError.Code] = [
    EABluetoothAccessoryPickerError.alreadyConnected, EABluetoothAccessoryPickerError.resultNotFound,
    EABluetoothAccessoryPickerError.resultCancelled, EABluetoothAccessoryPickerError.resultFailed,
  ]
  let custom: any CustomNSError = again
  _ = (codes, custom)
}

func session(_ a: EAAccessory, _ delegate: any StreamDelegate) -> EASession? {
  guard let s: EASession = EASession(accessory: a, forProtocol: "x") else { return nil }
  let accessory: EAAccessory? = s.accessory
  let p: String? = s.protocolString
  let i: InputStream? = s.inputStream
  let o: OutputStream? = s.outputStream
  i?.delegate = delegate
  i?.schedule(in: .current, forMode: .default)
  o?.schedule(in: RunLoop.main, forMode: .common)
  i?.open()
  _ = (accessory, p)
  return s
}

final class Browsing: NSObject, EAWiFiUnconfiguredAccessoryBrowserDelegate {
  func accessoryBrowser(
    _ browser: EAWiFiUnconfiguredAccessoryBrowser, didUpdate state: EAWiFiUnconfiguredAccessoryBrowserState
  ) {
    switch state {
    case .wiFiUnavailable, .stopped, .searching, .configuring: break
    @unknown default: break
    }
    let raw: Int = state.rawValue
    _ = raw
  }
  func accessoryBrowser(
    _ browser: EAWiFiUnconfiguredAccessoryBrowser,
    didFindUnconfiguredAccessories accessories: Set<EAWiFiUnconfiguredAccessory>
  ) {
    for a in accessories {
      let bits: UInt = a.properties.rawValue; _ = [a.name, a.manufacturer, a.model, a.ssid, a.macAddress, "\(bits)"]
    }
  }
  func accessoryBrowser(
    _ browser: EAWiFiUnconfiguredAccessoryBrowser,
    didRemoveUnconfiguredAccessories accessories: Set<EAWiFiUnconfiguredAccessory>
  ) {}
  func accessoryBrowser(
    _ browser: EAWiFiUnconfiguredAccessoryBrowser, didFinishConfiguringAccessory accessory: EAWiFiUnconfiguredAccessory,
    with status: EAWiFiUnconfiguredAccessoryConfigurationStatus
  ) {
    switch status {
    case .success, .userCancelledConfiguration, .failed: break
    @unknown default: break
    }
  }
}

@MainActor func browse(_ d: Browsing, _ on: UIViewController, _ a: EAWiFiUnconfiguredAccessory) {
  let b = EAWiFiUnconfiguredAccessoryBrowser(delegate: d, queue: nil)
  b.startSearchingForUnconfiguredAccessories(matching: nil)
  b.configureAccessory(a, withConfigurationUIOn: on)
  b.stopSearchingForUnconfiguredAccessories()
  _ = EAWiFiUnconfiguredAccessoryBrowser()
}
@MainActor func messages() -> [NotificationCenter.ObservationToken] {
  [
    NotificationCenter.default.addObserver(of: EAAccessoryManager.shared(), for: .accessoryDidConnect) { m in
      let a: EAAccessory = m.accessory; let u: Bool = m.userSelected; _ = (a, u)
    },
    NotificationCenter.default.addObserver(of: EAAccessoryManager.shared(), for: .accessoryDidDisconnect) { m in
      _ = EAAccessoryManager.AccessoryDidDisconnectMessage.makeNotification(m)
    },
    NotificationCenter.default.addObserver(of: EAAccessoryManager.self, for: .accessoryDidConnect) { m in
      _ = m.accessory
    },
  ]
}
