import Testing

@testable import AccessoryUSB

/// Compares descriptors with bytes written by hand according to chapter 9 of the USB specification.
@Suite struct DescriptorTests {
  static let device: [UInt8] = [
    0x12, 0x01, 0x00, 0x02, 0x00, 0x00, 0x00, 0x40, 0x09, 0x12, 0x01, 0x00, 0x00, 0x01, 0x01, 0x02, 0x03, 0x01,
  ]
  static let highSpeed: [UInt8] = [
    0x09, 0x02, 0x20, 0x00, 0x01, 0x01, 0x00, 0xC0, 0x32,
    0x09, 0x04, 0x00, 0x00, 0x02, 0xFF, 0xF0, 0x00, 0x04,
    0x07, 0x05, 0x81, 0x02, 0x00, 0x02, 0x00,
    0x07, 0x05, 0x02, 0x02, 0x00, 0x02, 0x00,
  ]

  var shape = USBAccessoryShape(manufacturer: "Lawaken", name: "Glasses", serial: "A1")

  @Test func anAccessoryOfHighSpeedIsDeclaredByteForByte() {
    #expect(shape.deviceDescriptor == Self.device)
    #expect(shape.configurationDescriptor == Self.highSpeed)
    #expect(shape.qualifierDescriptor == [0x0A, 0x06, 0x00, 0x02, 0x00, 0x00, 0x00, 0x40, 0x01, 0x00])
  }

  @Test func atFullSpeedThePacketsAreOf64BytesAndThereIsNoOtherSpeed() {
    var shape = shape
    shape.speed = .full
    #expect(Array(shape.configurationDescriptor[18..<25]) == [0x07, 0x05, 0x81, 0x02, 0x40, 0x00, 0x00])
    #expect(shape.qualifierDescriptor == nil)
  }

  @Test func stringsAreUTF16AndFitTheirLengthByte() {
    #expect(shape.stringDescriptor(0) == [0x04, 0x03, 0x09, 0x04])
    #expect(shape.stringDescriptor(3) == [0x06, 0x03, 0x41, 0x00, 0x31, 0x00])
    #expect(shape.stringDescriptor(4)?.prefix(4) == [0x1C, 0x03, 0x69, 0x00])
    #expect(shape.stringDescriptor(5) == nil)
    let long = USBAccessoryShape(
      manufacturer: String(repeating: "x", count: 125) + "😀", name: String(repeating: "y", count: 400), serial: "")
    #expect(long.stringDescriptor(1)?.count == 252, "a pair of surrogates is not torn apart")
    #expect(long.stringDescriptor(2)?.count == 254)
    #expect(long.stringDescriptor(3) == [0x02, 0x03])
  }

