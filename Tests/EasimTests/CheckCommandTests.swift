import Foundation
import TestSupport
import Testing

@Suite(.waits) struct CheckCommandTests {
  let place = TemporaryFolder()
  /// Options for a quick check: most of its cases need only the accessory's first attachment. Cases that depend on the
  /// accessory's timing are omitted, because a busy machine may delay the accessory.
  private static let quick = [
    "--only", "101,201-204,301,501,502,504-506,601,603,621-638,701,712,801", "--pace", "0ms", "--echo", "yes",
    "--timeout", "1m",
  ]

  private func easimCheck(_ words: [String]) throws -> Program.Remains { try Program.run(["check"] + words) }

  @Test(arguments: Accessory.Medium.allCases)
  func anEchoHoldsOnEachMedium(_ medium: Accessory.Medium) throws {
    let accessory = try Accessory("echo", on: medium, in: place)
    let check = try easimCheck([accessory.address] + Self.quick)
    #expect(check.ending == .exit(0), "\(check.out)\(check.err)")
    #expect(check.out.contains("0 failed"), "\(check.out)")
    #expect(!check.out.contains("skipped  "), "\(check.out)")
  }

  @Test func findingsExitWithOneAndAreInEachReport() throws {
    let accessory = try Accessory("echo", on: .unix, in: place, "--quirk", "authentication,wrong")
    let (json, html, xml) = (place.file("c.json"), place.file("c.html"), place.file("c.xml"))
    let words = [accessory.address, "--only", "101,506", "--report", json, "--report", html, "--report", xml]
    let first = try easimCheck(words)
    #expect(first.ending == .exit(1), "\(first.out)\(first.err)")
    #expect(first.out.contains("FAILED   506"))
    #expect(first.out.contains("1 passed, 1 failed, 0 skipped"))
    #expect(place.text("c.html").contains("<td>506 signature-right: "))
    #expect(place.text("c.xml").contains("failures=\"1\""))
    // Nothing has changed since the first run.
    let second = try easimCheck([accessory.address, "--only", "101,506", "--baseline", json])
    #expect(second.ending == .exit(0), "\(second.out)\(second.err)")
    #expect(second.out.contains("since the baseline: as before: 506 signature-right"))
    try accessory.interrupt()
    let good = try Accessory("echo", on: .unix, in: place)
    #expect(try easimCheck([good.address, "--only", "101,506", "--report", json]).ending == .exit(0))
    try good.interrupt()
    let bad = try Accessory("echo", on: .unix, in: place, "--quirk", "authentication,wrong")
    let third = try easimCheck([bad.address, "--only", "101,506", "--baseline", json, "--json"])
    #expect(third.ending == .exit(1), "\(third.out)\(third.err)")
    let lines = try third.outLines.map { try StrictJSON(reading: $0) }
    #expect(lines.map { $0["event"]?.text } == ["case", "case", "result"])
    #expect(lines.last?["passed"] == .truth(false))
  }

  @Test func interruptingPrintsWhatWasJudged() throws {
    let accessory = try Accessory("echo", on: .unix, in: place)
    let check = try Program("check", accessory.address)
    try check.line("passed   101")
    let remains = try check.interrupt()
    #expect(remains.ending == .exit(1), "\(remains.out)\(remains.err)")
    #expect(remains.out.contains(" passed, ") && remains.out.contains("\nthe run was stopped by Ctrl-C after "))
    #expect(remains.err.isEmpty, "\(remains.err)")
  }

  @Test func aCheckThatJudgedNothingPassesOnlyWhereThatIsAllowed() throws {
    let accessory = try Accessory("echo", on: .unix, in: place)
    // The case runs only with `--hostile`.
    let hostile = try easimCheck(["--list", "--json"]).outLines.map { try StrictJSON(reading: $0) }
      .first { $0["hostile"] == .truth(true) }
    let number = try #require(hostile?["number"]?.number)
    let words = [accessory.address, "--only", "\(Int(number))", "--report", place.file("c.json")]
    let check = try easimCheck(words + ["--json"])
    #expect(check.ending == .exit(1), "\(check.out)\(check.err)")
    let result = try StrictJSON(reading: try #require(check.outLines.last))
    #expect(result["passed"] == .truth(false) && result["verdict"]?.text == "empty")
    #expect(try Program.run("report", "show", place.file("c.json")).ending == .exit(1))
    #expect(try Program.run("report", "show", place.file("c.json"), "--allow-empty").ending == .exit(0))
    #expect(try easimCheck(words + ["--allow-empty"]).ending == .exit(0))
  }

  @Test func noAccessoryIsItsOwnExitCode() throws {
    let check = try easimCheck(["unix:\(place.file("nobody.sock"))", "--timeout", "200ms"])
    #expect(check.ending == .exit(3), "\(check.out)\(check.err)")
    #expect(check.err.contains("no accessory at unix:"))
  }

  @Test func aListConnectsToNothing() throws {
    let list = try easimCheck(["--list", "--only", "501,certificate-form"])
    #expect(list.ending == .exit(0))
    #expect(list.outLines.count == 2)
    #expect(list.out.contains("certificate-form: "))
  }
}
