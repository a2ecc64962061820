import TestSupport
import Testing

@Suite(.waits) struct DoctorTests {
  let local = LocalPlace()

  @Test func everythingThatTheTestsUseWorks() throws {
    let doctor = try local.run("doctor")
    #expect(doctor.ending == .exit(0), "\(doctor.out)")
    for name in ["local", "inotify", "tcp", "pty", "libcrypto"] {
      #expect(doctor.outLines.contains { $0.hasPrefix("✓  \(name) ") }, "\(doctor.out)")
    }
    #expect(!local.place.has("local"), "a doctor looks and leaves nothing")
    let events = try EventLines(try local.run("doctor", "--json").out)
    // Each problem is followed by a line with the command that fixes it.
    let findings = doctor.outLines.count { !$0.hasPrefix(" ") }
    #expect(events.names.allSatisfy { $0 == "result" } && events.names.count == findings)
    #expect(events.events.allSatisfy { $0["check"]?.text != nil && $0["passed"] == .truth(true) })
  }

  @Test func whatDoesNotWorkStandsWithTheCommandThatMendsIt() throws {
    local.place.makeFolder("local", mode: 0o777)
    let sick = try local.run("doctor")
    #expect(sick.ending == .exit(1))
    let lines = sick.outLines
    let place = try #require(lines.firstIndex { $0.hasPrefix("✗  local ") }, "\(sick.out)")
    let remedy = lines[place + 1].drop { $0 == " " }
    #expect(remedy == "chmod 700 \(local.path)")
    #expect(try local.bash(String(remedy)).ending == .exit(0))
    #expect(try local.run("doctor").ending == .exit(0), "and it does")
  }

  @Test func aFolderThatIsMoreThanALocalDirectoryIsLeftAlone() throws {
    local.place.makeFolder("local", mode: 0o1777)
    let sick = try local.run("doctor")
    #expect(sick.ending == .exit(1))
    #expect(sick.out.contains("\n     export EASIM_LOCAL=\"$(mktemp -d)\"\n") && !sick.out.contains("chmod"))
  }

  /// The local directory's path is untrusted, and the printed command is meant to be pasted into a shell.
  @Test(arguments: ["$(touch pwned)", "`touch pwned`;touch pwned", "it's \"here\"", "two\nlines", "-x *"])
  func theCommandIsForThePathAndNothingElseWhateverItIsCalled(name: String) throws {
    local.place.makeFolder("here")
    func doctor() throws -> Program.Remains {
      try Program.run(["doctor"], environment: ["EASIM_LOCAL": local.place.file("\(name)/local")])
    }
    let sick = try doctor()
    #expect(sick.ending == .exit(1))
    let place = try #require(sick.outLines.firstIndex { $0.hasPrefix("✗  local ") }, "\(sick.out)")
    let remedy = String(sick.outLines[place + 1].drop { $0 == " " })
    #expect(remedy.hasPrefix("mkdir -p "))
    let pasted = try local.bash("cd '\(local.place.file("here"))' && \(remedy)")
    #expect(pasted.ending == .exit(0) && pasted.err == "", "\(remedy)\n\(pasted.err)")
    #expect(local.place.names("here") == [])
    #expect(local.place.names(name) == ["local"])
    #expect(try doctor().ending == .exit(0), "and it does")
  }
}
