import TestSupport
import Testing

/// The numbered behaviours of Apple's framework, each with the test that proves it, as docs/external-accessory.md has
/// them.
@Suite struct BehaviourTests {
  let table: BehaviourTable
  let files: [SourceFile]

  init() throws {
    table = BehaviourTable(parsing: try Repository.text("docs/external-accessory.md"))
    files = try Repository.files(under: "Tests/ExternalAccessoryTests", suffix: ".swift").map {
      SourceFile(path: $0, text: try Repository.text($0))
    }
  }

  @Test func everyNumberHasATest() { #expect(BehaviourChecks.everyNumberHasARow(table) == []) }

  @Test func theTableNamesTestsThatAreThereAndCarryTheNumber() {
    #expect(BehaviourChecks.theTestsAreThere(table, files) == [])
  }

  @Test func everyNumberedTestIsInTheTable() { #expect(BehaviourChecks.noNumberedTestIsForgotten(table, files) == []) }

  @Test func whatIsNotPlayedWasTried() {
    #expect(!table.missing.isEmpty)
    #expect(BehaviourChecks.whatIsMissingWasTried(table) == [])
  }

  // MARK: The checks themselves

  @Test func numbersAreReadFromNames() {
    #expect(BehaviourTable.numbers(of: "n12AndN13ADisconnected") == ["N12", "N13"])
    #expect(BehaviourTable.numbers(of: "t7AWriteTakes") == ["T7"])
    #expect(BehaviourTable.numbers(of: "theSession") == [])
    #expect(BehaviourTable.numbers(of: "anErrorOn13Streams") == [])
  }

  @Test func whatATableLacksIsFound() {
    let text = """
      ## Behaviour by number
      | number | test |
      |---|---|
      | N1 | `SomeTests/n1Here`, `SomeTests/n2Else` |
      | N2 | `SomeTests/n2Gone` |

      ## Not reproducible here
      | number | what | tried | came out |
      |---|---|---|---|
      | T17 | the getter | nothing | nothing |
      """
    let made = BehaviourTable(parsing: text)
    let file = SourceFile(
      path: "Tests/A.swift",
      text: "@Suite struct SomeTests {\n  @Test func n1Here() {}\n  @Test func n2Else() {}\n  func t3There() {}\n}")
    #expect(BehaviourChecks.everyNumberHasARow(made).first == "N3 has no row")
    #expect(
      BehaviourChecks.theTestsAreThere(made, [file]) == [
        "N1 names SomeTests/n2Else, which does not carry that number",
        "N2 names SomeTests/n2Gone, which is no test",
      ])
    #expect(
      BehaviourChecks.noNumberedTestIsForgotten(made, [file]) == [
        "SomeTests/n2Else is not in the row of N2", "SomeTests/t3There is not in the row of T3",
      ])
    #expect(BehaviourChecks.whatIsMissingWasTried(made).count == 1)
  }
}
