import Glibc
import TestSupport
import Testing

@Suite(.waits) struct SoakTests {
  @Test(arguments: [3, 4_711]) func twoProcessesWriteOneTranscript(seed: Int) throws {
    let place = TemporaryFolder()
    for file in ["one", "two"] {
      let run = try Program.run(
        "soak", "--seed", "\(seed)", "--seeds", "1", "--transcript", place.file(file), "--capture",
        place.file("c.pcapng"))
      #expect(run.ending == .exit(0), "\(run.err)")
    }
    let recorded = try Program.run("decode", place.file("c.pcapng")).outLines.count { $0.contains(" seq=") }
    #expect(recorded == place.text("one").split(separator: "\n").count { $0.contains(" seq=") } && recorded > 20)
    let text = place.text("one")
    #expect(text.utf8.count > 2_000)
    #expect(text.hasPrefix("seed \(seed): "))
    #expect(text == place.text("two"))
  }

  @Test func howManyWorldsArePlayedAtATimeMakesNoDifference() throws {
    let alone = try Program.run("soak", "--seeds", "40", "--seed", "900", "--jobs", "1")
    let together = try Program.run("soak", "--seeds", "40", "--seed", "900", "--jobs", "3")
    #expect(alone.ending == .exit(0))
    #expect(alone.out == together.out)
    #expect(alone.outLines.last?.hasPrefix("40 worlds, seeds 900 to 939: all passed; hash ") == true)
    #expect(alone.out.contains("  link came up\n"))
    #expect(alone.err.contains(" worlds per second with 1 jobs"))
  }

  @Test func aFailureIsMadeSmallAndItsFileAndItsCommandFailLikewise() throws {
    let place = TemporaryFolder()
    let soak = try Program.run(
      "soak", "--seeds", "30", "--forbid", "windowFull", "--save", place.file("found"), "--json")
    #expect(soak.ending == .exit(1))
    let lines = try EventLines(soak.out)
    let failures = lines.events("failure")
    #expect(!failures.isEmpty)
    for failure in failures {
      #expect(failure["rule"]?.text == "forbidden windowFull")
      let file = try #require(failure["file"]?.text)
      #expect(place.text("found/\(file.split(separator: "/").last ?? "")") == failure["scenario"]?.text)
      let run = try Program.run("scenario", "run", file)
      #expect(run.ending == .exit(1))
      #expect(run.outLines.last?.contains("forbidden windowFull: packet waited for the window") == true)
      let words = try #require(failure["command"]?.text).split(separator: " ").dropFirst().map(String.init)
      let again = try Program.run(words)
      #expect(again.ending == .exit(1))
      #expect(again.err.contains("broken "))
    }
    let result = try #require(lines.events("result").last)
    #expect(result["passed"] == .truth(false))
    #expect(result["worlds"] == .number(30))
    #expect(result["coverage"]?["windowFull"]?.number ?? 0 > 0)
    #expect(result["faults"]?["loss"]?.number != nil)
  }

  @Test func withoutAFolderTheScenarioIsPrinted() throws {
    let place = TemporaryFolder()
    let soak = try Program.run("soak", "--seeds", "1", "--forbid", "linkUp")
    #expect(soak.ending == .exit(1))
    let start = try #require(soak.out.range(of: "// A random world that breaks a rule"))
    let end = try #require(soak.out.range(of: "\n}\n"))
    place.write(soak.out[start.lowerBound..<end.upperBound], to: "printed.json5")
    let run = try Program.run("scenario", "run", place.file("printed.json5"))
    #expect(run.ending == .exit(1))
    #expect(run.out.contains("forbidden linkUp"))
  }

  @Test func theAccessoriesMayBeAProfile() throws {
    let place = TemporaryFolder()
    let soak = try Program.run("soak", "lawk-view", "--seeds", "1", "--transcript", place.file("t"))
    #expect(soak.ending == .exit(0))
    #expect(place.text("t").contains("com.lawaken.iap2"))
  }

  @Test func whatFailedIsSavedWithItsCapture() throws {
    let place = TemporaryFolder()
    let soak = try Program.run(
      "soak", "--seeds", "1", "--seed", "3", "--forbid", "linkUp", "--save", place.file("failed"))
    #expect(soak.ending == .exit(1))
    #expect(place.names("failed") == ["soak-3.json5", "soak-3.pcapng"])
    let decoded = try Program.run("decode", place.file("failed/soak-3.pcapng"))
    #expect(decoded.outLines.contains { $0.contains(" * broken ") }, "\(decoded.out.suffix(500))")
    let again = try Program.run(
      "scenario", "run", place.file("failed/soak-3.json5"), "--capture", place.file("again.pcapng"))
    #expect(again.ending == .exit(1))
    #expect(try Program.run("decode", place.file("again.pcapng")).out.contains("SYN"))
  }

  @Test(arguments: [
    (SIGINT, "Ctrl-C", ["--for", "1h"]), (SIGTERM, "SIGTERM", ["--seeds", "100000000"]),
    (SIGHUP, "SIGHUP", ["--for", "1h"]),
  ]) func aSignalEndsItAndItReportsThatItHasNotPassed(signal: Int32, name: String, extent: [String]) throws {
    let place = TemporaryFolder()
    let reports = ["s.json", "s.xml"].map { place.file($0) }
    let soak = try Program(["soak", "--json"] + extent + reports.flatMap { ["--report", $0] })
    try soak.line("\"event\":\"progress\"")
    soak.send(signal)
    let end = try soak.wait()
    #expect(end.ending == .exit(1))
    let result = try #require(try EventLines(end.out).events("result").last)
    #expect(result["passed"] == .truth(false) && result["verdict"]?.text == "stopped")
    #expect(result["text"]?.text?.contains("all passed") == true)
    #expect(result["text"]?.text?.contains("stopped by \(name)") == true)
    #expect(result["worlds"]?.number ?? 0 > 0)
    #expect(place.text("s.xml").contains("stopped by \(name) after "))
    let shown = try Program.run("report", "show", reports[0])
    #expect(
      shown.ending == .exit(1) && shown.outLines.last?.contains("stopped by \(name)") == true, "\(shown.err)")
  }

  @Test func aTimeIsAnEnd() throws {
    let soak = try Program.run("soak", "--for", "300ms", "--jobs", "1")
    #expect(soak.ending == .exit(0))
    #expect(soak.out.contains("all passed; hash"))
  }

  @Test(arguments: ["--real-time", "--client=naive", "--at=unix:/tmp/x"])
  func aScenarioWithAppsTakesNoClient(option: String) throws {
    let place = TemporaryFolder()
    let text = "{ version: 1, description: 'd', accessories: { a: { profile: 'echo' } }, apps: {}, steps: [] }"
    place.write(text, to: "s.json5")
    let run = try Program.run("scenario", "run", place.file("s.json5"), option)
    #expect(run.ending == .exit(2))
    #expect(run.err.contains("this scenario has 'apps'"))
    let other = try Program.run("run", "--scenario", place.file("s.json5"))
    #expect(other.ending == .exit(2))
    #expect(other.err.contains("has 'apps' and runs in one process: easim scenario run"))
  }
}
