import Glibc
import TestSupport
import Testing

@Suite(.waits) struct ReplayTests {
  private let place = TemporaryFolder()

  private func record(_ words: String...) throws -> String {
    let accessory = try Accessory("echo", on: .unix, in: place, "--quirk", "flicker,empty=50ms,gap=50ms")
    let file = place.file("golden.pcapng")
    let sent = try Program.run(
      ["send", accessory.address, "--text", "hello", "--expect", "echo", "--text", "bye", "--expect", "echo"] + words
        + ["--capture", file])
    #expect(sent.ending == .exit(0), "\(sent.err)")
    try accessory.interrupt()
    return file
  }

  private func address(_ name: String) -> String { "unix:\(place.file(name))" }

  @Test func theAppThatMadeARecordingIsSatisfiedByIt() throws {
    let golden = try record()
    let replay = try Program("replay", golden, "--on", address("r"), "--report", place.file("r.xml"))
    try replay.line("+ plugged in")
    let sent = try Program.run(
      "send", address("r"), "--text", "hello", "--expect", "echo", "--text", "bye", "--expect", "echo", "--timeout",
      "1m")
    #expect(sent.ending == .exit(0), "\(sent.out)\(sent.err)")
    let end = try replay.wait()
    #expect(end.ending == .exit(0), "\(end.out)\(end.err)")
    #expect(end.outLines.last?.hasSuffix("1 session as recorded, 8 bytes compared") == true, "\(end.out)")
    #expect(place.text("r.xml").contains("tests=\"1\" failures=\"0\""))
  }

  @Test func anAccessoryThatAnswersAsRecordedPasses() throws {
    let golden = try record()
    let accessory = try Accessory("echo", on: .unix, in: place, "--quirk", "flicker,empty=50ms,gap=50ms")
    let replay = try Program.run("replay", golden, "--at", accessory.address, "--speed", "max", "--timeout", "1m")
    #expect(replay.ending == .exit(0), "\(replay.out)\(replay.err)")
  }

  @Test func anotherAnswerIsShownWithBothSidesAndReported() throws {
    let golden = try record()
    place.write(
      """
      { version: 1, extends: "echo", behavior: { type: "script", framing: "any",
        rules: [{ request: "hello", response: "heLlo" }] } }
      """, to: "other.json5")
    let accessory = try Accessory(place.file("other.json5"), on: .unix, in: place)
    let reports = ["d.json", "d.html", "d.xml"].map { place.file($0) }
    let replay = try Program.run(
      ["replay", golden, "--at", accessory.address, "--timeout", "1m"] + reports.flatMap { ["--report", $0] })
    #expect(replay.ending == .exit(1), "\(replay.out)\(replay.err)")
    #expect(replay.outLines.contains { $0.hasPrefix("recorded  0000  68 65 6c 6c 6f ") }, "\(replay.out)")
    #expect(replay.outLines.contains { $0.hasPrefix("received  0000  68 65 4c 6c 6f ") })
    #expect(replay.outLines.contains { $0 == String(repeating: " ", count: 22) + "^^" })
    #expect(replay.outLines.last?.contains("byte 2 from the accessory is 4C instead of 6C, packet ") == true)
    for name in ["d.json", "d.html", "d.xml"] {
      let report = place.text(name)
      #expect(report.contains("byte 2 from the accessory is 4C instead of 6C"), "\(name)")
    }
    let show = try Program.run("report", "show", reports[0], "--report", place.file("again.html"))
    #expect(show.ending == .exit(1) && show.out.contains("received  0000  68 65 4c 6c 6f "), "\(show.out)\(show.err)")
    #expect(place.bytes("again.html") == place.bytes("d.html"))
  }

  @Test func silenceEndsWithFour() throws {
    let golden = try record()
    let accessory = try Accessory("echo", on: .unix, in: place, "--behavior", "sink")
    let replay = try Program.run("replay", golden, "--at", accessory.address, "--timeout", "2s")
    #expect(replay.ending == .exit(4), "\(replay.out)\(replay.err)")
    #expect(replay.outLines.last?.contains("8 bytes from the accessory did not arrive within 2s") == true)
  }

  @Test func nobodyThereEndsWithThree() throws {
    let golden = try record()
    let replay = try Program.run("replay", golden, "--at", address("none"), "--timeout", "100ms")
    #expect(replay.ending == .exit(3) && replay.err.contains("no accessory at unix:"), "\(replay.err)")
  }

  @Test func withoutAnAddressTheReplaySaysWhereItWaits() throws {
    let local = LocalPlace()
    let replay = try Program(["replay", try record()], environment: ["EASIM_LOCAL": local.path])
    try replay.line("waiting for a device to connect")
    let end = try replay.interrupt()
    #expect(end.err.contains("the accessory is in the local directory and waits for a device"), "\(end.err)")
  }

