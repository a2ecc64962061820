import IAP2
import Testing

@Suite struct MessageCatalogTests {
  /// Each row has a message number, the sender and the number of parameters. The rows come from public sources, with
  /// ranges of numbers expanded.
  static let sheet: [(UInt16, Link.Role?, Int)] = [
    (0x00B0, .device, 0), (0x00B1, .accessory, 2), (0x00B2, .device, 2), (0x00B3, .accessory, 1), (0x00B4, .device, 0),
    (0x1D00, .device, 0), (0x1D01, .accessory, 35), (0x1D02, .device, 0), (0x1D03, .device, 31),
    (0x1D05, .accessory, 0), (0x1D06, .accessory, 7), (0x4154, .accessory, 12), (0x4155, .device, 12),
    (0x4156, .accessory, 0), (0x4157, .accessory, 17), (0x4158, .device, 17), (0x4159, .accessory, 0),
    (0x415A, .accessory, 4), (0x415B, .accessory, 2), (0x415C, .accessory, 2), (0x415D, .accessory, 0),
    (0x415E, .accessory, 0), (0x415F, .accessory, 2), (0x4160, .accessory, 1), (0x4161, .accessory, 2),
    (0x4170, .accessory, 5), (0x4171, .device, 6), (0x4172, .accessory, 0), (0x4300, .device, 3),
    (0x4301, .accessory, 9), (0x4302, nil, 0), (0x4303, nil, 0), (0x4C00, .accessory, 0), (0x4C01, .device, 1),
    (0x4C02, .accessory, 0),
    (0x4C03, .accessory, 8), (0x4C04, .device, 10), (0x4C05, .accessory, 1), (0x4C06, .accessory, 1),
    (0x4C07, .accessory, 3), (0x4C08, .accessory, 5), (0x4C09, .accessory, 3), (0x4E01, .accessory, 1),
    (0x4E03, .accessory, 1), (0x4E04, .device, 2), (0x4E05, .accessory, 0), (0x4E09, .device, 1),
    (0x4E0A, .device, 1), (0x4E0B, .device, 3), (0x4E0C, .device, 1), (0x4E0D, .device, 1), (0x4E0E, .device, 2),
    (0x5000, .accessory, 3), (0x5001, .device, 2), (0x5002, .accessory, 0), (0x5003, .accessory, 3),
    (0x5200, .accessory, 6), (0x5201, .device, 27), (0x5202, .device, 14), (0x5203, .accessory, 1),
    (0x5204, .device, 4), (0x5400, .accessory, 0), (0x5401, .accessory, 0), (0x5402, .accessory, 0),
    (0x5403, .device, 1), (0x5404, .accessory, 0), (0x5700, .accessory, 0), (0x5701, .device, 4),
    (0x5702, .device, 0), (0x5703, .accessory, 4), (0x6800, .accessory, 5), (0x6801, .device, 2),
    (0x6802, .accessory, 2), (0x6803, .accessory, 1), (0x6806, nil, 0), (0x6807, nil, 0), (0xA100, .device, 16),
    (0xA101, .accessory, 25),
    (0xA102, .device, 0), (0xAA00, .device, 1), (0xAA01, .accessory, 1), (0xAA02, .device, 1), (0xAA03, .accessory, 1),
    (0xAA04, .device, 0), (0xAA05, .device, 0),
    (0xAA06, .accessory, 0), (0xAD00, nil, 0), (0xAD01, nil, 0), (0xAD02, nil, 0), (0xAD03, nil, 0),
    (0xAE00, .accessory, 12), (0xAE01, .device, 13),
    (0xAE02, .accessory, 0), (0xAE03, .accessory, 5), (0xAE05, nil, 0), (0xDA00, .accessory, 0), (0xDA01, .device, 3),
    (0xDA02, .accessory, 0), (0xEA00, .device, 2), (0xEA01, .device, 1), (0xEA02, .accessory, 2),
    (0xEA03, .accessory, 2), (0xFFF0, .device, 3), (0xFFFA, .device, 15), (0xFFFB, .accessory, 1),
    (0xFFFC, .device, 0),
  ]

  @Test func theCatalogueIsTheSheetsTable() {
    #expect(MessageCatalog.all.map(\.id.rawValue) == Self.sheet.map(\.0))
    for (number, sender, count) in Self.sheet {
      let entry = MessageCatalog.entry(MessageID(rawValue: number))
      #expect(entry?.sender == sender, "\(Hex.number(number))")
      #expect(entry?.parameterCount == count, "\(Hex.number(number))")
    }
  }

