import Testing

@testable import AccessoryProfiles

@Suite struct ProfileTemplateTests {
  func template(serial: String, name: String = "N") -> ProfileTemplate {
    ProfileTemplate(
      Profile(name: "p", identity: .init(name: name, manufacturer: "M", modelNumber: "X", serialNumber: serial)))
  }

  @Test(arguments: [
    ("{index}", "12"), ("A{index:04}B", "A0012B"), ("{index:01}", "12"), ("{index:04x}", "000c"),
    ("{index}-{index:03}", "12-012"), ("{name} }{", "{name} }{"), ("", ""),
  ])
  func theNumberStandsWhereTheTemplateIs(text: String, filled: String) {
    #expect(TemplateText.fault(in: text) == nil)
    #expect(template(serial: text).instance(12).identity.serialNumber == filled)
  }

  @Test(arguments: [
    "{index", "{index:}", "{index:4}", "{index:0}", "{index:00}", "{index:012}", "{index:04X}", "{indexes}",
  ])
  func aMalformedTemplateIsAFault(text: String) {
    #expect(
      TemplateText.fault(in: text)
        == "'\(text)' is not a template: write '{index}', '{index:04}' or '{index:04x}'")
  }

  @Test(arguments: [
    ("S", 3, ["S-1", "S-2", "S-3"]), ("S", 1, ["S"]), ("S", 0, []), ("S", -1, []), ("S{index:02}", 2, ["S01", "S02"]),
  ])
  func onlyWithoutATemplateSeveralSerialNumbersHaveTheirNumberAdded(serial: String, count: Int, serials: [String]) {
    #expect(template(serial: serial, name: "N {index}").instances(count).map(\.identity.serialNumber) == serials)
  }

  @Test func everyTextOfTheIdentityMayBeATemplate() {
    var identity = Profile.Identity(
      name: "a{index}", manufacturer: "b{index}", modelNumber: "c{index}", serialNumber: "d{index}",
      firmwareRevision: "e{index}", hardwareRevision: "f{index}")
    identity.firmwareRevisionPending = "g{index}"
    identity.productPlanUID = "h{index}"
    identity.regionCode = "i{index}"
    identity.dockType = "j{index}"
    identity.currentLanguage = "k{index}"
    let made = ProfileTemplate(Profile(name: "p", identity: identity)).instance(7).identity
    #expect(
      [
        made.name, made.manufacturer, made.modelNumber, made.serialNumber, made.firmwareRevision,
        made.hardwareRevision, made.firmwareRevisionPending, made.productPlanUID, made.regionCode, made.dockType,
        made.currentLanguage,
      ] == ["a7", "b7", "c7", "d7", "e7", "f7", "g7", "h7", "i7", "j7", "k7"])
  }

  @Test func bluetoothAddressesAreCountedUp() throws {
    let instances = try ProfileLibrary().template("multi").instances(2)
    let addresses = instances.flatMap(\.transports).compactMap { transport -> String? in
      if case .bluetooth(let address) = transport.kind { address.description } else { nil }
    }
    #expect(addresses == ["02:00:5E:10:00:01", "02:00:5E:10:00:02"])
    #expect(Profile.MACAddress(0xFFFF_FFFF_FFFF + 1).description == "00:00:00:00:00:00")
  }

  @Test(arguments: [
    "02:00:5E:10:00", "02:00:5E:10:00:0", "02:00:5E:10:00:1g", "0200:5E:10:00:01:", "02-00-5E-10-00-01", "",
  ])
  func anAddressIsSixPairsOfHexDigits(text: String) {
    #expect(Profile.MACAddress(text) == nil)
  }

  @Test func anAddressHasItsBytesInTheOrderTheyAreWritten() {
    #expect(Profile.MACAddress("02:00:5E:10:00:0f")?.bytes == [0x02, 0x00, 0x5E, 0x10, 0x00, 0x0F])
  }
}
