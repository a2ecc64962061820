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
    #expect(try run.interrupt().ending == .exit(0))
    #expect(local.files == [])
    try watch.line("\"event\":\"detach\"")
    let watched = try watch.interrupt()
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
    let easim = try local.run(words)
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
    for (name, beginning) in [
      ("com.nope", "com.nope. There are:\n"),
      ("com.example.ecko", "com.example.ecko, did you mean 'com.example.echo'? There"),
    ] {
      let unfit = try local.run("send", "--10k", "--protocol", name)
      #expect(unfit.ending == .exit(2))
      #expect(unfit.err.hasPrefix("easim: no accessory offers \(beginning)"), "\(unfit.err)")
    }
    let long = try local.run("send", "--10k", "--protocol", String(repeating: "x", count: 100_000))
    #expect(long.ending == .exit(2) && long.err.utf8.count < 4_000)
    let byProtocol = try local.run("send", "--text", "hello", "--expect", "echo", "--protocol", "com.example.echo")
    #expect(byProtocol.ending == .exit(0), "\(byProtocol.err)")
    let bySerial = try local.run("send", "local:EW1-0001", "--text", "hello", "--expect", "echo")
    #expect(bySerial.ending == .exit(0), "\(bySerial.err)")
    let byDirectory = try Program.run("send", "local:\(local.path)#EW1-0001", "--text", "hello", "--expect", "echo")
    #expect(byDirectory.ending == .exit(0), "\(byDirectory.err)")
    let list = try local.run("list", "--protocol", "com.lawaken.iap2")
    #expect(list.outLines.count == 1 && list.out.contains("com.lawaken.iap2"))
    #expect(try local.run("list", "--protocol", "com.example.other").ending == .exit(3))
    #expect(try run.interrupt().ending == .exit(0))
  }

  @Test func forAnUnknownSerialNumberThoseThatArePresentAreListed() throws {
    let run = try local.plugIn("echo")
    let send = try local.run("send", "local:EW1-000", "--text", "a", "--timeout", "100ms")
    #expect(send.ending == .exit(3))
    #expect(send.err.contains("waiting\neasim: did you mean 'EW1-0001'? There are:\n  local:EW1-0001 "), "\(send.err)")
    try run.interrupt()
  }

  /// The local directory's path depends on the runtime directory. If the list is empty, easim therefore prints the path
  /// of the directory and the likely reason.
  @Test func aListOfNothingSaysWhereItLooked() throws {
    let runtime = local.place.file("runtime")
    local.place.makeFolder("runtime")
    let list = try Program.run(["list"], environment: ["EASIM_LOCAL": "", "XDG_RUNTIME_DIR": runtime])
    #expect(list.ending == .exit(3))
    #expect(list.err.contains("looked at the local directory \(runtime)/easim"), "\(list.err)")
    #expect(list.err.contains("a different EASIM_LOCAL, XDG_RUNTIME_DIR or TMPDIR"), "\(list.err)")
  }

  @Test func twoOfOneSerialNumberAreToldWithWhatToDo() throws {
    let runs = [try local.plugIn("echo"), try local.plugIn("echo")]
    for words in [["send", "--10k"], ["send", "local:EW1-0001", "--10k"], ["burst", "--all"]] {
      let end = try local.run(words)
      #expect(end.ending == .exit(2))
      #expect(
        end.err.contains("Accessories with the same serial number cannot be told apart: unplug all but one,"),
        "\(end.err)")
    }
    for run in runs { #expect(try run.interrupt().ending == .exit(0)) }
  }

  @Test func aHostWaitsForAnAccessoryThatIsYetToCome() throws {
    let send = try local.start("send", "--text", "hello", "--expect", "echo", "--timeout", "60s")
    let run = try local.plugIn("echo")
    #expect(try send.wait().ending == .exit(0))
    #expect(try run.interrupt().ending == .exit(0))
  }

  @Test func aSecondHostHearsWhichProcessHasTheCableAndGetsItAfterwards() throws {
    let run = try local.plugIn("echo", "--behavior", "sink")
    let first = try local.start("send", "--text", "hello", "--expect", "echo", "--timeout", "60s")
    try first.line("session 1 open")
    let second = try local.start("send", "--text", "hello", "--timeout", "60s")
    let complaint = try second.line("is in use by pid ")
    #expect(complaint.contains("local:EW1-0001 is in use by pid \(first.number)"), "\(complaint)")
    try first.interrupt()
    #expect(try second.wait().ending == .exit(0))
    #expect(try run.interrupt().ending == .exit(0))
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
    #expect(try next.interrupt().ending == .exit(0))
    #expect(try watch.interrupt().ending == .exit(0))
  }

  /// Kills the accessory and the host eight times each, after a random number of printed lines.
  @Test func killsOfEitherEndLeaveTheOtherGoingOnAndTheLocalDirectoryClean() throws {
    var random = SystemRandomNumberGenerator()
    let lasting = try local.plugIn("echo", "--quirk", "flicker,empty=1ms,gap=1ms")
    for _ in 0..<8 {
      let host = try local.start("send", "local:EW1-0001", "--10k", "--expect", "echo", "--timeout", "60s")
      for _ in 0..<Int.random(in: 0...8, using: &random) { try host.line(" ") }
      host.send(SIGKILL)
      _ = try host.wait()
      // The accessory serves the next host, whether or not the killed host had opened a session.
      let next = try local.run("send", "local:EW1-0001", "--text", "hello", "--expect", "echo", "--timeout", "60s")
      #expect(next.ending == .exit(0), "\(next.out)\(next.err)")
      try lasting.catchUp()
    }
    let said = try lasting.interrupt()
    #expect(said.ending == .exit(0))
    #expect(said.out.contains("the device left: "), "it says what happened")
    #expect(local.files == [])

    for _ in 0..<8 {
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
      #expect(try next.interrupt().ending == .exit(0))
      #expect(local.files == [])
    }
  }

  @Test func aLocalDirectoryThatCannotBeTrustedIsRefusedByBothSides() throws {
    local.place.makeFolder("local", mode: 0o777)
    for words in [["run", "echo"], ["list"], ["watch"], ["send", "--10k"]] {
      let easim = try local.run(words)
      #expect(easim.ending == .exit(2))
      #expect(easim.err.contains("chmod 700 \(local.path)"), "\(easim.err)")
    }
    #expect(local.files == [])
  }
}
