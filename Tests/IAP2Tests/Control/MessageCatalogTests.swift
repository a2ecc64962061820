import IAP2
import Testing

@Suite struct MessageCatalogTests {
  /// The messages that the device sends, according to public sources. The accessory sends all others that have a name.
  private static let sentByDevice: Set<UInt16> = [
    0x00B0, 0x00B2, 0x00B4, 0x1D00, 0x1D02, 0x1D03, 0x4155, 0x4158, 0x4171, 0x4300, 0x4C01, 0x4C04, 0x4E04, 0x4E09,
    0x4E0A, 0x4E0B, 0x4E0C, 0x4E0D, 0x4E0E, 0x5001, 0x5201, 0x5202, 0x5204, 0x5403, 0x5701, 0x5702, 0x6801, 0xA100,
    0xA102, 0xAA00, 0xAA02, 0xAA04, 0xAA05, 0xAE01, 0xDA01, 0xEA00, 0xEA01, 0xFFF0, 0xFFFA, 0xFFFC,
  ]

  @Test func everyMessageHasItsSender() {
    for entry in MessageCatalog.all where !entry.name.isEmpty {
      #expect(entry.sender == (Self.sentByDevice.contains(entry.id.rawValue) ? .device : .accessory), "\(entry.id)")
    }
    #expect(MessageCatalog.all.map(\.id.rawValue) == MessageCatalog.all.map(\.id.rawValue).sorted())
    #expect(MessageCatalog.all.count == 106)
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
