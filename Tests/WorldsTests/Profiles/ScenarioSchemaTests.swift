import AccessoryFormats
import AccessoryRuns
import TestSupport
import Testing

@testable import AccessoryProfiles
@testable import AccessorySoak
@testable import AccessoryWorlds

/// The published scenario schema is generated from the scenario formats. Every shipped scenario, and every scenario
/// generated from a seed, must conform to this schema.
@Suite struct ScenarioSchemaTests {
  let schema: SchemaValidator

  init() throws {
    let path = profilesFolder + "/schema/scenario.schema.json"
    schema = SchemaValidator(root: try JSON5.read(try TextFile.read(path, limit: JSON5.Limits().bytes), file: path))
  }

  @Test func theCommittedSchemaIsMadeOfTheFormats() throws {
    let schema = RecordShape.schema(
      id: "scenario.schema.json", title: "scenario", ofAny: [Scenario.format().shape, ScenarioWithApps.format().shape])
    let text = JSON5Writer.write(schema, as: .json)
    let difference = try CommittedText.difference("profiles/schema/scenario.schema.json", from: text)
    #expect(difference == nil, "\(difference ?? "")")
  }

  @Test(arguments: ScenarioLibrary().names) func everyShippedScenarioPasses(name: String) throws {
    let text = try ScenarioLibrary().text(name)
    #expect(try schema.accepts(try JSON5.read(Array(text.utf8), file: name)))
  }

  @Test(arguments: 0..<40 as Range<UInt64>) func everyScenarioThatASeedMakesPasses(seed: UInt64) throws {
    let text = SoakPlan(seed: seed).fileText(description: "d")
    #expect(try schema.accepts(try JSON5.read(Array(text.utf8), file: "seed \(seed)")))
  }

  @Test(arguments: [
    "{ version: 1, description: 'd', accessories: { a: { profile: 'echo' } }, steps: [] }",
    "{ version: 1, description: 'd', accessories: {}, steps: [], expect: [] }",
    "{ version: 2, description: 'd', accessories: { a: { profile: 'echo' } }, steps: [], expect: [] }",
    "{ version: 1, description: 'd', accessories: { a: { profile: 'echo' } }, steps: [{ at: '1s' }], expect: [] }",
    "{ version: 1, description: 'd', accessories: { a: {} }, steps: [], expect: [{ event: 'note' }] }",
  ])
  func whatTheReaderRefusesItRefusesToo(text: String) throws {
    let bytes = Array(text.utf8)
    #expect(throws: SourceProblems.self) {
      try ScenarioFile(ScenarioSource(name: "f", path: "f", bytes: bytes), profiles: ProfileLibrary())
    }
    #expect(try !schema.accepts(try JSON5.read(bytes, file: "f")))
  }
}