  @Test func everyNameIsThereOnceAndFound() {
    var names: Set<String> = []
    for entry in MessageCatalog.all where !entry.name.isEmpty {
      #expect(names.insert(entry.name).inserted, "\(entry.name)")
      #expect(MessageCatalog.named(entry.name)?.id == entry.id)
    }
    #expect(MessageCatalog.named("Nonsense") == nil)
    #expect(MessageCatalog.named("") == nil)
    #expect(MessageCatalog.entry(MessageID(rawValue: 0x1D04)) == nil)
  }

  /// A parameter whose description cannot be parsed would be missing from every transcript.
  @Test func everyParameterOfTheDataIsUnderstood() {
    for entry in MessageCatalog.all {
      var seen: Set<UInt16> = []
      for parameter in entry.parameters {
        #expect(seen.insert(parameter.id).inserted, "\(entry.id): \(parameter.id) is there twice")
      }
      #expect(entry.parameters.count <= entry.parameterCount, "\(entry.id)")
    }
    #expect(MessageCatalog.entry(.identificationInformation)?.parameters.count == 29)
    #expect(MessageCatalog.entry(.powerUpdate)?.parameters.map(\.id) == [0, 1, 2, 4, 5, 6])
  }

  /// These message numbers have been observed in use, so they are listed although no source describes them.
  @Test func messagesWithoutANameShowAsTheirNumber() {
    let unnamed = MessageCatalog.all.filter(\.name.isEmpty)
    #expect(
      unnamed.map(\.id.description) == [
        "4302", "4303", "6806", "6807", "AD00", "AD01", "AD02", "AD03", "AE05",
      ])
    #expect(unnamed.allSatisfy { $0.sender == nil })
    #expect(MessageText.line(ControlMessage(MessageID(rawValue: 0xAD00), body: [0, 5, 0, 1, 7])) == "AD00 1=07")
  }

  @Test func theParametersInAGroupHaveNames() throws {
    let update = ControlMessage(MessageID(rawValue: 0x5001)) {
      $0.group(0) {
        $0.text(1, "A song")
        $0.number(4, UInt32(1000))
        $0.u8(99, 1)
      }
      $0.group(1) { $0.u8(0, 1) }
    }
    #expect(
      MessageText.line(update)
        == "5001 NowPlayingUpdate media-item={title=\"A song\" duration-ms=1000 99=01} playback={status=1}")
    #expect(MessageText.line(update, atMost: 30) == "5001 NowPlayingUpdate media-i…")
    let decoded = try update.decoded()
    #expect(decoded.map(\.name) == ["media item", "playback"])
    let entry = try #require(MessageCatalog.entry(update.id))
    #expect(entry.parameters.map(\.group.count) == [14, 11])
  }

  @Test(arguments: [
    (
      0xAE01, "0006000001f4" + "0005000101" + "00060006 0064",
      "AE01 PowerUpdate maximum-current-drawn-mA=500 will-charge=1 battery-percent=100"
    ),
    (0xEA02, "00080000612e6200" + "0005000100", "EA02 RequestAppLaunch bundle-id=\"a.b\" alert=0"),
    (0x4E09, "000a00006950686f00ff", "4E09 DeviceInformationUpdate device-name=6950686f00ff"),
    (0x1D03, "00040003" + "00060007ae01", "1D03 IdentificationRejected 3=yes 7=ae01"),
    (0x1D01, "00080006ea00ea01", "1D01 IdentificationInformation messages-sent=[EA00 EA01]"),
    (0xAA01, "000e0000" + "00112233445566778899", "AA01 AuthenticationCertificate certificate=0011223344556677…(10)"),
    (
      0x4E09, "000500",
      "4E09 DeviceInformationUpdate (unreadable: a parameter needs 4 bytes but has 3, at byte 0: 00 05 00)"
    ),
  ])
  func messagesShowAsOneLine(_ number: Int, _ body: String, _ line: String) {
    let message = ControlMessage(MessageID(rawValue: UInt16(number)), body: Sheet.unhex(body))
    #expect(MessageText.line(message) == line)
  }

  /// Text from the peer must neither break a transcript's lines nor control the terminal.
  @Test func textCannotBreakOutOfItsLine() {
    let body = Sheet.parameter(0, Sheet.text("a\n\u{1B}[2J\"\\b\u{7F}\u{85}é"))
    let line = MessageText.line(ControlMessage(.deviceInformationUpdate, body: Sheet.unhex(body)))
    #expect(line == "4E09 DeviceInformationUpdate device-name=\"a\\u{a}\\u{1b}[2J\\\"\\\\b\\u{7f}\\u{85}é\"")
  }
}
