import AccessoryCore

/// The services of External Accessory devices: RFCOMM services named by these UUIDs.
public enum AccessoryService {
  /// Offered by an accessory; an Apple device connects to it.
  public static let accessory = "00000000-deca-fade-deca-deafdecacaff"
  /// Offered by an Apple device; an accessory connects to it.
  public static let device = "00000000-deca-fade-deca-deafdecacafe"
}

/// A Bluetooth adapter of this machine, as BlueZ shows it.
public struct BluetoothAdapter: Equatable, Sendable {
  /// Its object path on D-Bus, such as `/org/bluez/hci0`.
  public var path: String
  /// Its own address.
  public var address = BluetoothDeviceAddress(bits: 0)
  /// The name that others see.
  public var alias = ""
  /// Whether it is on.
  public var isPowered = false
  /// Whether others find it when they scan.
  public var isDiscoverable = false
  /// Whether others may pair with it.
  public var isPairable = false
  /// After how many seconds it stops being discoverable; 0 for never.
  public var discoverableTimeout: UInt32 = 0
  /// Whether it is scanning.
  public var isDiscovering = false

  /// "hci0".
  public var name: String { BlueZPath.last(path) }

  init(path: String) { self.path = path }

  mutating func update(_ properties: [String: BusValue]) {
    if let text = properties["Address"]?.text { address = BluetoothDeviceAddress(text) ?? address }
    alias = properties["Alias"]?.text ?? alias
    isPowered = properties["Powered"]?.truth ?? isPowered
    isDiscoverable = properties["Discoverable"]?.truth ?? isDiscoverable
    isPairable = properties["Pairable"]?.truth ?? isPairable
    discoverableTimeout =
      properties["DiscoverableTimeout"]?.number.flatMap(UInt32.init(exactly:)) ?? discoverableTimeout
    isDiscovering = properties["Discovering"]?.truth ?? isDiscovering
  }
}

/// A Bluetooth device that BlueZ knows: one that is paired, or was found by a scan.
public struct BluetoothDevice: Equatable, Sendable {
  /// Its object path on D-Bus, below its adapter's: `/org/bluez/hci0/dev_AA_BB_CC_DD_EE_FF`.
  public var path: String
  /// Its address.
  public var address: BluetoothDeviceAddress
  /// Its name; empty if unknown.
  public var name = ""
  /// Whether it is paired with that adapter.
  public var isPaired = false
  /// Whether it may connect without asking the user.
  public var isTrusted = false
  /// Whether it is connected now.
  public var isConnected = false
  /// Whether the user has blocked it.
  public var isBlocked = false
  /// The UUIDs of its services, in lower case.
  public var services: [String] = []
  /// The strength of its signal in dBm, while a scan sees it.
  public var signal: Int?

  /// A device with nothing but its path; nil if the path is not that of a device.
  init?(path: String) {
    guard let address = BlueZPath.device(path) else { return nil }
    self.path = path
    self.address = address
  }

  /// The object path of its adapter.
  public var adapterPath: String { BlueZPath.parent(path) }

  /// The name of its adapter: "hci0".
  public var adapter: String { BlueZPath.last(adapterPath) }

  /// Whether it is an accessory: it offers the accessory's service.
  public var isAccessory: Bool { services.contains(AccessoryService.accessory) }

  /// Whether it is an Apple device, or plays one: it offers the device's service.
  public var isAppleDevice: Bool { services.contains(AccessoryService.device) }

  /// Its name, or its address if it has no name.
  public var title: String { name.isEmpty ? address.description : name }

  /// Whether an address selects it.
  public func isMeant(by selector: Address.BluetoothSelector) -> Bool {
    (selector.adapter ?? adapter) == adapter && (selector.device ?? address) == address
  }

