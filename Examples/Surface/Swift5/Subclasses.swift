import ExternalAccessory

// Every class and all its members are open.
class Mock: EAAccessory, @unchecked Sendable {
  override var isConnected: Bool { true }
  override var connectionID: Int { 7 }
  override var manufacturer: String { "" }
  override var name: String { "" }
  override var modelNumber: String { "" }
  override var serialNumber: String { "" }
  override var firmwareRevision: String { "" }
  override var hardwareRevision: String { "" }
  override var dockType: String { "" }
  override var protocolStrings: [String] { [] }
  override var delegate: (any EAAccessoryDelegate)? {
    get { nil }
    set {}
  }
  override var description: String { "mock" }
}
class MockManager: EAAccessoryManager, @unchecked Sendable {
  override class func shared() -> EAAccessoryManager { super.shared() }
  override func registerForLocalNotifications() {}
  override func unregisterForLocalNotifications() {}
  override var connectedAccessories: [EAAccessory] { [] }
  override func showBluetoothAccessoryPicker(
    withNameFilter predicate: NSPredicate?, completion: EABluetoothAccessoryPickerCompletion? = nil
  ) {}
}
class MockSession: EASession, @unchecked Sendable {
  override init?(accessory: EAAccessory, forProtocol protocolString: String) {
    super.init(accessory: accessory, forProtocol: protocolString)
  }
  override var accessory: EAAccessory? { nil }
  override var protocolString: String? { nil }
  override var inputStream: InputStream? { nil }
  override var outputStream: OutputStream? { nil }
}
class MockUnconfigured: EAWiFiUnconfiguredAccessory, @unchecked Sendable {
  override var name: String { "" }
  override var manufacturer: String { "" }
  override var model: String { "" }
  override var ssid: String { "" }
  override var macAddress: String { "" }
  override var properties: EAWiFiUnconfiguredAccessoryProperties {
    [.propertySupportsAirPlay, .propertySupportsAirPrint, .propertySupportsHomeKit]
  }
}
class MockBrowser: EAWiFiUnconfiguredAccessoryBrowser, @unchecked Sendable {
  override init(delegate: (any EAWiFiUnconfiguredAccessoryBrowserDelegate)?, queue: DispatchQueue?) {
    super.init(delegate: delegate, queue: queue)
  }
  override var delegate: (any EAWiFiUnconfiguredAccessoryBrowserDelegate)? {
    get { nil }
    set {}
  }
  override var unconfiguredAccessories: Set<EAWiFiUnconfiguredAccessory> { [] }
  override func startSearchingForUnconfiguredAccessories(matching predicate: NSPredicate?) {}
  override func stopSearchingForUnconfiguredAccessories() {}
}
