import TestSupport
import Testing

/// `easim doctor`: what is around easim rather than in it.
@Suite(.waits) struct DoctorTests {
  let bench = BenchPlace()

  @Test func everythingThatTheTestsUseWorks() throws {
    let doctor = try bench.run("doctor")
    #expect(doctor.ending == .exit(0), "\(doctor.out)")
    for name in ["bench", "inotify", "tcp", "pty", "libcrypto"] {
      #expect(doctor.outLines.contains { $0.hasPrefix("✓  \(name) ") }, "\(doctor.out)")
    }
    #expect(!bench.place.has("bench"), "a doctor looks and leaves nothing")
    let events = try EventLines(try bench.run("doctor", "--json").out)
    // The line below a finding that could be better is the command for it.
    let findings = doctor.outLines.count { !$0.hasPrefix(" ") }
    #expect(events.names.allSatisfy { $0 == "result" } && events.names.count == findings)
    #expect(events.events.allSatisfy { $0["check"]?.text != nil && $0["passed"] == .truth(true) })
  }

  @Test func whatDoesNotWorkStandsWithTheCommandThatMendsIt() throws {
    bench.place.makeFolder("bench", mode: 0o777)
    let sick = try bench.run("doctor")
    #expect(sick.ending == .exit(1))
    let lines = sick.outLines
    let place = try #require(lines.firstIndex { $0.hasPrefix("✗  bench ") }, "\(sick.out)")
    let remedy = lines[place + 1].drop { $0 == " " }
    #expect(remedy == "chmod 700 \(bench.path)")
    #expect(try bench.bash(String(remedy)).ending == .exit(0))
    #expect(try bench.run("doctor").ending == .exit(0), "and it does")
  }

  @Test func aFolderThatIsMoreThanABenchIsLeftAlone() throws {
    bench.place.makeFolder("bench", mode: 0o1777)
    let sick = try bench.run("doctor")
    #expect(sick.ending == .exit(1))
    #expect(sick.out.contains("\n     export EASIM_BENCH=\"$(mktemp -d)\"\n") && !sick.out.contains("chmod"))
  }

  /// The bench's path may come from anywhere, and the command is there to be pasted.
  @Test(arguments: ["$(touch pwned)", "`touch pwned`;touch pwned", "it's \"here\"", "two\nlines", "-x *"])
  func theCommandIsForThePathAndNothingElseWhateverItIsCalled(name: String) throws {
    bench.place.makeFolder("here")
    func easim(_ words: String...) throws -> Program.Remains {
      try Program(
        path: BuiltProducts.easim, words, environment: ["EASIM_BENCH": bench.place.file("\(name)/bench")]
      ).wait()
    }
    let sick = try easim("doctor")
    #expect(sick.ending == .exit(1))
    let place = try #require(sick.outLines.firstIndex { $0.hasPrefix("✗  bench ") }, "\(sick.out)")
    let remedy = String(sick.outLines[place + 1].drop { $0 == " " })
    #expect(remedy.hasPrefix("mkdir -p "))
    let pasted = try bench.bash("cd '\(bench.place.file("here"))' && \(remedy)")
    #expect(pasted.ending == .exit(0) && pasted.err == "", "\(remedy)\n\(pasted.err)")
    #expect(bench.place.names("here") == [])
    #expect(bench.place.names(name) == ["bench"])
    #expect(try easim("doctor").ending == .exit(0), "and it does")
  }
}
