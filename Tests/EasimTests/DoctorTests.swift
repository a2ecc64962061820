import Testing

/// `easim doctor` and `easim completion`: what is around easim rather than in it.
@Suite struct DoctorTests {
  let bench = BenchPlace()

  @Test func everythingThatTheTestsUseWorks() throws {
    let doctor = try bench.run("doctor")
    #expect(doctor.ending == .exit(0), "\(doctor.out)")
    for name in ["bench", "inotify", "tcp", "pty", "libcrypto"] {
      #expect(doctor.outLines.contains { $0.hasPrefix("✓  \(name) ") }, "\(doctor.out)")
    }
    #expect(!bench.place.has("bench"), "a doctor looks and leaves nothing")
    let events = try EventLines(try bench.run("doctor", "--json").out)
    // Beneath what could be better stands the command for it.
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

  // MARK: Completion

  /// What bash offers for a line that has been typed so far.
  func offers(_ line: String) throws -> [String] {
    let script = """
      source <(easim completion bash)
      COMP_LINE='\(line)'; COMP_POINT=${#COMP_LINE}; read -ra COMP_WORDS <<< "$COMP_LINE"
      _easim; printf '%s\\n' "${COMPREPLY[@]}"
      """
    let bash = try bench.bash(script)
    #expect(bash.ending == .exit(0) && bash.err == "", "\(bash.err)")
    return bash.outLines
  }

  @Test func bashOffersWhatTheTableKnows() throws {
    #expect(try offers("easim ").contains("send"))
    #expect(try offers("easim wat") == ["watch"])
    #expect(try offers("easim send --exp") == ["--expect"])
    #expect(try offers("easim send --expect ") == ["echo", "none"])
    #expect(try offers("easim info --layout ") == ["A", "B", "C"])
    #expect(try offers("easim run lawk") == ["lawk-view"])
    #expect(try offers("easim profile show lawk") == ["lawk-view"])
    #expect(try offers("easim profile sh") == ["show"])
    #expect(try offers("easim list --jso") == ["--json"])
    #expect(try offers("easim send --text ") == [])
  }

  @Test func bashOffersWhatIsOnTheBenchBehindTheColon() throws {
    let run = try bench.plugIn("echo", "--count", "2", count: 2)
    #expect(try offers("easim send bench:E") == ["EW1-0001-1", "EW1-0001-2"])
    #expect(try offers("easim info ben") == ["bench:", "bench:EW1-0001-1", "bench:EW1-0001-2"])
    run.send(2)
    #expect(try run.wait().ending == .exit(0))
  }
}
