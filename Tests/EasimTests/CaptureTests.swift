import Glibc
import TestSupport
import Testing

@Suite(.waits) struct CaptureTests {
  let place = TemporaryFolder()

  @Test(arguments: [1, 2]) func aDemonstrationIsDecodedAsItsTranscript(_ seed: Int) throws {
    let easim = try Program.run(
      "demo", "--virtual", "--seed", "\(seed)", "--transcript", place.file("t"), "--capture", place.file("c.pcapng"))
    #expect(easim.ending == .exit(0), "\(easim.err)")
    let decoded = try Program.run("decode", place.file("c.pcapng"))
    #expect(decoded.ending == .exit(0), "\(decoded.err)")
    let transcript = place.text("t").split(separator: "\n").map(String.init)
      .filter { !$0.hasSuffix(" closed") && !$0.contains(" sees that ") }
    let packets = decoded.outLines.filter { !$0.contains(" * ") && !$0.contains(" CABLE ") }.map(\.withoutCable)
    #expect(packets == transcript)
    #expect(packets.count > 20)
    #expect(decoded.outLines.first == "0.000000 * easim capture seed=\(seed)")
    #expect(decoded.outLines.contains { $0.contains(" * ") && $0.contains("● connect") })
    #expect(decoded.outLines.contains { $0.contains("CABLE 2: world:") })
  }

  @Test func aSendIsRecordedAtBothEndsWithTheSameSessionBytes() throws {
    let accessory = try Accessory(on: .unix, in: place, "--capture", place.file("a.pcapng"))
    let sent = try Program.run(
      "send", accessory.address, "--text", "hello", "--expect", "echo", "--capture", place.file("d.pcapng"))
    #expect(sent.ending == .exit(0), "\(sent.err)")
    try accessory.interrupt()
    for file in ["a.pcapng", "d.pcapng"] {
      let found = try Program.run("decode", "--sessions", "-", "--check", "--stats", place.file(file))
      #expect(found.ending == .exit(0), "\(found.out)\(found.err)")
      let sessions = found.outLines.filter { $0.contains(" session ") && $0.hasSuffix(" 68656c6c6f") }
      #expect(sessions.count == 2, "\(found.out)")
      #expect(found.outLines.contains { $0.hasPrefix("cable ") && $0.contains(" 5 bytes of sessions") })
      #expect(found.err.hasSuffix("; no rule is broken\n"))
    }
    let folder = place.file("sessions")
    #expect(try Program.run("decode", "--sessions", folder, place.file("d.pcapng")).ending == .exit(0))
    let files = place.names("sessions")
    #expect(files.count == 2)
    for file in files { #expect(place.text("sessions/\(file)") == "hello") }
  }

  @Test func stdoutCarriesTheCaptureAndStderrTheResults() throws {
    let easim = try Program(
      path: "/bin/sh",
      [
        "-c",
        "\(BuiltProducts.easim) demo --virtual --seed 7 --capture - 2>\(place.file("results"))"
          + " | \(BuiltProducts.easim) decode -",
      ]
    ).wait()
    #expect(easim.ending == .exit(0), "\(easim.err)")
    #expect(easim.outLines.contains { $0.hasSuffix("A DETECT") })
    #expect(place.text("results").contains("connect"))
  }

  @Test func aFileIsReadableAfterAKill() throws {
    let accessory = try Accessory(on: .unix, in: place, "--capture", place.file("a.pcapng"))
    let sent = try Program.run("send", accessory.address, "--10k", "--expect", "echo")
    #expect(sent.ending == .exit(0), "\(sent.err)")
    // A separate thread writes the file.
    var isWritten = false
    for _ in 0..<1_000 where !isWritten {
      isWritten = try Program.run("decode", place.file("a.pcapng")).out.contains("EA00")
    }
    accessory.program.send(SIGKILL)
    #expect(try accessory.program.wait().ending == .killed(by: SIGKILL))
    let decoded = try Program.run("decode", place.file("a.pcapng"))
    #expect(decoded.out.contains("EA00 StartExternalAccessoryProtocolSession"))
    // Only the last block may be truncated.
    #expect(decoded.outLines.filter { $0.hasPrefix("byte ") }.count <= 1)
  }
}

extension String {
  /// The line, with the cable's number removed: A2 and D2, the two ends of the second cable, become A and D.
  fileprivate var withoutCable: String {
    var words = split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
    if words.count > 1, ["A", "D"].contains(String(words[1].prefix(1))), words[1].dropFirst().allSatisfy(\.isNumber) {
      words[1] = String(words[1].prefix(1))
    }
    return words.joined(separator: " ")
  }
}
