import Testing

@testable import AccessoryProfiles

/// The description of the glasses, line by line as the device printed it. `·` stands for a space at the end of a line,
/// because editors remove such spaces.
let glassesDump = """
  <EAAccessory: 0x282afdab0> {·
    connected:YES·
    connectionID:33685633·
    name: 李未可 View AI眼镜·
    manufacturer: 李未可·
    modelNumber: LAWK View·
    serialNumber: 040025380108A000608·
    ppid: cf9734dfae8b4078·
    regioncode: (null)·
    firmwareRevisionActive: 1·
    firmwareRevisionPending: (null)·
    hardwareRevision: 1·
    dockType: ·
    certSerial: 16 bytes·
    certData: 607 bytes·
    protocols: (
      "com.lawaken.iap2"
  )·
    delegate: (null)·
  }
  """.withVisibleSpaces

extension String {
  var withVisibleSpaces: String { String(map { $0 == "·" ? " " : $0 }) }
}

/// Returns the description of an accessory with this profile.
func description(_ profile: Profile) -> AccessoryDescription {
  var dump = AccessoryDescription(identity: profile.identity, protocols: profile.protocols.map(\.name))
  (dump.certSerial, dump.certData) = (profile.authentication.certSerial, profile.authentication.certData)
  return dump
}

@Suite struct AccessoryDescriptionTests {
  @Test func theGlassesArePrintedAsTheDeviceDidByteForByte() throws {
    var dump = try description(ProfileLibrary().profile("lawk-view"))
    dump.address = 0x2_82AF_DAB0
    dump.connectionID = 33_685_633
    #expect(Array(dump.text.utf8) == Array(glassesDump.utf8))
    // The length of the dump, as stated in the guide.
    #expect(dump.text.utf8.count == 453)
  }

  @Test func theOldestLayoutHasNoRegionAndTheNewestNoDelegate() throws {
    var dump = try description(ProfileLibrary().profile("lawk-view"))
    dump.address = 0x2_82AF_DAB0
    dump.connectionID = 33_685_633
    dump.generation = .a
    let lines = glassesDump.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(dump.text == lines.filter { !$0.hasPrefix("  regioncode:") }.joined(separator: "\n"))
    dump.generation = .c
    #expect(dump.text == lines.filter { !$0.hasPrefix("  delegate:") }.joined(separator: "\n"))
  }

  @Test func duringTheFlickerTheListIsEmpty() throws {
    var dump = AccessoryDescription(identity: try ProfileLibrary().profile("lawk-view").identity, protocols: [])
    (dump.address, dump.connectionID) = (0x2_82AF_DAB0, 33_685_633)
    (dump.isConnected, dump.certSerial, dump.delegate) = (false, 0, "<Thing: 0x1>")
    let expected = glassesDump.replacing("connected:YES", with: "connected:NO")
      .replacing("16 bytes", with: "0 bytes").replacing("    \"com.lawaken.iap2\"\n", with: "")
      .replacing("delegate: (null)", with: "delegate: <Thing: 0x1>")
    #expect(dump.text == expected)
  }

  @Test func theListIsPrintedAsFoundationPrintsAnArray() {
    #expect(
      PropertyListText.array(["com.a.b", "com.李未可.c", "plain", "q\"\\\n", "😀"]) == #"""
        (
            "com.a.b",
            "com.\U674e\U672a\U53ef.c",
            plain,
            "q\"\\\n",
            "\Ud83d\Ude00"
        )
        """#)
  }

  @Test func whatFoundationEscapesIsUnescaped() {
    for text in ["com.a.b", "com.李未可.c", "q\"\\\n", "😀", "\\U12", "\\x"] {
      let printed = PropertyListText.array([text]).split(separator: "\n")[1]
      #expect(PropertyListText.unescaped(printed.dropFirst(5).dropLast()) == text)
    }
    #expect(PropertyListText.unescaped(#"a\U12 \Uzzzz \q \"#) == #"a\U12 \Uzzzz \q \"#)
  }
}
