import AccessoryCheck
import TestSupport
import Testing

/// Produces, in virtual time, a complete check's report, from which the frozen `easim report` outputs are made.
@Suite struct FrozenCheckTests {
  @Test func aCheckHasTheReportThatItHad() throws {
    var report = try CheckRig("echo", quirks: ["no-status"]).run()
    report.program = "easim"
    report.planned = CheckCase.all.map(\.number)
    let difference = try CommittedText.difference("Tests/Golden/check.json", from: report.json.text + "\n")
    #expect(difference == nil, "\(difference ?? "")")
  }
}
