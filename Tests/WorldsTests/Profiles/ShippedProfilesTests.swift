import AccessoryCore
import Testing

@testable import AccessoryProfiles

@Suite struct ShippedProfilesTests {
  let library = ProfileLibrary()

  @Test func theGlassesAreTheAccessoryOfTheDumpInEveryField() throws {
    let glasses = try library.profile("lawk-view")
    var identity = Profile.Identity(
      name: "李未可 View AI眼镜", manufacturer: "李未可", modelNumber: "LAWK View", serialNumber: "040025380108A000608",
      firmwareRevision: "1", hardwareRevision: "1")
    identity.productPlanUID = "cf9734dfae8b4078"
    identity.currentLanguage = "zh"
    identity.supportedLanguages = ["zh", "en"]
    #expect(glasses.identity == identity)
    #expect(glasses.protocols == [Profile.SessionProtocol("com.lawaken.iap2", id: 0)])
    #expect(glasses.authentication == Profile.Authentication(.current))
    #expect((glasses.authentication.certSerial, glasses.authentication.certData) == (16, 607))
    #expect(glasses.behavior == .echo)
    #expect(glasses.quirks.isEmpty)
  }

  @Test func whatIsEmbeddedIsWhatStandsInTheDirectory() throws {
    let files = try #require(Folder.names(in: profilesFolder)).filter { $0.hasSuffix(".json5") }
    #expect(ProfileLibrary.shippedFiles.map { "\($0.name).json5" } == files)
    for (name, bytes) in ProfileLibrary.shippedFiles {
      #expect(try TextFile.read("\(profilesFolder)/\(name).json5", limit: 1 << 20) == bytes)
    }
  }

  @Test func everyShippedProfileIsSoundAndSaysWhatItIsFor() throws {
    for (name, isUsers) in library.names {
      #expect(!isUsers)
      let template = try library.template(name)
      #expect(template.profile.name == name)
      #expect(!template.profile.summary.isEmpty)
      #expect(template.warnings.isEmpty)
      #expect(template.instance().check().isEmpty)
      #expect(try library.text(name).hasPrefix("// "))
      #expect(template.profile.identity.manufacturer == (name == "lawk-view" ? "李未可" : "Example Works"))
    }
  }

  @Test func theySpeakDifferentProtocolsAndHaveDifferentSerialNumbers() throws {
    let others = try library.names.map(\.name).filter { $0 != "misbehaving" }.map(library.profile)
    let protocols = others.flatMap(\.protocols).map(\.name)
    #expect(Set(protocols).count == protocols.count)
    let all = try library.names.map { try library.profile($0.name) }
    #expect(Set(all.map(\.identity.serialNumber)).count == all.count)
  }
}
