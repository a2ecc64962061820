import Glibc
import TestSupport
import Testing

/// Runs `easim run` and `easim send` as two processes that are connected by one cable, on every medium.
@Suite(.waits) struct RunAndSendTests {
  let place = TemporaryFolder()

  @Test(arguments: Accessory.Medium.allCases, [false, true])
  func tenThousandBytesAreEchoedBetweenTwoProcesses(medium: Accessory.Medium, flickers: Bool) throws {
    let accessory =
      flickers
      ? try Accessory(on: medium, in: place, "--quirk", "flicker,empty=30ms,gap=40ms")
      : try Accessory(on: medium, in: place)
    let send = try Program.run("send", accessory.address, "--10k", "--expect", "echo", "--json")
    #expect(send.ending == .exit(0), "\(send.out)\(send.err)")
    let lines = try EventLines(send.out)
    let whole = ["com.lawaken.iap2"]
    #expect(lines.events("connect").map(\.protocols) == (flickers ? [[], whole] : [whole]))
    #expect(lines.events("result").map { $0["passed"] } == [.truth(true)])
    let run = try accessory.interrupt()
    #expect(run.ending == .exit(0))
    #expect(run.err.contains("1 session was served, 20000 bytes in all"))
  }

  @Test func controlMessagesAreLinesUnlessTheyAreNotWanted() throws {
    let accessory = try Accessory(on: .unix, in: place, "--quiet-messages")
    let shown = try Program.run("send", accessory.address, "--text", "hello", "--expect", "echo")
    #expect(shown.out.contains("device     → 1D00 StartIdentification\n"), "\(shown.out)")
    #expect(shown.out.contains("device     ← EA03 StatusExternalAccessoryProtocolSession session=1 status=0\n"))
    let quiet = try Program.run("send", accessory.address, "--text", "hello", "--json", "--quiet-messages")
    #expect(quiet.ending == .exit(0))
    #expect(try EventLines(quiet.out).events("message").isEmpty)
    #expect(!(try accessory.interrupt().out.contains("1D00")))
  }

  /// A cable between two processes has native channels only on USB.
  @Test func aProtocolOfNativeTransportGoesOverTheLinkWithAWarning() throws {
    let accessory = try Accessory("camera", on: .unix, in: place)
    let send = try Program.run(
      "send", accessory.address, "--protocol", "com.example.camera.frames", "--10k", "--expect", "echo", "--json")
    #expect(send.ending == .exit(0), "\(send.out)\(send.err)")
    #expect(try EventLines(send.out).events("session.open").map { $0["session"]?.number } == [1])
    let run = try accessory.interrupt()
    #expect(
      run.out.contains(
        "com.example.camera.frames: sessions use the link instead of native transport, because this cable has no "
          + "native channels"))
  }

  @Test func everyHostSeesTheWholeFlicker() throws {
    let accessory = try Accessory(on: .unix, in: place, "--quirk", "flicker,empty=20ms,gap=20ms")
    for _ in 0..<2 {
      let send = try Program.run("send", accessory.address, "--text", "hello", "--expect", "echo", "--json")
      #expect(try EventLines(send.out).events("connect").map(\.protocols) == [[], ["com.lawaken.iap2"]])
    }
  }

  @Test func aFileIsSentByteForByte() throws {
    let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) }
    place.write(bytes, to: "payload")
    let accessory = try Accessory(on: .unix, in: place)
    let send = try Program.run("send", accessory.address, "--file", place.file("payload"), "--expect", "echo")
    #expect(send.ending == .exit(0))
    #expect(send.out.contains("100000 bytes sent, 100000 bytes came back as expected"))
  }

  @Test func moreThanWasExpectedEndsWithOne() throws {
    let accessory = try Accessory(on: .unix, in: place)
    let send = try Program.run("send", accessory.address, "--hex", "01 02 03 04", "--expect", "01 02")
    #expect(send.ending == .exit(1))
    #expect(send.out.contains("the first difference is at byte 2"))
  }

  @Test func theProtocolIsChosenByNameAndAWrongNameGetsTheNearestOne() throws {
    let accessory = try Accessory(on: .unix, in: place)
    let right = try Program.run(
      "send", accessory.address, "--text", "x", "--protocol", "com.lawaken.iap2", "--expect", "echo")
    #expect(right.ending == .exit(0))
    let wrong = try Program.run("send", accessory.address, "--text", "x", "--protocol", "com.lawaken.iap1")
    #expect(wrong.ending == .exit(2))
    #expect(wrong.out.contains("did you mean 'com.lawaken.iap2'?"))
  }

  @Test func aHostThatShowsEarlyShowsTheAccessoryWithoutProtocolsFirst() throws {
    let accessory = try Accessory(on: .unix, in: place)
    let send = try Program.run("send", accessory.address, "--text", "x", "--expect", "echo", "--early", "--json")
    #expect(send.ending == .exit(0))
    #expect(try EventLines(send.out).events("connect").map(\.protocols) == [[], ["com.lawaken.iap2"]])
  }

  @Test func bothEndsWriteTheSamePacketsIntoTheirTranscripts() throws {
    let accessory = try Accessory(on: .unix, in: place, "--transcript", place.file("accessory"))
    #expect(
      try Program.run(
        "send", accessory.address, "--text", "hello", "--expect", "echo", "--transcript", place.file("device")
      ).ending == .exit(0))
    try accessory.interrupt()
    func packets(_ name: String, from end: String) throws -> [String] {
      let text = String(decoding: try #require(place.bytes(name)), as: UTF8.self)
      // The lines are compared without their times, because each process has its own clock.
      return text.split(separator: "\n").map { $0.split(separator: " ", maxSplits: 1)[1] }
        .filter { $0.hasPrefix("\(end) ") && !$0.contains("closed") && !$0.contains("sees that") }.map(String.init)
    }
    for end in ["A", "D"] {
      let written = try packets("accessory", from: end)
      #expect(written.count > 5)
      #expect(written == (try packets("device", from: end)))
    }
  }

  @Test func aFaultIsDoneToTheCableAndToldWhileEveryByteStillArrives() throws {
    let accessory = try Accessory(
      on: .unix, in: place, "--fault", "stall,for=100ms", "--fault", "split,size=100", "--json")
    let send = try Program.run("send", accessory.address, "--10k", "--expect", "echo")
    #expect(send.ending == .exit(0), "\(send.out)\(send.err)")
    let faults = try EventLines(try accessory.interrupt().out).events("fault")
    #expect(faults.contains { $0["text"]?.text?.contains("nothing passes from now on") == true })
    #expect(faults.allSatisfy { $0["side"]?.text == "cable" })
  }

  @Test func aRunWithATimeLimitUnplugsByItself() throws {
    let accessory = try Accessory(on: .unix, in: place, "--for", "50ms")
    let run = try accessory.program.wait()
    #expect(run.ending == .exit(0))
    #expect(run.out.contains("unplugged: the --for time is over"))
    #expect(!place.has("glasses.sock"))
  }
}
