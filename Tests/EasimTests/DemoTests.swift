import TestSupport
import Testing

@Suite(.waits) struct DemoTests {
  @Test func theDemoShowsTheFlickerInOrderAndEndsWithZero() throws {
    let demo = try Program.run("demo")
    #expect(demo.ending == .exit(0) && demo.err == "")
    let appearances = demo.outLines.filter { $0.contains("●") || $0.contains("○") }.map { line in
      (line.contains("●") ? "connect" : "disconnect", line.contains("no protocols"))
    }
    #expect(appearances.map(\.0) == ["connect", "disconnect", "connect", "disconnect"], "\(demo.out)")
    #expect(appearances.map(\.1) == [true, true, false, false], "\(demo.out)")
    #expect(demo.out.contains("10000 bytes sent, 10000 bytes came back as expected"))
  }

  @Test func everyLineOfJSONHasTheOneShapeAndTimeGoesForward() throws {
    let demo = try Program.run("demo", "--virtual", "--json")
    #expect(demo.ending == .exit(0) && demo.err == "")
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
    let story = lines.names.filter { ["connect", "disconnect", "session.open", "session.close"].contains($0) }
    // Both ends report the session.
    let session = ["session.open", "session.open", "session.close", "session.close"]
    #expect(story == ["connect", "disconnect", "connect"] + session + ["disconnect"])
  }

  @Test func oneSeedWritesOneTranscriptInEveryProcessAndAnotherSeedAnother() throws {
    let place = TemporaryFolder()
    let outputs = try [("first", "7"), ("second", "7"), ("other", "8")].map { name, seed in
      try Program.run(
        "demo", "--virtual", "--seed", seed, "--quirk", "flicker,jitter=50ms", "--transcript", place.file(name)
      ).out
    }
    #expect(place.text("first").count > 1_000)
    #expect(place.text("first") == place.text("second"))
    #expect(outputs[0] == outputs[1] && outputs[0] != outputs[2])
  }

  @Test(arguments: [
    (["--quirk", "flicker,cycles=3,empty=50ms"], 4, [[], [], [], ["com.lawaken.iap2"]]),
    // This flicker is one attachment with two publications.
    (["--quirk", "flicker,maker=device"], 1, [[], ["com.lawaken.iap2"]]),
    (["echo"], 2, [[], ["com.example.echo"]]),
  ]) func theFlickerAndTheProfileCanBeChosen(words: [String], attachments: Int, connects: [[String]]) throws {
    let demo = try Program.run(["demo", "--virtual", "--json"] + words)
    #expect(demo.ending == .exit(0))
    let lines = try EventLines(demo.out)
    #expect(lines.events("connect").map(\.protocols) == connects)
    #expect(lines.events("attach").count { $0["side"] == .text("device") } == attachments)
  }

  @Test(arguments: ["session,refuse", "session,silent", "session,close,delay=0s", "authentication,wrong"])
  func aDemoThatDoesNotComeOutAsItShouldEndsWithOne(quirk: String) throws {
    let place = TemporaryFolder()
    place.write("{extends: \"lawk-view\", version: 1, quirks: [\"\(quirk)\"]}", to: "odd.json5")
    let demo = try Program.run("demo", place.file("odd.json5"), "--virtual")
    #expect(demo.ending == .exit(1), "\(demo.out)\(demo.err)")
  }
}
