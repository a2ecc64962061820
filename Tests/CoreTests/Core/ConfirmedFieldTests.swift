import AccessoryFormats
import Testing

struct ConfirmedFieldTests {
  private struct Figures: Equatable, Sendable {
    var done = 0
    var wanted = 1
  }

  private static let format = Record("figures", "", Figures()) {
    Field("done", \.done, .integer(0...9), "how many were done", isRequired: true)
    Field("wanted", \.wanted, .integer(0...9), "how many are wanted")
    Field(confirmed: "passed", .boolean, "whether all were done") { $0.done == $0.wanted }
  }

  @Test func aKeyThatContradictsTheOthersIsAnErrorAtItsPlace() {
    let error = #expect(throws: SourceProblems.self) {
      try Self.format.read("{passed: true, done: 2, wanted: 3}", file: "f")
    }
    #expect("\(error.map { "\($0)" } ?? "")" == "f:1:10: passed: is true, but the other figures give false")
  }

  @Test func aKeyIsNotComparedWhereTheOthersCouldNotBeRead() {
    let error = #expect(throws: SourceProblems.self) { try Self.format.read("{passed: true, done: 10}", file: "f") }
    #expect(error?.problems.count == 1)
  }
}
