import Glibc
import TestSupport
import Testing

/// Tests how processes end: on an interrupt, when they are killed, without a peer, after a timeout, or because an
/// address is in use.
@Suite(.waits) struct EndingTests {
  let place = TemporaryFolder()

  @Test(arguments: Accessory.Medium.allCases, [SIGINT, SIGTERM])
  func anInterruptedRunUnplugsSaysSoAndLeavesNothingBehind(medium: Accessory.Medium, signal: Int32) throws {
    let accessory = try Accessory(on: medium, in: place)
    accessory.program.send(signal)
    let run = try accessory.program.wait()
    #expect(run.ending == .exit(0))
    #expect(run.out.contains("unplugged: \(signal == SIGINT ? "Ctrl-C" : "SIGTERM")"))
    #expect(run.err.contains("0 sessions were served"))
    #expect(!place.has("glasses.sock") && !place.has("glasses"))
  }

  @Test func aLongWaitSaysWhatItWaitsForAndWhatEndsIt() throws {
    let nobody = "unix:\(place.file("nobody"))"
    let waits = try [
      ["info", nobody], ["send", nobody, "--text", "x"], ["burst", nobody], ["pipe", nobody], ["check", nobody],
      ["scenario", "run", "flicker", "--at", nobody], ["plug", "usbip:127.0.0.1:1"],
    ].map { try Program($0 + ["--timeout", "3s"]) }
    for wait in waits {
      let end = try wait.wait()
      #expect(end.ending == .exit(3), "\(end.err)")
      let said = end.err.split(separator: "\n").filter { $0.contains(" yet") }
      #expect(said.count == 1, "\(end.err)")
      #expect(said.first?.hasSuffix("; waiting up to 3s (--timeout), or until Ctrl-C") == true, "\(end.err)")
    }
  }

  @Test func anInterruptBetweenTheHalvesOfAFlickerIsHeard() throws {
    let accessory = try Accessory(on: .unix, in: place, "--quirk", "flicker,empty=1ms,gap=1h")
    let send = try Program("send", accessory.address, "--text", "x", "--timeout", "1h")
    try accessory.program.line("unplugged: the flicker")
    #expect(try accessory.interrupt().ending == .exit(0))
    let end = try send.interrupt()
    #expect(end.ending == .exit(1))
    #expect(end.err.contains("stopped by Ctrl-C; the accessory offered no protocol for a session"))
  }

  private func hostInSession(with accessory: Accessory) throws -> Program {
    let host = try Program("send", accessory.address, "--text", "hello", "--expect", "echo", "--timeout", "1h")
    try host.line("session 1 open")
    try accessory.program.line("session 1 open")
    return host
  }

  @Test(arguments: Accessory.Medium.allCases)
  func anAccessoryThatIsKilledIsGoneForTheHost(medium: Accessory.Medium) throws {
    let accessory = try Accessory(on: medium, in: place, "--behavior", "sink")
    let host = try hostInSession(with: accessory)
    accessory.program.send(SIGKILL)
    #expect(try accessory.program.wait().ending == .killed(by: SIGKILL))
    let end = try host.wait()
    #expect(end.ending == .exit(5), "\(end.out)\(end.err)")
    // Only acknowledged bytes count as sent, so their number depends on when the process ended.
    #expect(end.out.contains("○ disconnect"))
  }

  @Test(arguments: ["unix:/nonexistent/glasses.sock", "tcp:127.0.0.1:1", "pty:/nonexistent/glasses"])
  func nobodyThereEndsWithThreeAndNamesTheAddress(address: String) throws {
    let send = try Program.run("send", address, "--10k", "--timeout", "100ms")
    #expect(send.ending == .exit(3), "\(send.out)\(send.err)")
    #expect(send.err.contains("no accessory at \(address)"))
  }

  @Test func anAddressThatIsInUseIsNotTakenAndItsUserIsNamed() throws {
    let accessory = try Accessory(on: .unix, in: place)
    let second = try Program.run("run", "lawk-view", "--on", accessory.address)
    #expect(second.ending == .exit(2))
    #expect(second.err.contains("in use"))
    #expect(try Program.run("send", accessory.address, "--text", "x", "--expect", "echo").ending == .exit(0))
  }

  @Test(arguments: ["session,refuse", "session,close,delay=0s"], ["none", "echo"])
  func aSessionThatTheAccessoryEndsIsAFailedCheckAndNotATimeout(quirk: String, expectation: String) throws {
    // Only part of the payload can be in transit at once, so the session ends before all bytes have been acknowledged.
    place.write(Array(repeating: 0x5A, count: 1_000_000), to: "payload")
    let accessory = try Accessory(on: .unix, in: place, "--quirk", quirk, "--behavior", "sink")
    let send = try Program.run(
      "send", accessory.address, "--file", place.file("payload"), "--expect", expectation, "--timeout", "1h")
    #expect(send.ending == .exit(1), "\(send.out)\(send.err)")
  }

  @Test func aHostThatIsInterruptedClosesItsSessionAndSaysHowFarItCame() throws {
    let accessory = try Accessory(on: .unix, in: place, "--behavior", "sink")
    let host = try hostInSession(with: accessory)
    let end = try host.interrupt()
    #expect(end.ending == .exit(1))
    #expect(end.err.contains("stopped by Ctrl-C; 5 of 5 bytes were sent and 0 received"))
    try accessory.program.line("session 1 ended: the device closed it")
  }

  @Test func aSecondHostIsTurnedAwayAndBothSidesSaySo() throws {
    let accessory = try Accessory(on: .unix, in: place, "--behavior", "sink")
    let first = try hostInSession(with: accessory)
    let second = try Program.run("send", accessory.address, "--text", "x", "--timeout", "2s", "--json")
    try accessory.program.line("another device is already connected")
    #expect(second.ending == .exit(3), "\(second.out)\(second.err)")
    #expect(second.err.contains("it closed the cable before the iAP2 link was up"))
    // The intervals between attempts grow, so there are only a few attempts.
    #expect((1...12).contains(try EventLines(second.out).events("attach").count))
    #expect(try first.interrupt().ending == .exit(1))
  }
}
