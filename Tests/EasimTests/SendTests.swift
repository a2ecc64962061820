import TestSupport
import Testing

@testable import easim

@Suite(.waits) struct SendTests {
  private let place = TemporaryFolder()

  @Test func aTextThatComesBackIsPrintedAsTextAndOtherBytesAsHex() throws {
    let accessory = try Accessory(on: .unix, in: place)
    let send = try Program.run("send", accessory.address, "--escape", "--text", "hello\\nworld\\n")
    #expect(send.ending == .exit(0), "\(send.out)\(send.err)")
    #expect(send.outLines.contains("hello") && send.outLines.contains("world"))
    #expect(send.out.contains("12 bytes sent, 12 bytes came back"))
    let other = try Program.run("send", accessory.address, "--hex", "00 41 ff 42")
    #expect(other.outLines.contains("0000  00 41 ff 42                                      .A.B"), "\(other.out)")
  }

  @Test func rawWritesTheRepliesAlone() throws {
    let accessory = try Accessory(on: .unix, in: place)
    let send = try Program.run("send", accessory.address, "--raw", "--text", "one", "--text", "two")
    #expect(send.ending == .exit(0), "\(send.err)")
    #expect(send.out == "onetwo")
    #expect(send.err.contains("6 bytes sent, 6 bytes came back"))
  }

  @Test(arguments: [
    ["--expect", "echo"], ["--expect", "text:hello"], ["--expect", "prefix:he"], ["--expect", "regex:^h.*o$"],
    ["--expect", "hex:68656c6c6f"], ["--expect", "68656c6c6f"], ["--read", "5", "--expect", "echo"],
    ["--read", "until:lo"], ["--read", "100ms"], ["--expect", "none"],
  ]) func everyFormOfAnExpectationIsMet(words: [String]) throws {
    let accessory = try Accessory(on: .unix, in: place)
    let send = try Program.run(["send", accessory.address, "--text", "hello"] + words)
    #expect(send.ending == .exit(0), "\(send.out)\(send.err)")
  }

  @Test func aDifferenceIsShownWithBothSides() throws {
    let accessory = try Accessory(on: .unix, in: place)
    let send = try Program.run("send", accessory.address, "--text", "hello", "--expect", "text:help!")
    #expect(send.ending == .exit(1))
    let lines = send.outLines.map { $0.trimmingPrefix { $0 == " " } }
    #expect(send.out.contains("the reply differs: the first difference is at byte 3"), "\(send.out)")
    #expect(lines.contains { $0.hasPrefix("expected  0000  68 65 6c 70 21") && $0.hasSuffix("help!") }, "\(send.out)")
    #expect(lines.contains { $0.hasPrefix("received  0000  68 65 6c 6c 6f") && $0.hasSuffix("hello") }, "\(send.out)")
  }

  @Test func whatWasNotComparedIsSaidToBe() throws {
    let accessory = try Accessory(on: .unix, in: place)
    let report = place.file("s.xml")
    let send = try Program.run("send", accessory.address, "--10k", "--json", "--report", report)
    #expect(send.ending == .exit(0))
    let result = try #require(try EventLines(send.out).events("result").last)
    #expect(result["text"]?.text == "10000 bytes sent, all acknowledged, 0 verified")
    #expect(result["verified"] == .number(0))
    #expect(String(decoding: place.bytes("s.xml") ?? [], as: UTF8.self).contains("skipped=\"1\""))
    let echo = try Program.run("send", accessory.address, "--10k", "--json", "--expect", "echo")
    #expect(try EventLines(echo.out).events("result").last?["verified"] == .number(10_000))
    let some = try Program.run("send", accessory.address, "--text", "one", "--text", "four", "--expect", "echo")
    #expect(some.out.contains("7 bytes sent, 7 bytes came back, 4 verified"), "\(some.out)")
  }

  @Test func aScriptIsPlayedInOrder() throws {
    let accessory = try Accessory(on: .unix, in: place)
    place.write(Array("# two requests\ntext A\\n\nexpect text:A\\n\n\nhex 02 03\nread 2\n".utf8), to: "script")
    let send = try Program.run("send", accessory.address, "--script", place.file("script"))
    #expect(send.ending == .exit(0), "\(send.out)\(send.err)")
    #expect(send.out.contains("4 bytes sent, 4 bytes came back, 2 verified"))
  }

  @Test func everyMistakeOfAScriptIsReportedWithItsLine() throws {
    place.write(Array("texd A\nhex 0g\nread soon\nexpect\n".utf8), to: "script")
    let path = place.file("script")
    let send = try Program.run("send", "unix:/nowhere", "--script", path)
    #expect(send.ending == .exit(2))
    for mistake in ["1: unknown word 'texd'", "2: hex '0g'", "3: --read 'soon'", "4: nothing stands after 'expect'"] {
      #expect(send.err.contains("\(path):\(mistake)"), "\(send.err)")
    }
  }

  @Test func aBackslashWithoutEscapeIsPointedOut() throws {
    let accessory = try Accessory(on: .unix, in: place)
    let send = try Program.run("send", accessory.address, "--text", "a\\n", "--expect", "echo")
    #expect(send.ending == .exit(0))
    #expect(send.err.contains("with --escape, it begins an escape"))
    let escaped = try Program.run("send", accessory.address, "--escape", "--text", "a\\n", "--expect", "echo")
    #expect(!escaped.err.contains("--escape"))
  }

  @Test func aReplyThatStopsHalfWayIsPrintedAtTheTimeout() throws {
    let accessory = try Accessory(on: .unix, in: place)
    let send = try Program.run("send", accessory.address, "--text", "half", "--read", "8", "--timeout", "1s")
    #expect(send.ending == .exit(4))
    #expect(send.outLines.contains("half"))
    #expect(send.err.contains("4 of 4 bytes were sent and 4 received"))
  }

  @Test func jsonHasTheReplyAsAnEvent() throws {
    let accessory = try Accessory(on: .unix, in: place)
    let send = try Program.run("send", accessory.address, "--json", "--text", "hi", "--text", "there")
    #expect(send.out.contains("\"event\":\"reply\",\"bytes\":2,\"text\":\"hi\""), "\(send.out)")
    #expect(send.out.contains("\"event\":\"reply\",\"bytes\":5,\"text\":\"there\""))
  }
}
