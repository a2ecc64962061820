import AccessoryProfiles
import AccessorySimulator
import Testing

@Suite struct ProfileOnTheWireTests {
  @Test func theTeamOfTheAppIsIdentifiedWhereTheProfileNamesOne() throws {
    var profile = try ProfileLibrary().profile("echo")
    #expect(profile.identification(isWhole: true).appMatchTeamID == nil)
    profile.identity.appMatchTeamID = "AB12CD34EF"
    #expect(profile.identification(isWhole: true).appMatchTeamID == "AB12CD34EF")
  }
}
