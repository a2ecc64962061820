import AccessoryCore

/// The UUIDs of the two Bluetooth services that carry iAP2.
package enum AccessoryService {
  /// The service that accessories offer and Apple devices connect to.
  package static let accessory = "00000000-deca-fade-deca-deafdecacaff"
  /// The service that Apple devices offer and accessories connect to.
  package static let device = "00000000-deca-fade-deca-deafdecacafe"
}

/// One of this machine's Bluetooth adapters, as described by BlueZ.
package struct BluetoothAdapter: Equatable, Sendable {
  /// The adapter's object path on D-Bus, such as `/org/bluez/hci0`.
  package var path: String
  package var address = BluetoothDeviceAddress(0)
  /// The name that other devices see.
  package var alias = ""
  package var isPowered = false
  package var isDiscoverable = false
  package var isPairable = false
  /// How many seconds the adapter stays discoverable, or 0 if there is no limit.
  package var discoverableTimeout: UInt32 = 0

  package var name: String { BlueZPath.last(path) }

  init(path: String) { self.path = path }

  mutating func update(_ properties: [String: BusValue]) {
    if let text = properties["Address"]?.text { address = BluetoothDeviceAddress(text) ?? address }
    alias = properties["Alias"]?.text ?? alias
    isPowered = properties["Powered"]?.truth ?? isPowered
    isDiscoverable = properties["Discoverable"]?.truth ?? isDiscoverable
    isPairable = properties["Pairable"]?.truth ?? isPairable
    discoverableTimeout =
      properties["DiscoverableTimeout"]?.number.flatMap(UInt32.init(exactly:)) ?? discoverableTimeout
  }
}

/// A Bluetooth device that BlueZ knows because it is paired or was found by a scan.
package struct BluetoothDevice: Equatable, Sendable {
  /// The device's object path on D-Bus, which begins with the path of its adapter, such as
  /// `/org/bluez/hci0/dev_AA_BB_CC_DD_EE_FF`.
  package var path: String
  package var address: BluetoothDeviceAddress
  /// The device's name, or an empty string if it is not known.
  package var name = ""
  package var isPaired = false
  /// Whether the device may connect without the user's consent.
  package var isTrusted = false
  package var isConnected = false
  package var isBlocked = false
  /// The UUIDs of the device's services, in lower case.
  package var services: [String] = []
  /// The signal strength in dBm, available only while a scan detects the device.
  package var signal: Int?

  init?(path: String) {
    let name = BlueZPath.last(path)
    guard name.hasPrefix("dev_"),
      let address = BluetoothDeviceAddress(name.dropFirst(4).split(separator: "_").joined(separator: ":"))
    else { return nil }
    self.path = path
    self.address = address
  }

  package var adapterPath: String { BlueZPath.parent(path) }

  /// The name of the device's adapter, for example "hci0".
  package var adapter: String { BlueZPath.last(adapterPath) }

  package var isAccessory: Bool { services.contains(AccessoryService.accessory) }

  package var isAppleDevice: Bool { services.contains(AccessoryService.device) }

  package var title: String { name.isEmpty ? address.description : name }

  package func isMeant(by selector: Address.BluetoothSelector) -> Bool {
    (selector.adapter ?? adapter) == adapter && (selector.device ?? address) == address
  }

  mutating func update(_ properties: [String: BusValue]) {
    name = properties["Alias"]?.text ?? properties["Name"]?.text ?? name
    isPaired = properties["Paired"]?.truth ?? isPaired
    isTrusted = properties["Trusted"]?.truth ?? isTrusted
    isConnected = properties["Connected"]?.truth ?? isConnected
    isBlocked = properties["Blocked"]?.truth ?? isBlocked
    if let uuids = properties["UUIDs"]?.elements { services = uuids.compactMap { $0.text?.lowercased() } }
    if let strength = properties["RSSI"]?.number { signal = strength }
  }

  mutating func forget(_ names: [String]) {
    if names.contains("RSSI") { signal = nil }
    if names.contains("UUIDs") { services = [] }
  }
}

enum BlueZPath {
  static func last(_ path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }

  static func parent(_ path: String) -> String {
    path.lastIndex(of: "/").map { String(path[..<$0]) } ?? path
  }
}

