import AccessoryFormats
import Testing

@testable import AccessoryProfiles
@testable import easim

@Suite struct AccessoryImportTests {
  func read(_ text: String) -> AccessoryImport {
    AccessoryImport.read(Array(text.utf8), file: "log")
  }

  func dump(_ generation: AccessoryDescription.Generation, _ profile: Profile) -> String {
    var dump = description(profile)
    (dump.generation, dump.address, dump.connectionID) = (generation, 0x2_82AF_DAB0, 33_685_633)
    return dump.text
  }

  func dump(_ generation: AccessoryDescription.Generation, _ name: String = "lawk-view") throws -> String {
    dump(generation, try ProfileLibrary().profile(name))
  }

  /// Returns the shipped profile for comparison with an imported profile, without the properties that a dump does not
  /// show.
  func glasses() throws -> Profile {
    var profile = try ProfileLibrary().profile("lawk-view")
    profile.summary = ""
    profile.identity.currentLanguage = "en"
    profile.identity.supportedLanguages = ["en"]
    return profile
  }

  // MARK: Accepted dumps

  @Test func theDumpOfTheGlassesBecomesTheirProfile() throws {
    let imported = read(glassesDump)
    #expect(imported.problems.isEmpty)
    #expect(imported.accessories.map(\.line) == [1])
    #expect(imported.accessories.map(\.profile) == [try glasses()])
  }

  @Test(arguments: AccessoryDescription.Generation.allCases, ["lawk-view", "multi", "older-auth", "sensor"])
  func everyGenerationIsReadAndPrintedAgain(generation: AccessoryDescription.Generation, name: String) throws {
    let text = try dump(generation, name)
    let imported = read(text)
    #expect(imported.problems.isEmpty)
    #expect(try dump(generation, #require(imported.accessories.first).profile) == text)
  }

  @Test(arguments: [
    "", "2019-05-02 12:00:00.123 App[123:456] ", "default 12:34:56.789 App ", "default\t12:34:56 +0200\tApp\t",
    "<Notice>: ", "[App] name ",
  ])
  func whatALogPutsBeforeEachLineDoesNotMatter(prefix: String) throws {
    for generation in AccessoryDescription.Generation.allCases {
      let text = try dump(generation).split(separator: "\n", omittingEmptySubsequences: false)
        .map { prefix + $0 }.joined(separator: "\n")
      let imported = read(text)
      #expect(imported.problems.isEmpty)
      #expect(imported.accessories.map(\.profile) == [try glasses()])
    }
  }

  @Test func lineEndsOfEitherKindAndCutMarginsDoNotMatter() throws {
    let windows = glassesDump.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\r\n")
    let cut = glassesDump.split(separator: "\n").map { OptionText.trimmed($0) }.joined(separator: "\n")
    let prefixed = "2019-05-02 12:00:00.123 App[123:456] connected: " + glassesDump
    for text in [windows, cut, windows + "\r\n", "\u{FEFF}" + glassesDump, prefixed] {
      let imported = read(text)
      #expect(imported.problems.isEmpty)
      #expect(imported.accessories.map(\.profile) == [try glasses()])
    }
  }

  @Test func severalInOneTextAreReadInTheirOrderWithNamesOfTheirOwn() throws {
    let text = "Accessories:\n\(glassesDump)\nand\n\(try dump(.a, "multi"))\n\(glassesDump)\ndone"
    let imported = read(text)
    #expect(imported.problems.isEmpty)
    #expect(imported.accessories.map(\.profile.name) == ["lawk-view", "ew-4", "lawk-view-2"])
    #expect(imported.accessories.map(\.line) == [2, 23, 44])
  }

  @Test func aListOfAccessoriesPrintedAsAnArrayIsRead() throws {
    let escaped = PropertyListText.array([glassesDump, try dump(.c, "multi")])
    let imported = read("connectedAccessories: \(escaped)")
    #expect(imported.problems.isEmpty)
    #expect(imported.accessories.map(\.profile.name) == ["lawk-view", "ew-4"])
    #expect(imported.accessories.first?.profile == (try glasses()))
    #expect(imported.accessories.map(\.line) == [2, 3])
  }

  @Test(arguments: [
    ("(\n    \"com.a.b\",\n    \"com.c.d\"\n) ", ["com.a.b", "com.c.d"]),
    ("(\n    com.a.b,\n    com.c.d\n) ", ["com.a.b", "com.c.d"]),
    ("(\n) ", []), ("() ", []), ("(null) ", []), ("(\"com.a.b\", com.c.d) ", ["com.a.b", "com.c.d"]),
    ("(\n    \"com.\\U674e\\U672a\\U53ef.x\"\n) ", ["com.李未可.x"]), ("(\"com.a.b\"\n) ", ["com.a.b"]),
  ])
  func theListOfProtocolsMayBeWrittenInAnyOfItsWays(list: String, names: [String]) {
    let text = glassesDump.replacing("(\n    \"com.lawaken.iap2\"\n) ", with: list)
    let imported = read(text)
    #expect(imported.problems.isEmpty)
    #expect(imported.accessories.first?.profile.protocols.map(\.name) == names)
  }

  @Test func valuesKeepTheirOwnSpacesAndWordsOfTheLayout() {
    let text = glassesDump.replacing("李未可 View AI眼镜 \n", with: "  a  name: }  \n")
    let imported = read(text)
    #expect(imported.problems.isEmpty)
    #expect(imported.accessories.first?.profile.identity.name == "  a  name: } ")
  }

  @Test func aCertificateOfOlderAuthenticationIsKnownByItsLength() throws {
    let text = glassesDump.replacing("607 bytes", with: "908 bytes").replacing("16 bytes", with: "15 bytes")
    #expect(read(text).accessories.first?.profile.authentication == .init(.older))
  }

  @Test func aProfileThatWasImportedIsReadBackFromItsFile() throws {
    let accessory = try #require(read(glassesDump).accessories.first)
    let text = accessory.profile.text(comment: "Imported.")
    let again = try ProfileLibrary().template(text: Array(text.utf8), file: "f", name: accessory.profile.name)
    #expect(again.profile == accessory.profile)
    #expect(again.warnings.isEmpty)
  }

  @Test(arguments: [
    ("LAWK View", "N", "M", "lawk-view"), ("型号", "The  One!", "M", "the-one"), ("7", "7", "Ü & Co", "co"),
    ("1", "眼镜", "李未可", "imported"),
  ])
  func theProfileIsNamedAfterTheModel(model: String, name: String, maker: String, expected: String) {
    let identity = Profile.Identity(name: name, manufacturer: maker, modelNumber: model, serialNumber: "S")
    #expect(
      read(AccessoryDescription(identity: identity, protocols: ["a.b"]).text).accessories.first?.profile.name
        == expected)
  }
}
