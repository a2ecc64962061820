import Testing

/// The house stands as DESIGN draws it: what imports what, in this repository.
@Suite struct FloorTests {
  let house: House

  init() throws { house = try House.standing.get() }

  @Test func targetsStandOnlyOnFloorsBelowTheirOwn() {
    #expect(FloorChecks.dependenciesGoDown(house) == [])
  }

  @Test func everyImportIsDeclaredOrAllowedOnItsFloor() {
    #expect(FloorChecks.importsAreAllowed(house) == [])
  }

  @Test func everyDeclarationIsUsed() {
    #expect(FloorChecks.declarationsAreUsed(house) == [])
  }

  @Test func theProtocolImportsNothingAtAll() throws {
    let protocolTarget = try #require(house.plan["IAP2"])
    let files = house.files(of: protocolTarget)
    #expect(files.count > 20)
    #expect(files.flatMap { file in file.imports.map { "\(file.path):\($0.line) \($0.module)" } } == [])
    #expect(protocolTarget.dependencies == [])
  }

  @Test func filesAreShort() {
    #expect(HabitChecks.filesAreShort(house) == [])
  }

  @Test func nothingUsesXCTest() {
    #expect(HabitChecks.nothingUsesXCTest(house) == [])
  }

  @Test func testsDoNotSleep() {
    #expect(HabitChecks.testsDoNotSleep(house) == [])
  }
}