  /// Why its adapter cannot connect to it now; nil if an attempt makes sense.
  public func obstacle(adapter: BluetoothAdapter?) -> BluetoothError? {
    guard let adapter else { return .noAdapter(self.adapter) }
    if !adapter.isPowered { return .adapterOff(adapter.name) }
    if isBlocked { return .failed("it is blocked; unblock it: bluetoothctl unblock \(address)") }
    return isPaired ? nil : .notPaired("\(address)")
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

/// The paths of BlueZ's objects.
enum BlueZPath {
  static func last(_ path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }

  static func parent(_ path: String) -> String {
    path.lastIndex(of: "/").map { String(path[..<$0]) } ?? path
  }

  /// The address in the path of a device; nil for the path of anything else.
  static func device(_ path: String) -> BluetoothDeviceAddress? {
    let name = last(path)
    guard name.hasPrefix("dev_") else { return nil }
    return BluetoothDeviceAddress(name.dropFirst(4).split(separator: "_").joined(separator: ":"))
  }
}

/// The adapters and devices of BlueZ, kept up to date from its answers and signals. Pure: no bus, no clock.
///
/// Signals may come in any order: a change or a removal of an unknown device is ignored.
struct BluetoothObjects: Equatable, Sendable {
  /// What a message changed.
  enum Change: Equatable, Sendable {
    case adapter(BluetoothAdapter)
    case adapterGone(BluetoothAdapter)
    case deviceFound(BluetoothDevice)
    case device(BluetoothDevice, from: BluetoothDevice)
    case deviceGone(BluetoothDevice)
  }

  static let adapterInterface = "org.bluez.Adapter1"
  static let deviceInterface = "org.bluez.Device1"

  private(set) var adapters: [String: BluetoothAdapter] = [:]
  private(set) var devices: [String: BluetoothDevice] = [:]

  /// Everything that `GetManagedObjects` returned: what is missing there is gone.
  mutating func replace(with answer: [BusValue]) -> [Change] {
    var changes: [Change] = []
    let objects = answer.first?.dictionary ?? [:]
    for path in devices.keys.sorted() where objects[path] == nil { changes += remove(path, [Self.deviceInterface]) }
    for path in adapters.keys.sorted() where objects[path] == nil { changes += remove(path, [Self.adapterInterface]) }
    // Adapters come before their devices, because their paths are shorter.
    for (path, interfaces) in objects.sorted(by: { $0.key < $1.key }) {
      changes += add(path, interfaces.dictionary ?? [:])
    }
    return changes
  }

  /// A signal of the object manager, or of a changed property.
  mutating func handle(_ signal: BusSignal) -> [Change] {
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

  /// BlueZ is gone, and everything with it.
  mutating func removeAll() -> [Change] { replace(with: []) }

  private mutating func add(_ path: String, _ interfaces: [String: BusValue]) -> [Change] {
    var changes: [Change] = []
    if let properties = interfaces[Self.adapterInterface]?.dictionary {
      if adapters[path] == nil { adapters[path] = BluetoothAdapter(path: path) }
      adapters[path]?.update(properties)
      if let adapter = adapters[path] { changes.append(.adapter(adapter)) }
    }
    if let properties = interfaces[Self.deviceInterface]?.dictionary {
      if devices[path] != nil { return changes + change(path, Self.deviceInterface, properties, []) }
      if var device = BluetoothDevice(path: path) {
        device.update(properties)
        devices[path] = device
        changes.append(.deviceFound(device))
      }
    }
    return changes
  }

  private mutating func remove(_ path: String, _ interfaces: [String]) -> [Change] {
    var changes: [Change] = []
    if interfaces.contains(Self.deviceInterface), let device = devices.removeValue(forKey: path) {
      changes.append(.deviceGone(device))
    }
    if interfaces.contains(Self.adapterInterface), let adapter = adapters.removeValue(forKey: path) {
      changes.append(.adapterGone(adapter))
    }
    return changes
  }

  private mutating func change(
    _ path: String, _ interface: String, _ properties: [String: BusValue], _ dropped: [String]
  ) -> [Change] {
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
