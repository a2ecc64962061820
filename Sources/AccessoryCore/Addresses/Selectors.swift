/// Parses what may follow `usb:`: nothing, `VID:PID`, `serial=S` or `BUS-PORT`.
extension AddressParser {
  func usb(_ rest: Substring) throws(AddressError) -> Address.USBSelector {
    if rest.isEmpty { return .any }
    if let equals = rest.firstIndex(of: "=") {
      return try serial(key: rest[..<equals], value: rest[rest.index(after: equals)...])
    }
    if let colon = rest.firstIndex(of: ":") {
      let (left, right) = (rest[..<colon], rest[rest.index(after: colon)...])
      let vendor = try number(left, called: "vendor number") { "usb:\($0):\(right)" }
      let product = try number(right, called: "product number") { "usb:\(left):\($0)" }
      return .product(vendor: vendor, product: product)
    }
    if let dash = rest.firstIndex(of: "-"), Self.number(rest[..<dash]) != nil, dash != rest.startIndex {
      return try port(bus: rest[..<dash], path: rest[rest.index(after: dash)...])
    }
    if Self.hexadecimal(rest) != nil {
      throw error(rest[rest.endIndex...], "the product number is missing after '\(rest)'", "usb:\(rest):PID")
    }
    throw error(
      rest, "'\(rest)' is not VID:PID, serial=S or BUS-PORT", "usb:serial=\(rest)")
  }

  private func serial(key: Substring, value: Substring) throws(AddressError) -> Address.USBSelector {
    guard key == "serial" else { throw error(key, "unknown key '\(key)'", "usb:serial=\(value)") }
    guard !value.isEmpty else { throw error(value, "the serial number is missing", "usb:serial=S") }
    return .serial(String(value))
  }

  private func number(
    _ part: Substring, called name: String, fixed: (String) -> String
  ) throws(AddressError) -> UInt16 {
    if let number = Self.hexadecimal(part) { return number }
    let problem = part.isEmpty ? "the \(name) is missing" : "the \(name) '\(part)' is not four hexadecimal digits"
    // Forms such as `0x5ac` and `5ac` are wrong but unambiguous, so the error can suggest a correction.
    let bare = part.hasPrefix("0x") || part.hasPrefix("0X") ? part.dropFirst(2) : part
    let padded = bare.zeroPadded(to: 4)
    let isClear = !bare.isEmpty && Self.hexadecimal(padded[...]) != nil
    throw error(part, problem, isClear ? fixed(padded) : "usb:VID:PID")
  }

  private func port(bus: Substring, path: Substring) throws(AddressError) -> Address.USBSelector {
    guard let busNumber = Self.number(bus), 1...255 ~= busNumber else {
      throw error(bus, "the bus '\(bus)' is not a number from 1 to 255", "usb:BUS-PORT")
    }
    var ports: [Int] = []
    for part in path.split(separator: ".", omittingEmptySubsequences: false) {
      guard let port = Self.number(part), 1...255 ~= port else {
        let problem = part.isEmpty ? "a port is missing" : "the port '\(part)' is not a number from 1 to 255"
        throw error(part, problem, "usb:\(bus)-1.2")
      }
      ports.append(port)
    }
    // USB allows seven tiers: the root hub, up to five more hubs, and the device.
    guard ports.count <= 6 else { throw error(path, "the port path has more than six steps", "usb:\(bus)-1.2") }
    return .port(bus: busNumber, path: ports)
  }

  private static func hexadecimal(_ part: Substring) -> UInt16? {
    guard part.utf8.count == 4, part.utf8.first != UInt8(ascii: "+") else { return nil }
    return UInt16(part, radix: 16)
  }
}

