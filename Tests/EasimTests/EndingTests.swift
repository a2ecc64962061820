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

  @Test func anInterruptBetweenTheHalvesOfAFlickerIsHeard() throws {
    let accessory = try Accessory(on: .unix, in: place, "--quirk", "flicker,empty=1ms,gap=1h")
    let send = try Program("send", accessory.address, "--text", "x", "--timeout", "1h")
    try accessory.program.line("unplugged: the flicker")
    #expect(try accessory.interrupt().ending == .exit(0))
    send.send(SIGINT)
    let end = try send.wait()
    #expect(end.ending == .exit(1))
    #expect(end.err.contains("stopped by Ctrl-C; the accessory offered no protocol for a session"))
  }

  func hostInSession(with accessory: Accessory, on medium: Accessory.Medium) throws -> Program {
    let host = try Program("send", accessory.address, "--text", "hello", "--expect", "echo", "--timeout", "1h")
    try host.line("session 1 open")
    try accessory.program.line("session 1 open")
    return host
  }

  @Test(arguments: Accessory.Medium.allCases)
  func anAccessoryThatIsKilledIsGoneForTheHost(medium: Accessory.Medium) throws {
    let accessory = try Accessory(on: medium, in: place, "--behavior", "sink")
    let host = try hostInSession(with: accessory, on: medium)
    accessory.program.send(SIGKILL)
    #expect(try accessory.program.wait().ending == .killed(by: SIGKILL))
    let end = try host.wait()
    #expect(end.ending == .exit(5), "\(end.out)\(end.err)")
    // Only acknowledged bytes count as sent, so their number depends on when the process ended.
    #expect(end.out.contains("○ disconnect"))
  }

  @Test func anAccessoryThatIsUnpluggedInASessionIsGoneForTheHost() throws {
    let accessory = try Accessory(on: .unix, in: place, "--behavior", "sink")
    let host = try hostInSession(with: accessory, on: .unix)
    #expect(try accessory.interrupt().ending == .exit(0))
    #expect(try host.wait().ending == .exit(5))
  }

  @Test func theSocketOfAKilledAccessoryIsTakenOverByTheNext() throws {
    let first = try Accessory(on: .unix, in: place)
    first.program.send(SIGKILL)
    _ = try first.program.wait()
    #expect(place.has("glasses.sock"))
    let second = try Accessory(on: .unix, in: place)
    #expect(try Program.run("send", second.address, "--text", "x", "--expect", "echo").ending == .exit(0))
    try second.interrupt()
    #expect(!place.has("glasses.sock"))
  }

  @Test func aHostThatIsKilledLeavesTheAccessoryReadyForTheNext() throws {
    let accessory = try Accessory(on: .unix, in: place, "--behavior", "sink")
    let host = try hostInSession(with: accessory, on: .unix)
    host.send(SIGKILL)
    #expect(try host.wait().ending == .killed(by: SIGKILL))
    try accessory.program.line("the device left")
    #expect(try Program.run("send", accessory.address, "--text", "x").ending == .exit(0))
    try accessory.interrupt()
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
    try accessory.interrupt()
  }

  @Test(arguments: ["session,refuse", "session,close,delay=0s"], ["none", "echo"])
  func aSessionThatTheAccessoryEndsIsAFailedCheckAndNotATimeout(quirk: String, expectation: String) throws {
    // Only part of the payload can be in transit at once, so the session ends before all bytes have been acknowledged.
    place.write(Array(repeating: 0x5A, count: 1_000_000), to: "payload")
    let accessory = try Accessory(on: .unix, in: place, "--quirk", quirk, "--behavior", "sink")
    let send = try Program.run(
      "send", accessory.address, "--file", place.file("payload"), "--expect", expectation, "--timeout", "1h")
    #expect(send.ending == .exit(1), "\(send.out)\(send.err)")
    try accessory.interrupt()
  }

  @Test func aHostThatIsInterruptedClosesItsSessionAndSaysHowFarItCame() throws {
    let accessory = try Accessory(on: .unix, in: place, "--behavior", "sink")
    let host = try hostInSession(with: accessory, on: .unix)
    host.send(SIGINT)
    let end = try host.wait()
    #expect(end.ending == .exit(1))
    #expect(end.err.contains("stopped by Ctrl-C; 5 of 5 bytes were sent and 0 received"))
    try accessory.program.line("session 1 ended: the device closed it")
    try accessory.interrupt()
  }

  @Test func anEchoThatNeverComesEndsWithFour() throws {
    let accessory = try Accessory(on: .unix, in: place, "--behavior", "sink")
    let send = try Program.run("send", accessory.address, "--10k", "--expect", "echo", "--timeout", "700ms")
    #expect(send.ending == .exit(4))
    #expect(send.err.contains("timed out after 700ms; 10000 of 10000 bytes were sent and 0 received"))
    try accessory.interrupt()
  }

  @Test(arguments: [Accessory.Medium.unix, .tcp])
  func aSecondHostIsTurnedAwayAndBothSidesSaySo(medium: Accessory.Medium) throws {
    let accessory = try Accessory(on: medium, in: place, "--behavior", "sink")
    let first = try hostInSession(with: accessory, on: medium)
    let second = try Program.run("send", accessory.address, "--text", "x", "--timeout", "2s", "--json")
    try accessory.program.line("another device is already connected")
    #expect(second.ending == .exit(3), "\(second.out)\(second.err)")
    #expect(second.err.contains("it closed the cable before the iAP2 link was up"))
    // The intervals between attempts grow, so there are only a few attempts.
    #expect((1...12).contains(try EventLines(second.out).events("attach").count))
    first.send(SIGINT)
    #expect(try first.wait().ending == .exit(1))
    try accessory.interrupt()
  }

  @Test func aSecondHostGetsTheAccessoryWhenTheFirstHasLeft() throws {
    let accessory = try Accessory(on: .unix, in: place, "--behavior", "sink")
    let first = try hostInSession(with: accessory, on: .unix)
    let second = try Program("send", accessory.address, "--text", "x", "--timeout", "1h")
    try accessory.program.line("another device is already connected")
    first.send(SIGINT)
    #expect(try first.wait().ending == .exit(1))
    #expect(try second.wait().ending == .exit(0))
    try accessory.interrupt()
  }
}
