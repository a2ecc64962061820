import Glibc
import TestSupport
import Testing

/// Tests how Wireshark lists and records the cables of running programs.
@Suite(.waits) struct ExtcapTests {
  let local = LocalPlace()

  private func interfaces() throws -> [(name: String, display: String)] {
    let list = try local.run("extcap", "--extcap-interfaces", "--extcap-version=4.0")
    #expect(list.ending == .exit(0), "\(list.err)")
    #expect(list.outLines.first?.hasPrefix("extcap {version=") == true)
    return list.outLines.dropFirst().compactMap { line in
      let parts = line.split(separator: "}").map(String.init)
      guard parts.count == 2, parts[0].hasPrefix("interface {value="), parts[1].hasPrefix("{display=") else {
        return nil
      }
      return (String(parts[0].dropFirst("interface {value=".count)), String(parts[1].dropFirst("{display=".count)))
    }
  }

  @Test func eachRunningAccessoryIsAnInterfaceUntilItsProgramEnds() throws {
    #expect(try interfaces().isEmpty)
    #expect(!local.place.has("local"), "looking makes nothing")
    let run = try local.plugIn("lawk-view", "echo", count: 2)
    let found = try interfaces()
    #expect(found.map(\.name) == ["easim-\(run.number)-1", "easim-\(run.number)-2"])
    #expect(found.first?.display.contains(" at local:") == true, "\(found)")
    #expect(found.last?.display.hasSuffix("(process \(run.number))") == true)
    let types = try local.run("extcap", "--extcap-interface", found[0].name, "--extcap-dlts")
    #expect(types.out == "dlt {number=147}{name=USER0}{display=iAP2 (easim)}\n")
    #expect(try local.run("extcap", "--extcap-interface", found[0].name, "--extcap-config").out == "")
    #expect(try run.interrupt().ending == .exit(0))
    #expect(try interfaces().isEmpty)
    #expect(local.place.names("local") == [])
  }

  @Test func anInterfaceIsRecordedAlsoWhenItsAccessoryIsPluggedInAgain() throws {
    let run = try local.plugIn("echo")
    let name = try #require(interfaces().first?.name)
    let capture = try local.start(
      "extcap", "--capture", "--extcap-interface", name, "--fifo", local.place.file("c.pcapng"))
    // When the first block arrives, the recording has begun.
    var bytes = 0
    while bytes == 0, !Task.isCancelled { bytes = local.place.bytes("c.pcapng")?.count ?? 0 }
    for text in ["hello", "again"] {
      let sent = try local.run("send", "--text", text, "--expect", "echo")
      #expect(sent.ending == .exit(0), "\(sent.err)")
    }
    #expect(try run.interrupt().ending == .exit(0))
    #expect(try capture.wait().ending == .exit(0), "it ends with the program")
    let decoded = try local.run("decode", "--sessions", "-", "--check", local.place.file("c.pcapng"))
    #expect(decoded.ending == .exit(0), "\(decoded.out)\(decoded.err)")
    for hex in ["68656c6c6f", "616761696e"] {
      #expect(decoded.outLines.filter { $0.hasSuffix(" \(hex)") }.count == 2, "\(decoded.out)")
    }
  }

  @Test func aServersAccessoriesAreListedToo() throws {
    let server = try local.start("serve", "--control", local.place.file("control"))
    try server.line("http://")
    let added = try local.run("ctl", "--control", local.place.file("control"), "accessory.add", "profile=echo")
    #expect(added.ending == .exit(0), "\(added.err)")
    #expect(try interfaces().map(\.display) == ["easim: Echo at world main (process \(server.number))"])
    #expect(try server.interrupt().ending == .exit(0))
  }

  @Test func aKilledProgramsSocketIsRemoved() throws {
    let killed = try local.plugIn("echo")
    killed.send(SIGKILL)
    #expect(try killed.wait().ending == .killed(by: SIGKILL))
    #expect(try interfaces().isEmpty)
    #expect(!local.place.names("local").contains { $0.hasPrefix("capture-") })
    let next = try local.plugIn("echo")
    #expect(local.place.names("local").filter { $0.hasPrefix("capture-") } == ["capture-\(next.number).sock"])
    #expect(try next.interrupt().ending == .exit(0))
  }

  @Test func whatIsGoneIsSaid() throws {
    let gone = try local.run("extcap", "--capture", "--extcap-interface", "easim-1-1", "--fifo", local.place.file("f"))
    #expect(gone.ending == .exit(3))
    #expect(gone.err.contains("the interface easim-1-1 no longer exists"))
  }

  /// The number differs between the two recordings, so the profile made from both has a wildcard in its place.
  @Test func aProfileOfTwoCapturesHasWildcards() throws {
    let place = local.place
    place.write(
      "{ version: 1, extends: 'scripted', behavior: { type: 'script', framing: { delimiter: '\\n' }, rules: [ "
        + "{ regex: 'SET (\\\\d+)', answers: ['NOW ${1}\\n'] } ] } }", to: "lamp.json5")
    let run = try local.plugIn(place.file("lamp.json5"))
    for number in [7, 12] {
      let sent = try local.run(
        "send", "--escape", "--text", "SET \(number)\\n", "--expect", "text:NOW \(number)\\n", "--capture",
        place.file("\(number).pcapng"))
      #expect(sent.ending == .exit(0), "\(sent.out)\(sent.err)")
    }
    try run.interrupt()
    let made = try local.run("profile", "import", place.file("7.pcapng"), place.file("12.pcapng"))
    #expect(made.ending == .exit(0), "\(made.err)")
    #expect(made.out.contains("SET (\\\\d+)") && made.out.contains("NOW ${1}"), "\(made.out)")
    #expect(try local.run("profile", "import", place.file("lamp.json5"), "x").err.contains("only captures"))
  }
}