/// The adapters and devices that BlueZ knows, kept up to date from BlueZ's answers and signals.
///
/// Signals may arrive in any order, so changes and removals of unknown devices are ignored.
package struct BluetoothObjects: Equatable, Sendable {
  static let adapterInterface = "org.bluez.Adapter1"
  static let deviceInterface = "org.bluez.Device1"

  private(set) var adapters: [String: BluetoothAdapter] = [:]
  private(set) var devices: [String: BluetoothDevice] = [:]

  package var deviceList: [BluetoothDevice] { devices.values.sorted { $0.path < $1.path } }

  /// Returns the adapter with this name, or the first adapter that is on if no name is given.
  package func adapter(named name: String?) throws(BluetoothError) -> BluetoothAdapter {
    let meant = adapters.values.sorted { $0.path < $1.path }.filter { (name ?? $0.name) == $0.name }
    guard let first = meant.first else { throw .noAdapter(name) }
    guard let on = meant.first(where: \.isPowered) else { throw .adapterOff(first.name) }
    return on
  }

  /// Returns why an attempt to connect to a device would fail, or nil if it could succeed.
  package func obstacle(to device: BluetoothDevice) -> BluetoothError? {
    guard let adapter = adapters[device.adapterPath] else { return .noAdapter(device.adapter) }
    if !adapter.isPowered { return .adapterOff(adapter.name) }
    if device.isBlocked {
      return .failed("the device is blocked; unblock it: bluetoothctl unblock \(device.address)")
    }
    return device.isPaired ? nil : .notPaired("\(device.address)")
  }

  /// Applies the result of `GetManagedObjects`. The result lists all objects, so objects missing from it are removed.
  mutating func replace(with answer: [BusValue]) -> [BlueZ.Event] {
    var events: [BlueZ.Event] = []
    let objects = answer.first?.dictionary ?? [:]
    for path in devices.keys.sorted() where objects[path] == nil { events += remove(path, [Self.deviceInterface]) }
    for path in adapters.keys.sorted() where objects[path] == nil { events += remove(path, [Self.adapterInterface]) }
    // Sorting by path places each adapter before its devices.
    for (path, interfaces) in objects.sorted(by: { $0.key < $1.key }) {
      events += add(path, interfaces.dictionary ?? [:])
    }
    return events
  }

  /// Applies a signal that comes from the object manager or reports a changed property.
  mutating func handle(_ signal: BusSignal) -> [BlueZ.Event] {
    let values = signal.values
    switch signal.member {
    case "InterfacesAdded":
      guard values.count == 2, let path = values[0].text else { return [] }
      return add(path, values[1].dictionary ?? [:])
    case "InterfacesRemoved":
      guard values.count == 2, let path = values[0].text else { return [] }
      return remove(path, values[1].elements?.compactMap(\.text) ?? [])
    case "PropertiesChanged":
      guard values.count == 3, let interface = values[0].text else { return [] }
      let dropped = values[2].elements?.compactMap(\.text) ?? []
      return change(signal.path, interface, values[1].dictionary ?? [:], dropped)
    default: return []
    }
  }

  private mutating func add(_ path: String, _ interfaces: [String: BusValue]) -> [BlueZ.Event] {
    var events: [BlueZ.Event] = []
    if let properties = interfaces[Self.adapterInterface]?.dictionary {
      if adapters[path] == nil { adapters[path] = BluetoothAdapter(path: path) }
      adapters[path]?.update(properties)
      if let adapter = adapters[path] { events.append(.adapter(adapter)) }
    }
    if let properties = interfaces[Self.deviceInterface]?.dictionary {
      if devices[path] != nil { return events + change(path, Self.deviceInterface, properties, []) }
      if var device = BluetoothDevice(path: path) {
        device.update(properties)
        devices[path] = device
        events.append(.deviceFound(device))
      }
    }
    return events
  }

  private mutating func remove(_ path: String, _ interfaces: [String]) -> [BlueZ.Event] {
    var events: [BlueZ.Event] = []
    if interfaces.contains(Self.deviceInterface), let device = devices.removeValue(forKey: path) {
      events.append(.deviceGone(device))
    }
    if interfaces.contains(Self.adapterInterface), let adapter = adapters.removeValue(forKey: path) {
      events.append(.adapterGone(adapter))
    }
    return events
  }

  private mutating func change(
    _ path: String, _ interface: String, _ properties: [String: BusValue], _ dropped: [String]
  ) -> [BlueZ.Event] {
    switch interface {
    case Self.adapterInterface:
      guard let before = adapters[path] else { return [] }
      adapters[path]?.update(properties)
      guard let adapter = adapters[path], adapter != before else { return [] }
      return [.adapter(adapter)]
    case Self.deviceInterface:
      guard let before = devices[path] else { return [] }
      devices[path]?.update(properties)
      devices[path]?.forget(dropped)
      guard let device = devices[path], device != before else { return [] }
      return [.device(device, from: before)]
    default: return []
    }
  }
}