  @Test func whatTheKernelKeepsIsReadBack() throws {
    let found = try USBDescriptors(reading: Self.device + Self.highSpeed)
    #expect(found.vendor == 0x1209 && found.product == 1 && found.release == 0x0100)
    #expect(
      found.findIAP(active: 1)
        == .accessory(
          IAPInterfaces(configuration: 1, main: Self.pair(0, alternate: 0, 0x81, 0x02, name: 4))))
  }

  static func pair(
    _ number: UInt8, alternate: UInt8, _ incoming: UInt8, _ outgoing: UInt8, name: UInt8
  ) -> BulkPair {
    BulkPair(
      number: number, alternate: alternate, incoming: USBEndpoint(address: incoming, packetSize: 512),
      outgoing: USBEndpoint(address: outgoing, packetSize: 512), nameIndex: name)
  }

  /// The accessory has two native transports in addition to iAP2. Each native transport is an interface that is named
  /// after its protocol and has no endpoints in alternate setting 0.
  static let withNatives: [UInt8] = [
    0x09, 0x02, 0x60, 0x00, 0x03, 0x01, 0x00, 0xC0, 0x32,
    0x09, 0x04, 0x00, 0x00, 0x02, 0xFF, 0xF0, 0x00, 0x04,
    0x07, 0x05, 0x81, 0x02, 0x00, 0x02, 0x00,
    0x07, 0x05, 0x02, 0x02, 0x00, 0x02, 0x00,
    0x09, 0x04, 0x01, 0x00, 0x00, 0xFF, 0xF0, 0x01, 0x05,
    0x09, 0x04, 0x01, 0x01, 0x02, 0xFF, 0xF0, 0x01, 0x05,
    0x07, 0x05, 0x83, 0x02, 0x00, 0x02, 0x00,
    0x07, 0x05, 0x03, 0x02, 0x00, 0x02, 0x00,
    0x09, 0x04, 0x02, 0x00, 0x00, 0xFF, 0xF0, 0x01, 0x06,
    0x09, 0x04, 0x02, 0x01, 0x02, 0xFF, 0xF0, 0x01, 0x06,
    0x07, 0x05, 0x84, 0x02, 0x00, 0x02, 0x00,
    0x07, 0x05, 0x04, 0x02, 0x00, 0x02, 0x00,
  ]

  @Test func nativeTransportsAreDeclaredByteForByte() {
    var shape = shape
    shape.nativeProtocols = ["a.b", "c.d"]
    #expect(shape.configurationDescriptor == Self.withNatives)
    #expect(shape.stringDescriptor(5) == [0x08, 0x03, 0x61, 0x00, 0x2E, 0x00, 0x62, 0x00])
    #expect(shape.stringDescriptor(6) == [0x08, 0x03, 0x63, 0x00, 0x2E, 0x00, 0x64, 0x00])
    #expect(shape.stringDescriptor(7) == nil)
  }

  @Test func aHostFindsTheNativeTransportsOfAnAccessory() throws {
    guard case .accessory(let found) = try USBDescriptors(reading: Self.device + Self.withNatives).findIAP(active: 1)
    else {
      Issue.record("it is an accessory")
      return
    }
    #expect(
      found.natives == [
        Self.pair(1, alternate: 1, 0x83, 0x03, name: 5), Self.pair(2, alternate: 1, 0x84, 0x04, name: 6),
      ])
  }

  @Test func aNativeTransportWithoutAPairIsNone() throws {
    let native: [UInt8] = [0xFF, 0xF0, 0x01]
    let parts =
      Self.interface(0, Self.iAP, Self.pair) + Self.interface(1, native) + Self.interface(2, native, alternate: 1)
      + Self.interface(2, native, alternate: 3, [(0x85, 2, 64), (0x06, 2, 64)])
    guard
      case .accessory(let found) = try USBDescriptors(reading: Self.device + Self.configuration(1, parts))
        .findIAP(active: 1)
    else {
      Issue.record("it is an accessory")
      return
    }
    #expect(found.natives.map { [$0.number, $0.alternate] } == [[2, 3]])
  }

  @Test func endpointNumbersAreEnoughForThirteenNativeTransports() throws {
    var shape = shape
    shape.nativeProtocols = (0..<USBAccessoryShape.mostNativeProtocols).map { "com.example.p\($0)" }
    let addresses = shape.interfaces(at: .high).flatMap(\.endpoints).map(\.address)
    #expect(Set(addresses).count == 28)
    #expect(addresses.allSatisfy { $0 & 0x0F <= 15 })
  }

  // MARK: Foreign devices

  static func interface(
    _ number: UInt8, _ kind: [UInt8], alternate: UInt8 = 0, _ endpoints: [(UInt8, UInt8, UInt8)] = []
  ) -> [UInt8] {
    [0x09, 0x04, number, alternate, UInt8(endpoints.count)] + kind + [0x00]
      + endpoints.flatMap { [0x07, 0x05, $0.0, $0.1, $0.2, 0x00, 0x00] }
  }

  static func configuration(_ value: UInt8, _ parts: [UInt8]) -> [UInt8] {
    [0x09, 0x02, UInt8(9 + parts.count), 0x00, 0x01, value, 0x00, 0x80, 0x32] + parts
  }

  static let iAP: [UInt8] = [0xFF, 0xF0, 0x00]
  static let pair: [(UInt8, UInt8, UInt8)] = [(0x81, 2, 64), (0x02, 2, 64)]

  static func place(_ configurations: [UInt8]..., active: UInt8? = 1) throws -> [UInt8]? {
    let found = try USBDescriptors(reading: device + configurations.flatMap(\.self))
    guard case .accessory(let it) = found.findIAP(active: active) else { return nil }
    return [it.configuration, it.main.number, it.main.alternate]
  }

  @Test func anInterfaceIsFoundWhereverItStands() throws {
    let hid = Self.interface(0, [0x03, 0x00, 0x00], [(0x83, 3, 8)])
    let plain = Self.configuration(1, Self.interface(0, Self.iAP, Self.pair))
    #expect(try Self.place(plain) == [1, 0, 0])
    #expect(try Self.place(Self.configuration(1, hid + Self.interface(1, Self.iAP, Self.pair))) == [1, 1, 0])
    #expect(
      try Self.place(
        Self.configuration(1, Self.interface(0, Self.iAP) + Self.interface(0, Self.iAP, alternate: 1, Self.pair)))
        == [1, 0, 1], "the alternate setting with the pair")
    #expect(
      try Self.place(Self.configuration(1, hid), Self.configuration(2, Self.interface(4, Self.iAP, Self.pair)))
        == [2, 4, 0])
    let second = Self.configuration(2, Self.interface(3, Self.iAP, Self.pair))
    #expect(try Self.place(plain, second, active: 2) == [2, 3, 0], "what is chosen already is not chosen anew")
    #expect(try Self.place(plain, second, active: nil) == [1, 0, 0])
    let interrupted = [(0x83, 3, 8)] + Self.pair.reversed() as [(UInt8, UInt8, UInt8)]
    #expect(try Self.place(Self.configuration(1, Self.interface(0, Self.iAP, interrupted))) == [1, 0, 0])
    let association: [UInt8] = [0x08, 0x0B, 0x00, 0x01, 0xFF, 0xF0, 0x00, 0x00]
    #expect(
      try Self.place(Self.configuration(1, association + Self.interface(0, Self.iAP, Self.pair))) == [1, 0, 0],
      "descriptors of other types are stepped over")
  }

  @Test(arguments: [
    (interface(0, iAP, [(0x81, 2, 64)]), "interface 0 is FF/F0/00 and has no bulk OUT endpoint"),
    (interface(0, iAP, [(0x02, 2, 64)]), "interface 0 is FF/F0/00 and has no bulk IN endpoint"),
    (interface(0, iAP, [(0x81, 3, 64), (0x02, 3, 64)]), "interface 0 is FF/F0/00 and has no bulk endpoints"),
    (interface(0, iAP, [(0x81, 2, 0), (0x02, 2, 64)]), "interface 0 is FF/F0/00 and has no bulk IN endpoint"),
    (interface(0, iAP, [(0x80, 2, 64), (0x00, 2, 64)]), "interface 0 is FF/F0/00 and has no bulk endpoints"),
    (interface(0, iAP), "interface 0 is FF/F0/00 and has no bulk endpoints"),
    (
      interface(0, [0xFF, 0xF0, 0x01], pair),
      "interface 0 is a native transport, but the device has no iAP interface"
    ),
  ]) func aNearMissSaysWhatIsMissing(parts: [UInt8], reason: String) throws {
    let found = try USBDescriptors(reading: Self.device + Self.configuration(1, parts))
    #expect(found.findIAP(active: 1) == .nearMiss(reason))
  }

  @Test func otherDevicesAreNone() throws {
    let other = Self.configuration(1, Self.interface(0, [0xFF, 0xFF, 0x00], Self.pair))
    #expect(try USBDescriptors(reading: Self.device + other).findIAP(active: 1) == .unrelated)
  }

  // MARK: False descriptors

  @Test func aLieIsAnErrorWithItsPlace() {
    func error(_ bytes: [UInt8]) -> DescriptorError? {
      do throws(DescriptorError) { _ = try USBDescriptors(reading: bytes) } catch { return error }
      return nil
    }
    #expect(error([])?.description == "byte 0: a device descriptor has 18 bytes, but only 0 follow")
    #expect(error(Array(Self.device.dropFirst()) + [0])?.description.hasPrefix("byte 0: no device descriptor") == true)
    #expect(error(Self.device)?.description == "byte 18: there is no configuration")
    var long = Self.device + Self.highSpeed
    long[20] = 0x21
    #expect(error(long)?.description == "byte 18: the configuration claims 33 bytes, but only 32 follow")
    var short = Self.device + Self.highSpeed
    short[20] = 0x1F
    #expect(error(short)?.description == "byte 43: a descriptor claims 7 bytes, but only 6 follow")
    var endless = Self.device + Self.highSpeed
    endless[27] = 0
    #expect(error(endless)?.description == "byte 27: a descriptor claims 0 bytes, but only 23 follow")
    var stunted = Self.device + Self.highSpeed
    stunted[27] = 5
    #expect(error(stunted)?.description == "byte 27: an interface descriptor has 9 bytes, not 5")
    let lonely = Self.device + Self.configuration(1, [0x07, 0x05, 0x81, 0x02, 0x40, 0x00, 0x00])
    #expect(error(lonely)?.description == "byte 27: an endpoint descriptor comes before any interface descriptor")
  }

  @Test func noBytesWhateverCrashTheReader() {
    var whole = Self.device + Self.highSpeed
    for index in whole.indices {
      for value: UInt8 in [0, 1, 2, 7, 9, 0x7F, 0xFF] {
        let old = whole[index]
        whole[index] = value
        _ = try? USBDescriptors(reading: whole).findIAP(active: 1)
        _ = try? USBDescriptors(reading: Array(whole[..<index]))
        whole[index] = old
      }
    }
    #expect((try? USBDescriptors(reading: whole)) != nil)
  }
}
