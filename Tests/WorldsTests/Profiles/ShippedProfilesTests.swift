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
    #expect(BuiltInProfiles.files.map { "\($0.name).json5" } == files)
    for (name, bytes) in BuiltInProfiles.files {
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

  @Test func theyDifferInKind() throws {
    #expect(try library.profile("echo").behavior == .echo)
    #expect(try library.profile("sink").behavior == .sink(check: true))
    guard case .source(let source) = try library.profile("sensor").behavior else {
      Issue.record("the sensor does not talk")
      return
    }
    #expect(source.pattern == .text("T=21.50C;RH=043.0%\r\n"))
    #expect((source.rate, source.chunk) == (200, 20))
    #expect(try library.template("sensor").instances(2).map(\.identity.serialNumber) == ["EW3-0001", "EW3-0002"])
    let multi = try library.profile("multi")
    #expect(multi.protocols.map(\.id) == [0xA0, 0xA1, 0xA2])
    #expect(multi.protocols.map { multi.behavior(of: $0).name } == ["script", "source", "echo"])
    let older = try library.profile("older-auth").authentication
    #expect(older == Profile.Authentication(.older))
    #expect((older.certSerial, older.certData) == (15, 908))
    guard case .script(let script) = try library.profile("scripted").behavior else {
      Issue.record("the script has no rules")
      return
    }
    #expect(script.framing == .delimiter([13, 10]))
    #expect(script.rules.map(\.delay) == [.zero, .milliseconds(40), .seconds(2), .zero, .zero])
    #expect(script.otherwise == Array("ERROR\r\n".utf8))
    #expect(
      try library.profile("misbehaving").quirks.map(\.description) == [
        "flicker,cycles=2", "session,times=1", "no-status", "stale-bytes,count=16",
      ])
  }
}
