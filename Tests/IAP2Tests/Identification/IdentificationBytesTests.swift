import IAP2
import Testing

/// Reads and writes every parameter of 1D01, and compares the results with bytes written by hand.
@Suite struct IdentificationBytesTests {
  private static let parts = [
    "0009 0000 4c41574b00",  // name "LAWK"
    "0007 0001 4d3100",  // model "M1"
    "0009 0002 41636d6500",  // manufacturer "Acme"
    "0007 0003 533900",  // serial number "S9"
    "0008 0004 312e3200",  // firmware "1.2"
    "0006 0005 3300",  // hardware "3"
    "000a 0006 ae00 ae02 ea03",  // sends
    "000a 0007 ae01 ea00 ea01",  // receives
    "0005 0008 02",  // advanced power
    "0006 0009 01f4",  // 500 mA
    // Protocol B1 is "a.b", with match action 1, native transport component 3 and CarPlay. Protocol 2 is "c.d", with an
    // unknown match action.
    "0020 000a 00050000b1 00080001612e6200 0005000201 000600030003 00040004",
    "0016 000a 0005000002 00080001632e6400 0005000207",
    "0007 000b 543100",  // team "T1"
    "0007 000c 656e00",  // current language "en"
    "0007 000d 656e00",  // supported "en"
    "0007 000d 646500",  // and "de"
    "0014 000e 000600000001 000600015500 00040002",  // serial, 1, "U"
    "001e 000f 000600000003 000600014400 00040002 0005000304 0005000308",  // USB device, 3, "D", two sample rates
    "001d 0010 000600000000 000600014800 00040002 0005000302 00040004",  // USB host, 0, "H", CarPlay on interface 2
    "001e 0011 000600000005 000600014200 00040002 000a0003a0b1c2d3e4f5",  // Bluetooth, 5, "B", its address
    "0015 0012 000600000007 000600014b00 0005000201",  // HID, 7, "K", media remote
    "0018 0018 000600000009 000600015700 00040002 00040004",  // wireless CarPlay, 9, "W"
    "0015 0022 3031323334353637383941424344454600",  // product plan
    "0008 0014 deadbeef",  // parameter 20, for which there is no property
    "0004 0026",  // 38, which only says "present"
  ]

  private static var identification: Identification {
    var it = Identification()
    it.name = "LAWK"
    it.model = "M1"
    it.manufacturer = "Acme"
    it.serialNumber = "S9"
    it.firmwareVersion = "1.2"
    it.hardwareVersion = "3"
    it.messagesSent = [.startPowerUpdates, .stopPowerUpdates, .externalAccessorySessionStatus]
    it.messagesReceived = [.powerUpdate, .startExternalAccessorySession, .stopExternalAccessorySession]
    it.powerProvidingCapability = 2
    it.maximumCurrentDrawn = 500
    it.protocols = [
      ExternalAccessoryProtocol(
        id: 0xB1, name: "a.b", matchAction: .optional, nativeTransportComponent: 3, isCarPlay: true),
      ExternalAccessoryProtocol(id: 2, name: "c.d", matchAction: .unknown(7)),
    ]
    it.appMatchTeamID = "T1"
    it.currentLanguage = "en"
    it.supportedLanguages = ["en", "de"]
    var usbDevice = TransportComponent(kind: .usbDevice, id: 3, name: "D")
    usbDevice.sampleRates = [4, 8]
    var usbHost = TransportComponent(kind: .usbHost, id: 0, name: "H")
    usbHost.carPlayInterface = 2
    usbHost.supportsCarPlay = true
    var bluetooth = TransportComponent(kind: .bluetooth, id: 5, name: "B")
    bluetooth.address = [0xA0, 0xB1, 0xC2, 0xD3, 0xE4, 0xF5]
    var wireless = TransportComponent(kind: .wirelessCarPlay, id: 9, name: "W")
    wireless.supportsCarPlay = true
    it.transports = [
      TransportComponent(kind: .serial, id: 1, name: "U"), usbDevice, usbHost, bluetooth, wireless,
    ]
    it.hidComponents = [HIDComponent(id: 7, name: "K", function: 1)]
    it.productPlanUID = "0123456789ABCDEF"
    it.other = [Parameter(id: 20, value: [0xDE, 0xAD, 0xBE, 0xEF]), Parameter(id: 38, value: [])]
    return it
  }

  @Test func theIdentificationIsWrittenAsTheSheetSays() {
    let message = Self.identification.message
    #expect(message.id.rawValue == 0x1D01)
    let written = try? ParameterReader.read(message.body).map { Sheet.parameter($0.id, Sheet.hex($0.value)) }
    // The parts are compared one by one, so that a failure shows which part is wrong.
    #expect(written == Self.parts.map { Sheet.hex(Sheet.unhex($0)) })
    #expect(Sheet.hex(message.body) == Sheet.hex(Self.parts.flatMap(Sheet.unhex)))
  }

  @Test func theIdentificationIsReadAsTheSheetSays() {
    let body = Self.parts.flatMap(Sheet.unhex)
    let reading = IdentificationReading(ControlMessage(.identificationInformation, body: body))
    #expect(reading.findings == [])
    #expect(reading.identification == Self.identification)
  }

  @Test func theOrderOfParametersDoesNotMatter() {
    // In one capture, parameter 34 is between parameters 3 and 4. Repeated parameters keep their relative order.
    var shuffled = Self.parts
    shuffled.insert(shuffled.remove(at: 22), at: 4)
    shuffled.swapAt(0, 9)
    let reading = IdentificationReading(
      ControlMessage(.identificationInformation, body: shuffled.flatMap(Sheet.unhex)))
    #expect(reading.findings == [])
    #expect(reading.identification == Self.identification)
  }
}
