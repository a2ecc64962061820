import Glibc
import TestSupport
import Testing

/// Tests a local directory that simulators, hosts and watchers use at the same time, in separate processes, some of
/// which are killed.
@Suite(.waits) struct LocalInUseTests {
  let local = LocalPlace()

  @Test func whatIsPluggedInIsListedWatchedSentToAndGone() throws {
    let watch = try local.start("watch", "--json")
    let run = try local.plugIn("echo", "--quirk", "flicker")
    try watch.line("\"event\":\"attach\"")
    let list = try local.run("list")
    #expect(list.ending == .exit(0))
    #expect(list.outLines.count == 1)
    for part in ["local:EW1-0001", "Echo", "Example Works", "(no protocols)", "pid \(run.number)"] {
      #expect(list.out.contains(part), "\(list.out)")
    }
    let send = try local.run("send", "--10k", "--expect", "echo")
    #expect(send.ending == .exit(0), "\(send.out)\(send.err)")
    // According to its card, the accessory appears without protocols, disappears, appears with all its protocols, has
    // no protocols again for the next host, and finally disappears.
    try watch.line("\"event\":\"note\"")
    run.send(SIGINT)
    #expect(try run.wait().ending == .exit(0))
    #expect(local.files == [])
    try watch.line("\"event\":\"detach\"")
    watch.send(SIGINT)
    let watched = try watch.wait()
    #expect(watched.ending == .exit(0))
    let events = try EventLines(watched.out)
    #expect(events.names == ["attach", "detach", "attach", "note", "detach"])
    #expect(events.events("attach").map(\.protocols) == [[], ["com.example.echo"]])
  }

