import Foundation
import Glibc
import TestSupport
import Testing

/// Tests `easim check --cases`: test cases written in Python, which appear in the same report as easim's own cases.
@Suite(.waits, .enabled(if: access("/usr/bin/python3", X_OK) == 0, "needs python3")) struct OwnCasesTests {
  let place = TemporaryFolder()

  private func check(_ code: String, _ words: String..., profile: String = "echo") throws -> Program.Remains {
    try code.write(toFile: place.file("cases.py"), atomically: true, encoding: .utf8)
    let accessory = try Accessory(profile, on: .unix, in: place)
    defer { _ = try? accessory.interrupt() }
    return try Program.run(
      ["check", accessory.address, "--cases", place.file("cases.py"), "--timeout", "3s"] + words,
      environment: ["PYTHONPATH": "\(Repository.root)/Python/src"])
  }

  @Test func casesPassFailAndAreSkippedInTheSameReport() throws {
    let run = try check(
      """
      from easim import check

      @check.case("902", "echoes a line")
      def echoes(session):
          print("hello from the case")
          session.send(b"VERSION?\\r\\n")
          assert session.recv_until(b"\\r\\n") == b"VERSION?\\r\\n"

      @check.case("7", "answers METER", fix="Answer VERSION? with METER.")
      def meter(session):
          session.send(b"VERSION?")
          assert session.recv(8) == b"METER 10", "it answered something else"

      @check.case("8", "is silent", severity="note")
      def silent(session):
          session.send(bytes(20_000))
          assert not session.silent(0.2)
          session.timeout = 0.2
          session.recv(20_001)

      @check.case("9", "has another protocol", protocol="com.example.other")
      def other(session):
          raise AssertionError

      @check.case("10", "skips")
      def skips(session):
          check.skip("no time")
      """, "--only", "101,own", "--report", place.file("report.json"))
    #expect(run.ending == .exit(1), "\(run.out)\(run.err)")
    for line in [
      "passed   101 ", "passed   own-902  echoes a line", "FAILED   own-7  answers METER",
      "         it answered something else (cases.py, line 12: assert session.recv(8)",
      "change: Answer VERSION? with METER.",
      "note     own-8  is silent", "skipped  own-9  has another protocol", "skipped  own-10  skips",
    ] { #expect(run.out.contains(line), "\(line): \(run.out)") }
    // The session's packets are shown as evidence of the failure.
    #expect(run.out.contains("data of session 1") || run.out.contains("56 45 52 53 49 4F 4E 3F"), "\(run.out)")
    #expect(run.err.contains("python: hello from the case"), "\(run.err)")
    let shown = try Program.run("report", "show", place.file("report.json"))
    #expect(shown.out.contains("FAILED   own-7  answers METER"), "\(shown.out)\(shown.err)")
  }

  @Test(arguments: [
    ("", "has no cases"), ("import nothing_like_this", "No module named 'nothing_like_this' (cases.py, line 1"),
    ("from easim import check\n@check.case('x', 'is odd')\ndef odd(session): pass", "use a number up to 99999"),
    ("syntax error", "SyntaxError"), ("import os\nos._exit(3)", "the program ended with status 3"),
  ])
  func aFileThatCannotBeUsedIsAnUsageError(_ code: String, _ reason: String) throws {
    let run = try check(code, "--only", "own")
    #expect(run.ending == .exit(2), "\(run.out)\(run.err)")
    #expect(run.err.contains("--cases: ") && run.err.contains(reason), "\(run.err)")
  }

  @Test func aCaseThatHangsOrEndsPythonFailsAndTheRestIsSkipped() throws {
    let head = "import os, time\nfrom easim import check\n"
    let rest = "\n@check.case('2', 'is next')\ndef after(session): pass\n"
    let hung = try check(head + "@check.case('1', 'hangs')\ndef one(session): time.sleep(60)" + rest, "--only", "own")
    #expect(hung.out.contains("the case did nothing for 3s, so Python was stopped"), "\(hung.out)\(hung.err)")
    #expect(hung.out.contains("skipped  own-2"), "\(hung.out)")
    let gone = try check(head + "@check.case('1', 'exits')\ndef one(session): os._exit(4)" + rest, "--only", "own")
    #expect(gone.out.contains("the program ended with status 4"), "\(gone.out)\(gone.err)")
  }

  @Test func featuresAndTheBaselineOfAFirmwareVersion() throws {
    let accessory = try Accessory("echo", on: .unix, in: place)
    let words = ["check", accessory.address, "--only", "101,702,1001-1004", "--features"]
    let first = try Program.run(
      words + ["--report", place.file("1.0.json"), "--baseline", place.file("{firmware}.json")])
    #expect(first.ending == .exit(0), "\(first.out)\(first.err)")
    #expect(first.err.contains("has no report at \(place.file(""))"), "\(first.err)")
    #expect(
      first.err.contains("omitted cases about features that the accessory does not declare: 1001 location, 1002"))
    #expect(!first.out.contains("1001"), "\(first.out)")
    let version = try #require(
      StrictJSON(reading: String(contentsOfFile: place.file("1.0.json"), encoding: .utf8))["accessory"]?["firmware"]?
        .text)
    try FileManager.default.copyItem(atPath: place.file("1.0.json"), toPath: place.file("of-\(version).json"))
    let second = try Program.run(words + ["--baseline", place.file("of-{firmware}.json")])
    #expect(second.ending == .exit(0) && !second.err.contains("has no report"), "\(second.out)\(second.err)")
  }
}
