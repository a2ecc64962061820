import AccessoryCheck
import TestSupport
import Testing

/// Runs a complete check in virtual time and produces its report. The frozen outputs of `easim report` are made from
/// this report.
@Suite struct FrozenCheckTests {
  @Test func aCheckHasTheReportThatItHad() throws {
    var report = try CheckRig("echo", quirks: ["no-status"]).run()
    report.program = "easim"
    report.planned = CheckCase.all.map(\.number)
    let difference = try CommittedText.difference("Tests/Golden/check.json", from: report.json.text + "\n")
    #expect(difference == nil, "\(difference ?? "")")
  }
}