  @Test func aReplayThatWasStoppedHasNotPassedInAnyForm() throws {
    let golden = try record()
    let reports = ["s.json", "s.html", "s.xml"].map { place.file($0) }
    let replay = try Program(
      ["replay", golden, "--on", address("r"), "--json"] + reports.flatMap { ["--report", $0] })
    try replay.line("\"event\":\"attach\"")
    replay.send(SIGTERM)
    let end = try replay.wait()
    #expect(
      end.ending == .exit(1) && end.err.contains("easim: stopped by SIGTERM; 0 of 1 session played"), "\(end.err)")
    let result = try #require(try EventLines(end.out).events("result").last)
    #expect(result["passed"] == .truth(false) && result["verdict"]?.text == "stopped")
    let texts = ["s.json", "s.html", "s.xml"].map(place.text)
    #expect(texts[0].contains("\"passed\":false,\"verdict\":\"stopped\""))
    #expect(texts[1].contains("<h1>Stopped"))
    #expect(texts[2].contains("<failure message=\"not played: stopped by SIGTERM\"/>"))
  }

  @Test func aRecordingWithoutASessionPassesOnlyWhereThatIsAllowed() throws {
    let accessory = try Accessory("echo", on: .unix, in: place)
    let file = place.file("empty.pcapng")
    let info = try Program.run("info", accessory.address, "--capture", file)
    #expect(info.ending == .exit(0), "\(info.err)")
    let reports = ["e.json", "e.html", "e.xml"].map { place.file($0) }
    let words = ["replay", file, "--at", accessory.address] + reports.flatMap { ["--report", $0] }
    let replay = try Program.run(words)
    #expect(replay.ending == .exit(1) && replay.out.contains("✗ the recording has no session"), "\(replay.out)")
    let texts = ["e.json", "e.html", "e.xml"].map(place.text)
    #expect(texts[0].contains("\"passed\":false,\"verdict\":\"empty\""))
    #expect(texts[1].contains("<h1>Empty: "))
    #expect(texts[2].contains("<failure message=\"the recording has no session\"/>"))
    let allowed = try Program.run(words + ["--allow-empty"])
    #expect(allowed.ending == .exit(0), "\(allowed.out)\(allowed.err)")
  }

  @Test func aMaskIsLearnedAndUsed() throws {
    let golden = try record()
    let learned = try Program.run("replay", "--learn", golden, golden)
    #expect(learned.ending == .exit(0) && learned.out.contains("mask: []"), "\(learned.out)\(learned.err)")
    place.write("{ version: 1, mask: [{ from: \"accessory\", offset: 2, count: 1 }] }", to: "mask.json5")
    place.write(
      """
      { version: 1, extends: "echo", behavior: { type: "script", framing: "any",
        rules: [{ request: "hello", response: "heLlo" }, { request: "bye", response: "bye" }] } }
      """, to: "other.json5")
    let accessory = try Accessory(place.file("other.json5"), on: .unix, in: place)
    let replay = try Program.run(
      "replay", golden, "--at", accessory.address, "--mask", place.file("mask.json5"), "--timeout", "1m")
    #expect(replay.ending == .exit(0), "\(replay.out)\(replay.err)")
  }

  @Test func aWrongMaskIsExplainedWithItsPlace() throws {
    let golden = try record()
    for (text, complaint) in [
      ("{ version: 1, mask: [{ ofset: 2, count: 1 }] }", "unknown key 'ofset' in mask[0], did you mean 'offset'?"),
      ("{ version: 1, mask: [{ offset: 2 }] }", "a mask entry needs either 'count' (with 'offset') or 'pattern'"),
      ("{ version: 1, mask: [{ pattern: '02' }] }", "at least one ??"),
      ("{ version: 1 }", "mask"),
    ] {
      place.write(text, to: "mask.json5")
      let replay = try Program.run("replay", golden, "--mask", place.file("mask.json5"), "--at", address("none"))
      #expect(replay.ending == .exit(2), "\(replay.out)")
      #expect(replay.err.contains("mask.json5:1:") && replay.err.contains(complaint), "\(replay.err)")
    }
  }

  @Test func whatIsNoRecordingIsExplained() throws {
    place.write("0.000000 A DETECT\n", to: "transcript")
    let transcript = try Program.run("replay", place.file("transcript"))
    #expect(transcript.ending == .exit(2) && transcript.err.contains("a transcript does not contain all bytes"))
    place.write([0xFF, 0x55, 0x02, 0x00, 0xEE, 0x10], to: "short")
    let short = try Program.run("replay", place.file("short"))
    #expect(short.ending == .exit(2) && short.err.contains("no accessory identifies itself in the capture"))
  }
}