/// The address of a Bluetooth device, such as `AA:BB:CC:DD:EE:FF`.
public struct BluetoothDeviceAddress: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The 48 bits of the address. The first pair of digits is the highest byte.
  public let value: UInt64

  /// Creates an address from the low 48 bits of a number.
  public init(_ value: UInt64) {
    self.value = value & 0xFFFF_FFFF_FFFF
  }

  /// Parses six colon-separated pairs of hexadecimal digits, or returns nil for anything else.
  public init?(_ text: some StringProtocol) {
    let pairs = text.split(separator: ":", omittingEmptySubsequences: false)
    guard pairs.count == 6 else { return nil }
    var value: UInt64 = 0
    for pair in pairs {
      guard pair.utf8.count == 2, pair.utf8.first != UInt8(ascii: "+"), let byte = UInt8(pair, radix: 16) else {
        return nil
      }
      value = value << 8 | UInt64(byte)
    }
    self.value = value
  }

  /// The bytes of the address in written order, which is also their order in an identification.
  public var bytes: [UInt8] { lowestFirst.reversed() }

  /// The bytes of the address in the order that the kernel uses, lowest first.
  public var lowestFirst: [UInt8] { (0..<6).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) } }

  /// Text such as "AA:BB:CC:DD:EE:FF".
  public var description: String { bytes.map { Hex.number($0) }.joined(separator: ":") }

  /// Orders addresses by their digits.
  public static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}

extension Address {
  /// The part of an address that may follow `bt:`: an adapter on this machine, and the device at the other end.
  public struct BluetoothSelector: Hashable, Sendable, CustomStringConvertible {
    /// The adapter, such as `hci0`, or nil for any adapter.
    public var adapter: String?
    /// The device at the other end, or nil for any device.
    public var device: BluetoothDeviceAddress?
    /// The host that a simulated accessory connects to. If nil, the accessory waits for a host to connect.
    public var dials: BluetoothDeviceAddress?

    /// Creates a selector; if all its parts are nil, it matches everything.
    public init(
      adapter: String? = nil, device: BluetoothDeviceAddress? = nil, dials: BluetoothDeviceAddress? = nil
    ) {
      self.adapter = adapter
      self.device = device
      self.dials = dials
    }

    /// The selector as written after `bt:`.
    public var description: String {
      var text = adapter ?? ""
      if let device { text += (adapter == nil ? "" : "#") + device.description }
      if let dials { text += (text.isEmpty ? "" : ",") + "dial=\(dials)" }
      return text
    }
  }
}

/// Parses what may follow `bt:`: nothing, `AA:BB:CC:DD:EE:FF`, `hci1`, `hci1#AA:BB:CC:DD:EE:FF`, or
/// `hci1,dial=AA:BB:CC:DD:EE:FF`.
extension AddressParser {
  func bluetooth(_ rest: Substring) throws(AddressError) -> Address.BluetoothSelector {
    var selector = Address.BluetoothSelector()
    var place = rest
    if let comma = rest.firstIndex(of: ",") {
      place = rest[..<comma]
      selector.dials = try dials(rest[rest.index(after: comma)...], before: place)
    } else if rest.hasPrefix("dial=") {
      place = rest[..<rest.startIndex]
      selector.dials = try dials(rest, before: "")
    }
    if place.isEmpty { return selector }
    if let hash = place.firstIndex(of: "#") {
      selector.adapter = try adapter(place[..<hash])
      selector.device = try device(place[place.index(after: hash)...], form: "bt:\(place[..<hash])#AA:BB:CC:DD:EE:FF")
    } else if place.contains(":") {
      selector.device = try device(place, form: "bt:AA:BB:CC:DD:EE:FF")
    } else {
      selector.adapter = try adapter(place)
    }
    return selector
  }

  private func adapter(_ part: Substring) throws(AddressError) -> String {
    guard part.hasPrefix("hci"), part.utf8.count <= 16, Self.number(part.dropFirst(3)) != nil, part != "hci"
    else {
      throw error(part, "'\(part)' is neither an adapter such as hci0 nor a Bluetooth address", "bt:hci0")
    }
    return String(part)
  }

  private func device(_ part: Substring, form: String) throws(AddressError) -> BluetoothDeviceAddress {
    if let address = BluetoothDeviceAddress(part) { return address }
    let dashed = part.split(separator: "-").joined(separator: ":")
    let meant = BluetoothDeviceAddress(dashed).map { "bt:\($0)" }
    throw error(part, "'\(part)' is not a Bluetooth address of six pairs of hexadecimal digits", meant ?? form)
  }

  private func dials(_ part: Substring, before place: Substring) throws(AddressError) -> BluetoothDeviceAddress {
    let form = "bt:\(place)\(place.isEmpty ? "" : ",")dial=AA:BB:CC:DD:EE:FF"
    guard part.hasPrefix("dial=") else { throw error(part, "unknown option '\(part)'", form) }
    return try device(part.dropFirst(5), form: form)
  }
}
