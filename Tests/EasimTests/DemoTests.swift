import TestSupport
import Testing

@Suite(.waits) struct DemoTests {
  @Test func theDemoShowsTheFlickerInOrderAndEndsWithZero() throws {
    let demo = try Program.run("demo")
    #expect(demo.ending == .exit(0))
    #expect(demo.err == "")
    let appearances = demo.outLines.filter { $0.contains("●") || $0.contains("○") }
    try #require(appearances.count == 4, "\(demo.out)")
    for (line, parts) in zip(
      appearances,
      [
        ["● connect", "no protocols"], ["○ disconnect", "no protocols"], ["● connect", "com.lawaken.iap2"],
        ["○ disconnect", "com.lawaken.iap2"],
      ])
    {
      for part in parts { #expect(line.contains(part)) }
    }
    #expect(demo.out.contains("10000 bytes sent, 10000 bytes came back as expected"))
  }

  @Test func everyLineOfJSONHasTheOneShapeAndTimeGoesForward() throws {
    let demo = try Program.run("demo", "--json")
    #expect(demo.ending == .exit(0))
    #expect(demo.err == "")
    let lines = try EventLines(demo.out)
    let times = lines.events.compactMap { $0["t"]?.number }
    #expect(times == times.sorted())
    #expect(lines.events.allSatisfy { ["accessory", "device", "app"].contains($0["side"]?.text) })
    let appearances = lines.events("connect", "disconnect")
    #expect(appearances.map { $0["event"]?.text } == ["connect", "disconnect", "connect", "disconnect"])
    #expect(appearances.map(\.protocols) == [[], [], ["com.lawaken.iap2"], ["com.lawaken.iap2"]])
    let ids = appearances.compactMap(\.connectionID)
    #expect(ids.count == 4 && ids[0] == ids[1] && ids[1] < ids[2] && ids[2] == ids[3])
    #expect(appearances.allSatisfy { $0["accessory"]?["name"] == .text("李未可 View AI眼镜") })
    #expect(appearances.allSatisfy { $0["accessory"]?["serial"] == .text("040025380108A000608") })
    #expect(lines.events("result").map { $0["passed"] } == [.truth(true), .truth(true), .truth(true)])
  }

  @Test func theSessionOpensAfterTheSecondConnectAndClosesBeforeTheLastDisconnect() throws {
    let names = try EventLines(try Program.run("demo", "--virtual", "--json").out).names
    let firstOpen = try #require(names.firstIndex(of: "session.open"))
    let lastClose = try #require(names.lastIndex(of: "session.close"))
    let connects = names.indices.filter { names[$0] == "connect" }
    let lastDisconnect = try #require(names.lastIndex(of: "disconnect"))
    try #require(connects.count == 2)
    #expect(connects[1] < firstOpen && firstOpen < lastClose && lastClose < lastDisconnect)
  }

  @Test func oneSeedWritesOneTranscriptInEveryProcess() throws {
    let place = TemporaryFolder()
    var outputs: [String] = []
    for name in ["first", "second"] {
      let demo = try Program.run(
        "demo", "--virtual", "--seed", "7", "--quirk", "flicker,jitter=50ms", "--transcript", place.file(name))
      #expect(demo.ending == .exit(0))
      outputs.append(demo.out)
    }
    let first = try #require(place.bytes("first"))
    #expect(first.count > 1_000)
    #expect(first == place.bytes("second"))
    #expect(outputs[0] == outputs[1])
  }

  @Test func anotherSeedIsAnotherStory() throws {
    let outputs = try ["7", "8"].map {
      try Program.run("demo", "--virtual", "--seed", $0, "--quirk", "flicker,jitter=50ms").out
    }
    #expect(outputs[0] != outputs[1])
  }

  @Test func aTranscriptToStderrLeavesStdoutAsItWas() throws {
    let plain = try Program.run("demo", "--virtual", "--json")
    let written = try Program.run("demo", "--virtual", "--json", "--transcript", "-")
    #expect(written.out == plain.out)
    #expect(written.err.contains("RequestAuthenticationCertificate"))
  }

  @Test func aFlickerOfThreeCyclesHasThreeEmptyAppearances() throws {
    let demo = try Program.run("demo", "--virtual", "--json", "--quirk", "flicker,cycles=3,empty=50ms")
    #expect(demo.ending == .exit(0))
    let connects = try EventLines(demo.out).events("connect")
    #expect(connects.map(\.protocols) == [[], [], [], ["com.lawaken.iap2"]])
  }

  @Test func aFlickerThatTheDeviceMakesIsOneAttachmentWithTwoPublications() throws {
    let demo = try Program.run("demo", "--virtual", "--json", "--quirk", "flicker,maker=device")
    #expect(demo.ending == .exit(0))
    let lines = try EventLines(demo.out)
    #expect(lines.events("connect").map(\.protocols) == [[], ["com.lawaken.iap2"]])
    #expect(lines.events("attach").filter { $0["side"] == .text("device") }.count == 1)
  }

  @Test func anotherProfileCanBeShown() throws {
    let demo = try Program.run("demo", "echo", "--virtual", "--json")
    #expect(demo.ending == .exit(0))
    #expect(try EventLines(demo.out).events("connect").map(\.protocols) == [[], ["com.example.echo"]])
  }

  @Test(arguments: ["session,refuse", "session,silent", "session,close,delay=0s", "authentication,wrong"])
  func aDemoThatDoesNotComeOutAsItShouldEndsWithOne(quirk: String) throws {
    let place = TemporaryFolder()
    place.write("{extends: \"lawk-view\", version: 1, quirks: [\"\(quirk)\"]}", to: "odd.json5")
    let demo = try Program.run("demo", place.file("odd.json5"), "--virtual")
    #expect(demo.ending == .exit(1), "\(demo.out)\(demo.err)")
  }
}
