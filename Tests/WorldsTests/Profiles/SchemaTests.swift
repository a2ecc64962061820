import AccessoryFormats
import AccessoryRuns
import TestSupport
import Testing

@testable import AccessoryProfiles
@testable import AccessorySoak
@testable import AccessoryWorlds

/// The published schemas are generated from the formats. The schema of profiles must accept and reject the same files as
/// the reader.
@Suite struct SchemaTests {
  let schema: SchemaValidator

  init() throws { schema = try SchemaValidator(of: "profile") }

  @Test(arguments: [
    ("profile", Profile.format.shape.schema(id: "profile.schema.json", extending: "extends")),
    ("device", DeviceProfile.format.shape.schema(id: "device.schema.json")),
    (
      "scenario",
      RecordShape.schema(
        id: "scenario.schema.json", title: "scenario",
        ofAny: [Scenario.format().shape, SoakPlan.format().shape])
    ),
  ]) func theCommittedSchemaIsMadeOfTheFormat(name: String, schema: JSON5Value) throws {
    let text = JSON5Writer.write(schema, as: .json)
    let difference = try CommittedText.difference("profiles/schema/\(name).schema.json", from: text)
    #expect(difference == nil, "\(difference ?? "")")
  }

  // MARK: The same verdicts

  static let corpus = ProfileLibrary.shippedFiles.map(\.bytes) + [Array(everyKey.utf8)]

  @Test func everyShippedProfilePasses() throws {
    for bytes in Self.corpus {
      let tree = try JSON5.read(bytes, file: "f")
      #expect(try schema.accepts(tree), "\(String(decoding: bytes, as: UTF8.self))")
    }
  }

  @Test func everyProfileThatIsWrittenPasses() throws {
    for file in ProfileLibrary.shippedFiles {
      #expect(try schema.accepts(ProfileLibrary().profile(file.name).tree), "\(file.name)")
    }
  }

  /// Errors that only the reader reports, because a schema cannot express them.
  static let beyondTheSchema = [
    "listed twice", "the same id", "given twice", "there is no transport with the id", "two transports have the id",
    "cumulative acknowledgements are more than", "expected a duration from", "is too long: at most", "no profile '",
    "is not a template", "there is no message", "has no parameter", "only an answer", "only for an answer", "' of ",
    "the condition needs a value", "expected text, a whole number",
    // Errors in scripts.
    "declares its 'states'", "unknown state", "share their states", "there is no '${", "'${", "the regex '",
    "unknown protocol", "is not a script", "with the framing 'any'", "has no checksum", "has no frames",
    "a rule can have only one of", "use 'after' in an answer", "this answer does nothing",
    "nothing to 'send'", "there is no 'checksum'", "inside the header", "without a payload has", "a state's name",
  ]

  @Test(arguments: 0..<5)
  func onProfilesWithMistakesTheReaderAndTheSchemaAgree(seed: Int) throws {
    var random = SeededRandom(seed: UInt64(seed))
    var refused = 0
    for _ in 0..<200 {
      let bytes = Self.corpus[Int.random(in: 0..<Self.corpus.count, using: &random)]
      let tree = mutated(try JSON5.read(bytes, file: "f"), &random)
      let text = JSON5Writer.write(tree)
      let isAccepted = try schema.accepts(tree)
      var problems: [SourceProblem] = []
      do {
        _ = try ProfileLibrary().template(text: Array(text.utf8), file: "f", name: "mutant")
      } catch {
        problems = error.problems
      }
      if !problems.isEmpty { refused += 1 }
      if isAccepted {
        let known = problems.filter { problem in Self.beyondTheSchema.contains { problem.message.contains($0) } }
        #expect(known == problems, "the schema accepts what the reader refuses:\n\(text)")
      } else {
        #expect(!problems.isEmpty, "the reader accepts what the schema refuses:\n\(text)")
      }
    }
    #expect((50..<200).contains(refused), "the mutants are too tame or too wild to prove anything")
  }

  private func mutated(_ value: JSON5Value, _ random: inout SeededRandom) -> JSON5Value {
    let replacements: [JSON5Value] = [
      .null, .text(""), .text("x.y"), .text("250ms"), .text("0x10"), .text("Ü"), .text("a\0"), .number(-1), .number(0),
      .number(256), .number(70_000), .boolean(true), .array([]), .object([]), .array([.text("x.y")]),
      .text(String(repeating: "é", count: 256)), .object([.init("hex", .text("0 "))]), .text("12:34:56:78:9a:bC"),
      .object([.init("hex", .text("00 ff"))]), .object([.init("name", .text("x.y"))]), .text("sink,check"),
      .object([.init("name", .text("flicker")), .init("cycles", .number(0))]), .text("no-status"),
      .object([.init("type", .text("echo"))]), .object([.init("delimiter", .text(""))]), .text("any"), .text("exec: "),
      JSON5Value(.number(JSON5Number(spelling: "5.0", value: 5, integer: 5))),
      JSON5Value(.number(JSON5Number(spelling: "5.5", value: 5.5, integer: nil))),
    ]
    if Int.random(in: 0..<40, using: &random) == 0 {
      return replacements[Int.random(in: 0..<replacements.count, using: &random)]
    }
    switch value.content {
    case .array(let values): return .array(values.map { mutated($0, &random) })
    case .object(let members):
      var kept = members.filter { _ in Int.random(in: 0..<40, using: &random) != 0 }
      if Int.random(in: 0..<60, using: &random) == 0 { kept.append(.init("extra", .number(1))) }
      return .object(kept.map { JSON5Member($0.key, mutated($0.value, &random)) })
    default: return value
    }
  }
}
