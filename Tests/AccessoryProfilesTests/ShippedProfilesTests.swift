import AccessoryProfiles
import Testing

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
    #expect(glasses.authentication.certSerial == 16)
    #expect(glasses.authentication.certData == 607)
    #expect(glasses.behavior == .echo)
  }

  @Test func everyShippedProfileLoadsByItsName() throws {
    #expect(library.names.count >= 2)
    for (name, isUsers) in library.names {
      #expect(!isUsers)
      let profile = try library.profile(name)
      #expect(profile.name == name)
      #expect(!profile.summary.isEmpty)
    }
  }
}
