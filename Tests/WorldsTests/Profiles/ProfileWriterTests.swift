import AccessoryFormats
import Testing

@testable import AccessoryProfiles

@Suite struct ProfileWriterTests {
  @Test func onlyWhatDiffersFromTheDefaultsIsWritten() throws {
    var profile = try ProfileLibrary().profile("lawk-view")
    profile.summary = ""
    #expect(
      profile.text(comment: "Imported from a dump.\n\nBy hand.") == """
        // Imported from a dump.
        //
        // By hand.
        {
          version: 1,
          accessory: {
            name: "李未可 View AI眼镜",
            manufacturer: "李未可",
            modelNumber: "LAWK View",
            serialNumber: "040025380108A000608",
            ppid: "cf9734dfae8b4078",
            regionCode: null,
            firmwareRevision: "1",
            firmwareRevisionPending: null,
            hardwareRevision: "1",
            dockType: "",
            currentLanguage: "zh",
            supportedLanguages: ["zh", "en"],
            protocols: ["com.lawaken.iap2"],
          },
          behavior: "echo",
        }

        """)
  }

  @Test(arguments: [JSON5Writer.Style.json5, .json])
  func everyShippedProfileIsReadBackAsItWasWritten(style: JSON5Writer.Style) throws {
    for (name, _) in ProfileLibrary().names {
      let profile = try ProfileLibrary().template(name).profile
      let text = profile.text(comment: "x", as: style)
      let again = try ProfileLibrary().template(text: Array(text.utf8), file: "f", name: name).profile
      #expect(again == profile, "\(name)")
    }
  }

  @Test func aProfileWithEveryKeyIsReadBackAsItWasWritten() throws {
    var profile = try readTemplate(everyKey).profile
    profile.identity.name = "\"quoted\"\n李未可\\{index:03}"
    profile.protocols[1].matchAction = .init(rawValue: 7)
    profile.link.cumulativeAcknowledgementTimeout = .microseconds(10_001)
    profile.quirks = Quirk.format.examples
    #expect(try readTemplate(profile.text(comment: "again")).profile == profile)
  }
}
