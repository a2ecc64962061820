import AccessoryCore
import TestSupport
import Testing

@testable import AccessoryProfiles
@testable import AccessorySoak
@testable import AccessoryWorlds

/// The published schema of scenarios has the reader's keys and words, and every scenario that ships passes it.
@Suite struct ScenarioSchemaTests {
  let schema: SchemaValidator
  let records = ScenarioReader.records + ScenarioFile.records

  init() throws {
    let path = profilesFolder + "/schema/scenario.schema.json"
    schema = SchemaValidator(root: try JSON5.read(try TextFile.read(path, limit: JSON5.Limits().bytes), file: path))
  }

  @Test func theReaderAndTheSchemaKnowTheSameKeys() throws {
    #expect(keys(schema.root) == ScenarioReader.shape.keys.sorted())
    let parts = [
      ScenarioReader.cableShape, ScenarioReader.deviceShape, ScenarioReader.partShape, ScenarioReader.stepShape,
      ScenarioReader.expectationShape, ScenarioReader.faultShape,
    ]
    for shape in parts {
      #expect(try keys(schema.definition("#/$defs/\(shape.name)")) == shape.keys.sorted(), "\(shape.name)")
    }
    #expect(schema.root["$defs"]?.members.count == parts.count + records.count + 1)
  }

  /// The rest of the file is written by hand.
  @Test func theDefinitionsOfRecordsAreMadeOfThem() throws {
    let definitions = (schema.root["$defs"]?.members ?? []).map { definition in
      guard let record = records.first(where: { $0.name == definition.key }) else { return definition }
      let made = record.schema(id: "").members.filter { !["$schema", "$id", "$defs"].contains($0.key) }
      return JSON5Member(definition.key, .object(made))
    }
    let whole = schema.root.members.map { $0.key == "$defs" ? JSON5Member("$defs", .object(definitions)) : $0 }
    let text = JSON5Writer.write(.object(whole), as: .json)
    let difference = try CommittedText.difference("profiles/schema/scenario.schema.json", from: text)
    #expect(difference == nil, "\(difference ?? "")")
  }

  private func keys(_ object: JSON5Value) -> [String] {
    (object["properties"]?.members ?? []).map(\.key).sorted()
  }

  @Test(arguments: [
    ("step", "accessory", ScenarioReader.accessoryActions), ("step", "cable", ScenarioReader.cableActions),
    ("step", "device", ScenarioReader.deviceActions), ("step", "app", ScenarioReader.appActions),
    ("step", "sdk", ScenarioReader.sdkActions), ("step", "otherApp", ScenarioReader.otherAppActions),
    ("step", "sessions", ScenarioReader.sessionsOfEndedApps),
    ("expectation", "event", Scenario.expectedEvents), ("fault", "at", ScenarioReader.ends),
  ])
  func theChoicesHaveTheSameWords(definition: String, key: String, words: [String]) throws {
    let described = try schema.definition("#/$defs/\(definition)")["properties"]?[key]
    #expect(described?["enum"]?.elements.map(\.string) == words)
  }

  @Test func theNaiveClientsAreTheSame() throws {
    #expect(schema.root["properties"]?["naive"]?["enum"]?.elements.map(\.string) == ScenarioClients.naive.map(\.name))
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
