import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import IAP2
import LinuxIO
import Testing

@testable import AccessoryWorlds

/// Tests, from both sides, every message that the device sends automatically. Only an accessory that declares a message
/// may get that message.
@Suite struct ReadyAnswersTests {
  /// One accessory's declarations and behavior, and the messages that must pass over the cable besides identification
  /// and authentication.
  struct Row: Sendable, CustomTestStringConvertible {
    let name: String
    var sends: [String] = []
    let receives: [String]
    var rules: [String] = []
    let fromDevice: [String]
    var fromAccessory: [String] = []

    var testDescription: String { name }
  }

  static let rows = [
    Row(
      name: "the identifier", receives: ["4E0C"],
      fromDevice: ["4E0C DeviceUUIDUpdate UUID=\"00000000-0000-4000-8000-00000000EA51\""]),
    Row(
      name: "the request for the accessory's Wi-Fi, repeated", receives: ["5702"],
      fromDevice: [
        "5702 RequestAccessoryWiFiConfigurationInformation", "5702 RequestAccessoryWiFiConfigurationInformation",
      ]),
    Row(
      name: "the request for the accessory's Wi-Fi, answered", sends: ["5703"], receives: ["5702"],
      rules: ["{ on: '5702', send: '5703', parameters: { ssid: 'S', passphrase: 'P', security: 2, channel: 36 } }"],
      fromDevice: ["5702 RequestAccessoryWiFiConfigurationInformation"],
      fromAccessory: ["5703 AccessoryWiFiConfigurationInformation ssid=\"S\" passphrase=\"P\" security=2 channel=36"]),
    Row(
      name: "the vehicle's status", sends: ["A101"], receives: ["A100"],
      rules: ["{ on: 'A100', send: 'A101', parameters: { range: 320, temperature: -5 } }"],
      fromDevice: ["A100 StartVehicleStatusUpdates range=yes temperature=yes range-warning=yes"],
      fromAccessory: ["A101 VehicleStatusUpdate range=320 temperature=-5"]),
    Row(
      name: "the time", receives: ["4E0B"],
      fromDevice: ["4E0B DeviceTimeUpdate seconds=1777777777 zone-minutes=0 DST-minutes=0"]),
    Row(name: "wireless CarPlay", receives: ["4E0D"], fromDevice: ["4E0D WirelessCarPlayUpdate status=0"]),
    Row(name: "the language", receives: ["4E0A"], fromDevice: ["4E0A DeviceLanguageUpdate language=\"en\""]),
    Row(name: "the name", receives: ["4E09"], fromDevice: ["4E09 DeviceInformationUpdate device-name=\"easim\""]),
    Row(
      name: "the identifiers of transports", receives: ["4E0E"],
      fromDevice: [
        "4E0E DeviceTransportIdentifierNotification Bluetooth-MAC=\"02:00:5E:00:EA:51\" USB-id=\"00008030-0000EA51\""
      ]),
    Row(
      name: "power", sends: ["AE00", "AE02", "AE03"], receives: ["AE01"],
      rules: [
        "{ send: 'AE00', parameters: { 'battery percent': true, 'will charge': true } }",
        "{ on: 'AE01', send: 'AE03', parameters: { 'available mA': 2400, 'should charge': true } }",
      ],
      fromDevice: ["AE01 PowerUpdate will-charge=0 battery-percent=80"],
      fromAccessory: [
        "AE00 StartPowerUpdates battery-percent=yes will-charge=yes",
        "AE03 PowerSourceUpdate available-mA=2400 should-charge=1",
      ]),
    Row(
      name: "HID", sends: ["6800", "6802", "6803"], receives: ["6801"],
      rules: [
        "{ send: '6800', parameters: { component: 7, vendor: 0x1209, product: 1 } }",
        "{ after: '1s', send: '6802', parameters: { component: 7, report: '01' } }",
        "{ after: '2s', send: '6803', parameters: { component: 7 } }",
      ],
      fromDevice: ["6801 DeviceHIDReport component=7 report=00"],
      fromAccessory: [
        "6800 StartHID component=7 vendor=4617 product=1", "6802 AccessoryHIDReport component=7 report=01",
        "6803 StopHID component=7",
      ]),
    Row(
      name: "location", sends: ["FFFB"], receives: ["FFFA", "FFFC"],
      rules: ["{ on: 'FFFA', with: { RMC: true }, send: 'FFFB', parameters: { 'NMEA sentence': '$GPRMC' } }"],
      fromDevice: ["FFFA StartLocationInformation GGA=yes RMC=yes"],
      fromAccessory: ["FFFB LocationInformation NMEA-sentence=\"$GPRMC\""]),
    Row(
      name: "the state of Bluetooth", sends: ["4E03", "4E05"], receives: ["4E04"],
      rules: ["{ send: '4E03', parameters: { component: 9 } }"],
      fromDevice: ["4E04 BluetoothConnectionUpdate component=9"],
      fromAccessory: ["4E03 StartBluetoothConnectionUpdates component=9"]),
    Row(
      name: "the device's Wi-Fi", sends: ["5700"], receives: ["5701"], rules: ["{ send: '5700' }"],
      fromDevice: ["5701 WiFiInformation status=0 1=\"easim\" 2=\"easim-wifi\""],
      fromAccessory: ["5700 RequestWiFiInformation"]),
    Row(
      name: "pairing out of band", sends: ["00B1", "00B3"], receives: ["00B0", "00B2", "00B4"],
      rules: [
        "{ on: '00B0', send: '00B1', parameters: { 'transport component': 1, MAC: '02 00 5e 10 00 02' } }",
        "{ on: '00B2', send: '00B3', parameters: { result: 0 } }",
      ],
      fromDevice: [
        "00B0 StartOOBBTPairing",
        "00B2 OOBBTPairingLinkKeyInformation link-key=eaeaeaeaeaeaeaea…(16) device-MAC=02005e00ea51",
      ],
      fromAccessory: [
        "00B1 OOBBTPairingAccessoryInformation transport-component=1 MAC=02005e100002",
        "00B3 OOBBTPairingCompletionInformation result=0",
      ]),
    Row(
      name: "audio over USB", sends: ["DA00", "DA02"], receives: ["DA01"], rules: ["{ send: 'DA00' }"],
      fromDevice: ["DA01 USBDeviceModeAudioInformation rate=8"], fromAccessory: ["DA00 StartUSBDeviceModeAudio"]),
    Row(
      name: "what is playing", sends: ["5000", "5002"], receives: ["5001"],
      rules: [
        "{ send: '5000', parameters: { 'media item fields': { title: true }, 'playback fields': { app: true } } }"
      ],
      fromDevice: ["5001 NowPlayingUpdate media-item={title=\"A song\"} playback={app=\"Music\"}"],
      fromAccessory: ["5000 StartNowPlayingUpdates media-item-fields={title=yes} playback-fields={app=yes}"]),
  ]

