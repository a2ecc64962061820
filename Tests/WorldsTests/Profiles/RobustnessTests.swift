import AccessoryFormats
import TestSupport
import Testing

@testable import AccessoryProfiles

/// No file may cause a reader to crash or hang, and every error message must state a position.
@Suite struct RobustnessTests {
  let library = ProfileLibrary()

  static let texts = ProfileLibrary.shippedFiles.map(\.bytes)

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
    // The text is truncated at every nineteenth byte, starting at an offset that depends on the profile.
    let text = Self.texts[index]
    for length in stride(from: index % 19, to: text.count, by: 19) { read(Array(text[..<length])) }
  }

  @Test(arguments: 0..<4)
  func aProfileWithWrongBytesIsAnErrorOrAProfile(seed: Int) {
    var random = SeededRandom(seed: UInt64(seed))
    let tokens = [
      "{", "}", "[", "]", ",", ":", "'", "\"", "\\", "\\u", "//", "/*", "null", "1e", "0x", "-", "\u{0}", "李",
    ]
    for _ in 0..<300 {
      read(random.damaged(Self.texts[random.below(Self.texts.count)], atMost: 6, inserting: tokens))
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
