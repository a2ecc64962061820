import Glibc
import TestSupport
import Testing

@Suite(.waits) struct AttachTests {
  private let place = TemporaryFolder()

  @Test func anAccessoryIsAttachedAgainAndAgain() throws {
    let accessory = try Accessory("echo", on: .unix, in: place)
    let words = ["attach", accessory.address, "--times", "3", "--pause", "10ms"]
    let attach = try Program.run(words + ["--report", place.file("a.json"), "--report", place.file("a.html")])
    #expect(attach.ending == .exit(0), "\(attach.out)\(attach.err)")
    #expect(attach.out.contains("3 of 3 attachments succeeded; the slowest, run "), "\(attach.out)")
    #expect(try Program.run("report", "show", place.file("a.json")).out == attach.out)
    let merge = try Program.run("report", "merge", place.file("a.json"), place.file("a.json"))
    #expect(merge.ending == .exit(0) && merge.out.contains("6 of 6 attachments succeeded"), "\(merge.out)\(merge.err)")
    let compare = try Program.run(
      "report", "compare", place.file("a.json"), place.file("a.json"), "--fail-if", "p95>+10%")
    #expect(compare.ending == .exit(0) && compare.out.contains("authentication p50"), "\(compare.out)\(compare.err)")
    let limited = try Program.run("report", "show", place.file("a.json"), "--fail-if", "p50>1ns")
    #expect(limited.ending == .exit(1) && limited.out.contains("p50 ≤ 1 ns: "), "\(limited.out)\(limited.err)")
    let rate = try Program.run("report", "show", place.file("a.json"), "--fail-if", "rate<3/s")
    #expect(rate.err.contains("'rate<3/s': a limit for an attach report is on times: 'p95>3s'"), "\(rate.err)")
    let json = try Program.run(words + ["--json", "--fail-if", "p50>1ns"])
    let lines = try EventLines(json.out)
    #expect(json.ending == .exit(1) && lines.events("run").count == 3)
    #expect(lines.events("result").last?["verdict"]?.text == "failed", "\(json.out)")
  }

  @Test func aSignalEndsItWithAReport() throws {
    let accessory = try Accessory("echo", on: .unix, in: place)
    let attach = try Program([
      "attach", accessory.address, "--times", "1000", "--json", "--report", place.file("s.json"),
    ])
    try attach.line("\"event\":\"run\"")
    attach.send(SIGINT)
    let end = try attach.wait()
    #expect(end.ending == .exit(1) && end.err.contains("easim: stopped by Ctrl-C after "), "\(end.err)")
    #expect(place.text("s.json").contains("\"verdict\":\"stopped\""))
  }

  @Test func whatIsNotThereOrRefusedHasItsOwnCode() throws {
    let none = try Program.run("attach", "unix:\(place.file("none.sock"))", "--timeout", "200ms")
    #expect(none.ending == .exit(3) && none.out == "", "\(none.err)")
    let limit = try Program.run("attach", "--fail-if", "rate<3/s")
    #expect(limit.ending == .exit(2) && limit.err.contains("expected a time: 'p95>3s'"), "\(limit.err)")
    let refused = try Accessory("echo", on: .unix, in: place, "--quirk", "authentication,answer=wrong")
    let attach = try Program.run("attach", refused.address, "--times", "2")
    #expect(attach.ending == .exit(6) && attach.err.contains("easim: try: "), "\(attach.out)\(attach.err)")
  }
}