  @Test func theListAsJSONHasTheShapeOfAnAttach() throws {
    let run = try local.plugIn("echo", "lawk-view", "--count", "2", count: 4)
    let list = try local.run("list", "--json")
    let events = try EventLines(list.out).events
    #expect(events.count == 4)
    let serials = events.compactMap { $0["accessory"]?["serial"]?.text }
    #expect(
      serials == ["EW1-0001-1", "EW1-0001-2", "040025380108A000608-1", "040025380108A000608-2"], "in order of arrival")
    for event in events {
      #expect(event["event"]?.text == "attach")
      #expect(event["accessory"]?["manufacturer"]?.text != nil && event["accessory"]?["model"]?.text != nil)
      #expect(event["pid"]?.number != nil && (event["attachedAt"]?.number ?? 0) > 1e9)
      #expect(
        event["on"]?.text?.hasPrefix("local:\(local.path)#") == false, "the standard local directory has the short form"
      )
    }
    run.send(SIGTERM)
    #expect(try run.wait().ending == .exit(0))
    #expect(local.files == [])
  }

  @Test(arguments: [["list"], ["send", "--10k", "--timeout", "50ms"], ["info", "--timeout", "50ms"]])
  func inAnEmptyLocalDirectoryTheCodeIsThreeAndTheLocalDirectoryIsNamed(words: [String]) throws {
    let easim = try Program(path: BuiltProducts.easim, words, environment: ["EASIM_LOCAL": local.path]).wait()
    #expect(easim.ending == .exit(3))
    #expect(easim.err.contains("No Accessories Connected") && easim.err.contains(local.path), "\(easim.err)")
    #expect(!local.place.has("local"), "looking makes nothing")
  }

  @Test func amongSeveralTheProtocolOrTheSerialNumberChooses() throws {
    let run = try local.plugIn("echo", "lawk-view", count: 2)
    let vague = try local.run("send", "--text", "hello")
    #expect(vague.ending == .exit(2))
    for part in ["2 accessories are connected, choose one", "local:EW1-0001", "local:040025380108A000608"] {
      #expect(vague.err.contains(part), "\(vague.err)")
    }
    let wrong = try local.run("send", "--text", "hello", "--protocol", "com.example.ecko")
    #expect(wrong.ending == .exit(2))
    #expect(wrong.err.contains("did you mean 'com.example.echo'?"), "\(wrong.err)")
    let byProtocol = try local.run("send", "--text", "hello", "--expect", "echo", "--protocol", "com.example.echo")
    #expect(byProtocol.ending == .exit(0), "\(byProtocol.err)")
    let bySerial = try local.run("send", "local:EW1-0001", "--text", "hello", "--expect", "echo")
    #expect(bySerial.ending == .exit(0), "\(bySerial.err)")
    let byDirectory = try Program.run("send", "local:\(local.path)#EW1-0001", "--text", "hello", "--expect", "echo")
    #expect(byDirectory.ending == .exit(0), "\(byDirectory.err)")
    run.send(SIGINT)
    #expect(try run.wait().ending == .exit(0))
  }

  @Test func aHostWaitsForAnAccessoryThatIsYetToCome() throws {
    let send = try local.start("send", "--text", "hello", "--expect", "echo", "--timeout", "60s")
    let run = try local.plugIn("echo")
    #expect(try send.wait().ending == .exit(0))
    run.send(SIGINT)
    #expect(try run.wait().ending == .exit(0))
  }

  @Test func aSecondHostHearsWhichProcessHasTheCableAndGetsItAfterwards() throws {
    let run = try local.plugIn("echo", "--behavior", "sink")
    let first = try local.start("send", "--text", "hello", "--expect", "echo", "--timeout", "60s")
    try first.line("session 1 open")
    let second = try local.start("send", "--text", "hello", "--timeout", "60s")
    let complaint = try second.line("is in use by pid ")
    #expect(complaint.contains("local:EW1-0001 is in use by pid \(first.number)"), "\(complaint)")
    first.send(SIGINT)
    _ = try first.wait()
    #expect(try second.wait().ending == .exit(0))
    run.send(SIGINT)
    #expect(try run.wait().ending == .exit(0))
  }

  // MARK: kill -9

  @Test func aKilledSimulatorIsNoticedByEverybodyAndSwept() throws {
    let run = try local.plugIn("echo", "--behavior", "sink")
    let watch = try local.start("watch")
    try watch.line("plugged in")
    let send = try local.start("send", "--text", "hello", "--expect", "echo", "--timeout", "60s")
    try send.line("session 1 open")
    run.send(SIGKILL)
    #expect(try run.wait().ending == .killed(by: SIGKILL))
    #expect(try send.wait().ending == .exit(5))
    let gone = try watch.line("unplugged")
    #expect(gone.contains("its process \(run.number) has ended"), "\(gone)")
    #expect(local.files == [])
    let next = try local.plugIn("echo")
    try watch.line("plugged in")
    next.send(SIGINT)
    #expect(try next.wait().ending == .exit(0))
    watch.send(SIGINT)
    #expect(try watch.wait().ending == .exit(0))
  }

  /// Kills the accessory and the host twenty times each, after a random number of printed lines.
  @Test func killsOfEitherEndLeaveTheOtherGoingOnAndTheLocalDirectoryClean() throws {
    var random = SystemRandomNumberGenerator()
    let lasting = try local.plugIn("echo", "--quirk", "flicker,empty=1ms,gap=1ms")
    for _ in 0..<20 {
      let host = try local.start("send", "local:EW1-0001", "--10k", "--expect", "echo", "--timeout", "60s")
      for _ in 0..<Int.random(in: 0...8, using: &random) { try host.line(" ") }
      host.send(SIGKILL)
      _ = try host.wait()
      // The accessory serves the next host, whether or not the killed host had opened a session.
      let next = try local.run("send", "local:EW1-0001", "--text", "hello", "--expect", "echo", "--timeout", "60s")
      #expect(next.ending == .exit(0), "\(next.out)\(next.err)")
      try lasting.catchUp()
    }
    lasting.send(SIGINT)
    let said = try lasting.wait()
    #expect(said.ending == .exit(0))
    #expect(said.out.contains("the device left: "), "it says what happened")
    #expect(local.files == [])

    for _ in 0..<20 {
      let simulator = try local.start("run", "echo", "--quirk", "flicker,empty=1ms,gap=1ms")
      let host = try local.start("send", "--10k", "--expect", "echo", "--timeout", "60s")
      for _ in 0..<Int.random(in: 0...8, using: &random) { try simulator.line(" ") }
      simulator.send(SIGKILL)
      _ = try simulator.wait()
      // A host that has a session reports that the accessory disconnected. A host without a session waits for the next
      // accessory.
      let next = try local.plugIn("echo")
      let ending = try host.wait()
      #expect([.exit(0), .exit(5)].contains(ending.ending), "\(ending.out)\(ending.err)")
      if ending.ending == .exit(5) {
        // The host prints the first reason if no session is open, and the second if a session is open.
        let reasons = ["the accessory went away", "the session ended after"]
        #expect(reasons.contains { ending.out.contains($0) }, "\(ending.out)")
      }
      next.send(SIGINT)
      #expect(try next.wait().ending == .exit(0))
      #expect(local.files == [])
    }
  }

  @Test func aLocalDirectoryThatCannotBeTrustedIsRefusedByBothSides() throws {
    local.place.makeFolder("local", mode: 0o777)
    for words in [["run", "echo"], ["list"], ["watch"], ["send", "--10k"]] {
      let easim = try Program(path: BuiltProducts.easim, words, environment: ["EASIM_LOCAL": local.path]).wait()
      #expect(easim.ending == .exit(2))
      #expect(easim.err.contains("chmod 700 \(local.path)"), "\(easim.err)")
    }
    #expect(local.files == [])
  }
}
