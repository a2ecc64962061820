import AccessoryFormats
import TestSupport
import Testing

@testable import AccessoryProfiles

/// No file may cause a reader to crash or hang, and every error message must state a position.
@Suite struct RobustnessTests {
  let library = ProfileLibrary()

  static let texts = BuiltInProfiles.files.map(\.bytes)

  func read(_ bytes: [UInt8]) {
    do {
      _ = try library.template(text: bytes, file: "f", name: "fuzzed")
    } catch {
      #expect(!error.problems.isEmpty)
      for problem in error.problems {
        #expect(!problem.message.isEmpty)
        #expect(problem.description.utf8.count < 1_000)
      }
    }
  }

  @Test(arguments: texts.indices)
  func aProfileCutInItsMiddleIsAnErrorOrAProfile(index: Int) {
    // The text is truncated at every third byte, starting at an offset that depends on the profile.
    let text = Self.texts[index]
    for length in stride(from: index % 3, to: text.count, by: 3) { read(Array(text[..<length])) }
  }

  @Test(arguments: 0..<8)
  func aProfileWithWrongBytesIsAnErrorOrAProfile(seed: Int) {
    var random = SeededRandom(seed: UInt64(seed))
    let tokens = [
      "{", "}", "[", "]", ",", ":", "'", "\"", "\\", "\\u", "//", "/*", "null", "1e", "0x", "-", "\u{0}", "李",
    ]
    for _ in 0..<500 {
      read(random.damaged(Self.texts[random.below(Self.texts.count)], atMost: 6, inserting: tokens))
    }
  }

  @Test(arguments: 0..<4)
  func aValueOfAnotherKindAnywhereIsAnErrorOrAProfile(seed: Int) throws {
    var random = SeededRandom(seed: UInt64(seed))
    for _ in 0..<500 {
      let bytes = Self.texts[Int.random(in: 0..<Self.texts.count, using: &random)]
      let tree = try JSON5.read(bytes, file: "f")
      read(Array(JSON5Writer.write(mutated(tree, &random)).utf8))
    }
  }

  private func mutated(_ value: JSON5Value, _ random: inout SeededRandom) -> JSON5Value {
    if Int.random(in: 0..<12, using: &random) == 0 {
      let others: [JSON5Value] = [
        .null, .text(""), .text("a,b=,=,c"), .text("{index:"), .number(-1), .number(70_000), .array([]), .object([]),
        .boolean(true), .array([.null]), .text("flicker,cycles"), .object([.init("type", .text("script"))]),
        .object([.init("hex", .text("0"))]), .array([.object([.init("request", .null)])]),
      ]
      return others[Int.random(in: 0..<others.count, using: &random)]
    }
    switch value.content {
    case .array(let values): return .array(values.map { mutated($0, &random) })
    case .object(let members): return .object(members.map { JSON5Member($0.key, mutated($0.value, &random)) })
    default: return value
    }
  }

  @Test(arguments: 0..<4)
  func aQuirkOrBehaviorOfTheCommandLineIsAnErrorOrOne(seed: Int) {
    var random = SeededRandom(seed: UInt64(seed))
    let words = [
      "flicker", "authentication", "session", "stale-bytes", "ends-sessions", "reply-chunking", "echo", "sink",
      "source", "script", "exec", "exec:", ",",
      "=",
      "cycles", "auth", "never", "rate", "text", "check", "-1", "99999999999999999999", "1s", "", " ", "{", "李", "\0",
    ]
    for _ in 0..<500 {
      let text = (0..<Int.random(in: 0...6, using: &random)).map { _ in
        words[Int.random(in: 0..<words.count, using: &random)]
      }.joined(separator: Bool.random(using: &random) ? "," : "")
      do {
        let quirk = try Quirk(text)
        #expect((try Quirk(quirk.description)) == quirk)
      } catch {
        #expect(!"\(error)".isEmpty)
      }
      do { _ = try Behavior(text) } catch { #expect(!error.problems.isEmpty) }
    }
  }

  @Test func aMegabyteOnOneLineIsReadInTimeThatGrowsWithItsLength() throws {
    // Reading this text would take minutes if the columns were counted from the start of the line for every value.
    let list = "[" + String(repeating: "1,", count: 300_000) + "]"
    let tree = try JSON5.read(list, file: "f")
    guard case .array(let values) = tree.content else {
      Issue.record("not a list")
      return
    }
    #expect(values.last?.position.column == 600_000)
  }

  @Test func aThousandMistakesAreCountedAndNotAllShown() {
    let keys = (0..<1_000).map { "zzz\($0): 1" }.joined(separator: ", ")
    let found = complaints("{version: 1, \(keys)}")
    #expect(found.count == 51)
    #expect(found.last == "and 951 more")
  }
}
