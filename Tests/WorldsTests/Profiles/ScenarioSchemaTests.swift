import AccessoryFormats
import Testing

@testable import AccessoryProfiles
@testable import AccessorySoak
@testable import AccessoryWorlds

/// Every shipped scenario, and every scenario generated from a seed, must conform to the published schema.
@Suite struct ScenarioSchemaTests {
  let schema: SchemaValidator

  init() throws { schema = try SchemaValidator(of: "scenario") }

  @Test(arguments: ScenarioLibrary().names) func everyShippedScenarioPasses(name: String) throws {
    let text = try ScenarioLibrary().text(name)
    #expect(try schema.accepts(try JSON5.read(Array(text.utf8), file: name)))
  }

  @Test(arguments: 0..<15 as Range<UInt64>) func everyScenarioThatASeedMakesPasses(seed: UInt64) throws {
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