  private func world(_ row: Row, declares: Bool) throws -> World {
    func list(_ ids: [String]) -> String { ids.map { "'\($0)'" }.joined(separator: ", ") }
    let text = """
      {
        version: 1,
        accessory: {
          name: 'N', manufacturer: 'M', modelNumber: 'X', serialNumber: 'S', firmwareRevision: '1', hardwareRevision: '1',
          protocols: ['com.example.a'],
        },
        messages: {
          sent: [\(list(["EA03"] + row.sends))], received: [\(list(["EA00", "EA01"] + (declares ? row.receives : [])))],
        },
        rules: [\(row.rules.joined(separator: ","))],
      }
      """
    let profile = try ProfileLibrary().template(text: Array(text.utf8), file: "p", name: "p").profile
    let loop = VirtualLoop(seed: 1)
    var settings = World.Settings()
    settings.reportsMessages = true
    let world = World(settings, on: loop)
    try world.add(profile).plugIn()
    _ = try loop.run(until: { false }, limit: .seconds(3))
    return world
  }

  @Test(arguments: rows)
  func bothEndsPlayTheirPart(_ row: Row) throws {
    let world = try world(row, declares: true)
    #expect(world.messages(.accessory, .received) == row.fromDevice)
    #expect(world.messages(.device, .sent) == row.fromDevice)
    #expect(world.messages(.device, .received) == row.fromAccessory)
    #expect(world.messages(.accessory, .sent) == row.fromAccessory)
    #expect(world.warnings == [])
  }

  @Test(arguments: rows)
  func anAccessoryThatDoesNotDeclareItDoesNotGetIt(_ row: Row) throws {
    #expect(try world(row, declares: false).messages(.device, .sent) == [])
  }

  /// Checks that the table contains each of the device's built-in rules.
  @Test func noReadyMadeMessageIsMissingInTheTable() {
    let tested = Self.rows.flatMap(\.fromDevice).map { String($0.prefix(4)) }
    let all = DeviceProfile().messageRules.map { Hex.number($0.message.rawValue) }
    #expect(Set(tested) == Set(all))
  }
}

extension World {
  /// Returns the events in a world where an echo with this quirk is plugged in.
  static func events(
    of quirk: String? = nil, for time: Duration, _ change: (inout Settings) -> Void = { _ in }
  ) throws -> [TimelineEvent] {
    let loop = VirtualLoop(seed: 1)
    var settings = Settings()
    change(&settings)
    let world = World(settings, on: loop)
    var profile = try ProfileLibrary().profile("echo")
    if let quirk { profile.apply(try Quirk(quirk)) }
    try world.add(profile).plugIn()
    _ = try loop.run(until: { false }, limit: time)
    return world.events
  }

  /// The messages that passed one end in one direction, except those of authentication, identification and sessions.
  func messages(_ side: TimelineEvent.Side, _ direction: PassedMessage.Direction) -> [String] {
    events.compactMap { event in
      guard event.side == side, case .message(let passed) = event.kind, passed.direction == direction,
        ![0x1D, 0xAA, 0xEA].contains(passed.message.id.rawValue >> 8)
      else { return nil }
      return MessageText.line(passed.message, atMost: 200)
    }
  }

  var warnings: [String] {
    events.compactMap { event in if case .warning(let text) = event.kind { text } else { nil } }
  }
}
