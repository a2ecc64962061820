/// The address of a Bluetooth device, such as `AA:BB:CC:DD:EE:FF`.
public struct BluetoothDeviceAddress: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// Its 48 bits; the first pair of digits is the highest byte.
  public let bits: UInt64

  /// An address of 48 bits.
  public init(bits: UInt64) {
    self.bits = bits & 0xFFFF_FFFF_FFFF
  }

  /// Reads six pairs of hexadecimal digits with colons between them; nil for anything else.
  public init?(_ text: some StringProtocol) {
    let pairs = text.split(separator: ":", omittingEmptySubsequences: false)
    guard pairs.count == 6 else { return nil }
    var bits: UInt64 = 0
    for pair in pairs {
      guard pair.utf8.count == 2, pair.utf8.first != UInt8(ascii: "+"), let byte = UInt8(pair, radix: 16) else {
        return nil
      }
      bits = bits << 8 | UInt64(byte)
    }
    self.bits = bits
  }

  /// Its bytes in the order of the kernel's structures: the lowest first.
  public var lowestFirst: [UInt8] { (0..<6).map { UInt8(truncatingIfNeeded: bits >> ($0 * 8)) } }

  /// "AA:BB:CC:DD:EE:FF".
  public var description: String {
    lowestFirst.reversed().map { Hex.number($0) }.joined(separator: ":")
  }

  /// In the order of their digits.
  public static func < (left: Self, right: Self) -> Bool { left.bits < right.bits }
}

extension Address {
  /// What may follow `bt:`: which adapter of this machine, and which device at the other end.
  public struct BluetoothSelector: Hashable, Sendable, CustomStringConvertible {
    /// The adapter, such as `hci0`; any when nil.
    public var adapter: String?
    /// The device at the other end; any when nil.
    public var device: BluetoothDeviceAddress?
    /// For a simulated accessory: the host that it dials, instead of waiting for one.
    public var dials: BluetoothDeviceAddress?

    /// A selector; everything when all are nil.
    public init(
      adapter: String? = nil, device: BluetoothDeviceAddress? = nil, dials: BluetoothDeviceAddress? = nil
    ) {
      self.adapter = adapter
      self.device = device
      self.dials = dials
    }

    /// The selector as it is written after `bt:`.
    public var description: String {
      var text = adapter ?? ""
      if let device { text += (adapter == nil ? "" : "#") + device.description }
      if let dials { text += (text.isEmpty ? "" : ",") + "dial=\(dials)" }
      return text
    }
  }
}

/// What may follow `bt:`: nothing, `AA:BB:CC:DD:EE:FF`, `hci1`, `hci1#AA:BB:CC:DD:EE:FF`, `hci1,dial=AA:BB:CC:DD:EE:FF`.
struct BluetoothSelectorParser {
  let parser: AddressParser

  func parse(_ rest: Substring) throws(AddressError) -> Address.BluetoothSelector {
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
    guard part.hasPrefix("hci"), part.utf8.count <= 16, AddressParser.number(part.dropFirst(3)) != nil, part != "hci"
    else {
      throw parser.error(part, "'\(part)' is neither an adapter such as hci0 nor a Bluetooth address", "bt:hci0")
    }
    return String(part)
  }

  private func device(_ part: Substring, form: String) throws(AddressError) -> BluetoothDeviceAddress {
    if let address = BluetoothDeviceAddress(part) { return address }
    let dashed = part.split(separator: "-").joined(separator: ":")
    let meant = BluetoothDeviceAddress(dashed).map { "bt:\($0)" }
    throw parser.error(part, "'\(part)' is not a Bluetooth address of six pairs of hexadecimal digits", meant ?? form)
  }

  private func dials(_ part: Substring, before place: Substring) throws(AddressError) -> BluetoothDeviceAddress {
    let form = "bt:\(place)\(place.isEmpty ? "" : ",")dial=AA:BB:CC:DD:EE:FF"
    guard part.hasPrefix("dial=") else { throw parser.error(part, "unknown option '\(part)'", form) }
    return try device(part.dropFirst(5), form: form)
  }
}
