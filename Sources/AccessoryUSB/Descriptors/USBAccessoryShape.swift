/// The USB descriptors of a simulated accessory, for USB/IP and for FunctionFS.
///
/// The default vendor and product IDs, 1209:0001, are reserved by pid.codes for private testing and must not be used in
/// products.
public struct USBAccessoryShape: Equatable, Sendable {
  /// The vendor ID, idVendor.
  public var vendor: UInt16 = 0x1209
  /// The product ID, idProduct.
  public var product: UInt16 = 0x0001
  /// The release number, bcdDevice.
  public var release: UInt16 = 0x0100
  /// The manufacturer string.
  public var manufacturer: String
  /// The product string.
  public var name: String
  /// The serial number string.
  public var serial: String
  /// The speed at which the accessory connects.
  public var speed = USBSpeed.high
  /// The protocols that use native transport. Each protocol has its own endpoints, on an interface with the protocol's
  /// name.
  public var nativeProtocols: [String] = []

  static let interfaceName = "iAP Interface"

  /// The index of the string that names the iAP2 interface. The names of the native transports' interfaces follow.
  private static let interfaceNameIndex: UInt8 = 4

  /// USB allows 15 endpoint numbers, of which iAP2 uses two.
  static let mostNativeProtocols = 13

  /// Creates a shape with the default vendor and product IDs.
  public init(manufacturer: String, name: String, serial: String) {
    self.manufacturer = manufacturer
    self.name = name
    self.serial = serial
  }

  /// Returns every alternate setting of every interface at the given speed, first for iAP2 and then for each native
  /// transport. A native transport has no endpoints in alternate setting 0 and a pair of bulk endpoints in setting 1.
  func interfaces(at speed: USBSpeed) -> [USBInterface] {
    func pair(_ incoming: UInt8, _ outgoing: UInt8) -> [USBEndpoint] {
      [incoming, outgoing].map { USBEndpoint(address: $0, packetSize: speed.bulkPacketSize) }
    }
    precondition(
      nativeProtocols.count <= Self.mostNativeProtocols, "a profile's reader allows no more native transports")
    let main = USBInterface(
      number: 0, kind: .iAP, nameIndex: Self.interfaceNameIndex, endpoints: pair(0x81, 0x02))
    let natives = nativeProtocols.indices.flatMap { index in
      let step = UInt8(index)
      return [[], pair(0x83 + step, 0x03 + step)].enumerated().map { alternate, endpoints in
        USBInterface(
          number: 1 + step, alternate: UInt8(alternate), kind: .native,
          nameIndex: Self.interfaceNameIndex + 1 + step, endpoints: endpoints)
      }
    }
    return [main] + natives
  }

  var interfaceCount: UInt8 { UInt8(1 + nativeProtocols.count) }

  /// Returns the protocol of a native transport's interface, or nil for the iAP2 interface.
  func nativeProtocol(of interface: USBInterface) -> String? {
    interface.kind == .native ? nativeProtocols[Int(interface.number) - 1] : nil
  }

  /// The device descriptor. Class 0 means that each interface declares its own class. The last four bytes are the
  /// indices of three strings (manufacturer, product and serial number) and the number of configurations.
  var deviceDescriptor: [UInt8] {
    [18, 1, 0x00, 0x02, 0, 0, 0, 64] + vendor.littleEndianBytes + product.littleEndianBytes + release.littleEndianBytes
      + [1, 2, 3, 1]
  }

  /// The accessory's single configuration, which is self-powered, including all its descriptors.
  var configurationDescriptor: [UInt8] {
    let body = interfaces(at: speed).flatMap { $0.descriptor(namedBy: $0.nameIndex) }
    let total = UInt16(9 + body.count)
    return [9, 2] + total.littleEndianBytes + [interfaceCount, 1, 0, 0xC0, 50] + body
  }

  /// The device qualifier, which describes the device at its other speed. A full-speed device has none.
  var qualifierDescriptor: [UInt8]? {
    speed == .high ? [10, 6, 0x00, 0x02, 0, 0, 0, 64, 1, 0] : nil
  }

  func stringDescriptor(_ index: UInt8) -> [UInt8]? {
    // The device's only language is English (United States).
    if index == 0 { return [4, 3, 0x09, 0x04] }
    let strings = [manufacturer, name, serial, Self.interfaceName] + nativeProtocols
    return index <= strings.count ? Self.string(strings[Int(index) - 1]) : nil
  }

  /// Encodes a string descriptor. The length field is one byte, so the text is cut to 126 UTF-16 code units, without
  /// splitting a surrogate pair.
  private static func string(_ text: String) -> [UInt8] {
    var units: [UInt16] = []
    for scalar in text.unicodeScalars {
      let next = Array(String(scalar).utf16)
      guard units.count + next.count <= 126 else { break }
      units += next
    }
    return [UInt8(2 + 2 * units.count), 3] + units.flatMap(\.littleEndianBytes)
  }
}

extension USBInterface {
  func descriptor(namedBy name: UInt8) -> [UInt8] {
    let head: [UInt8] = [
      9, 4, number, alternate, UInt8(endpoints.count), kind.classCode, kind.subclass, kind.protocolCode, name,
    ]
    return endpoints.reduce(head) { bytes, endpoint in
      bytes + [7, 5, endpoint.address, endpoint.attributes] + endpoint.packetSize.littleEndianBytes + [0]
    }
  }
}

// Numbers are little-endian in USB and big-endian in USB/IP.

extension FixedWidthInteger {
  var littleEndianBytes: [UInt8] { withUnsafeBytes(of: littleEndian) { Array($0) } }
}

extension RandomAccessCollection<UInt8> where Index == Int {
  func littleEndian16(at offset: Int) -> UInt16 { UInt16(self[offset]) | UInt16(self[offset + 1]) << 8 }

  func bigEndian16(at offset: Int) -> UInt16 { UInt16(self[offset]) << 8 | UInt16(self[offset + 1]) }

  func bigEndian32(at offset: Int) -> UInt32 {
    UInt32(bigEndian16(at: offset)) << 16 | UInt32(bigEndian16(at: offset + 2))
  }
}

extension [UInt8] {
  mutating func addBigEndian(_ number: some FixedWidthInteger) {
    Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
  }
}
