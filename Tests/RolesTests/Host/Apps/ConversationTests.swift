import AccessoryFormats
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import AccessoryWorlds
import LinuxIO
import Testing

@testable import AccessoryHost

@Suite struct ConversationTests {
  private typealias Event = Conversation.Event

  /// Holds a conversation with an accessory and returns the conversation's events. For each request, `answer` returns
  /// the pieces of the accessory's answer, which are sent 50 ms apart. A nil piece closes the session.
  private static func events(
    _ exchanges: [Conversation.Exchange], settle: Duration = .zero, limit: Duration = .seconds(60),
    answer: @escaping (String) -> [String?]
  ) throws -> [Event] {
    let loop = VirtualLoop()
    let behavior = ClosureBehavior { bytes, session, _ in
      let request = bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
      for (index, piece) in answer(request).enumerated() {
        loop.schedule(after: .milliseconds(50) * index) {
          if let piece { session.write(Array(piece.utf8).span.bytes) } else { session.close() }
        }
      }
    }
    var events: [Event] = []
    let conversation = Conversation(exchanges, settle: settle, on: loop) { events.append($0) }
    let isOver = {
      switch events.last {
      case nil, .replied: false
      default: true
      }
    }
    return try FirstSession.run(behavior, on: loop, limit: limit, until: isOver, start: conversation.start) { events }
  }

  private static func ask(_ text: String, _ rule: ReplyRule) -> Conversation.Exchange {
    Conversation.Exchange(Array(text.utf8), rule)
  }

  @Test func eachRequestIsSentAfterTheReplyToTheOneBefore() throws {
    var heard: [String] = []
    let events = try Self.events([
      Self.ask("a", ReplyRule(.bytes(utf8("A")))), Self.ask("b", ReplyRule(.prefix(utf8("B")))),
      Self.ask("c", ReplyRule(.pattern(try BytePattern("C[0-9]+")))),
    ]) { request in
      heard.append(request)
      return [request.uppercased() + (request == "a" ? "" : "12")]
    }
    #expect(heard == ["a", "b", "c"])
    #expect(
      events == [
        .replied(0, utf8("A")), .replied(1, utf8("B12")), .replied(2, utf8("C12")), .done,
      ])
  }

  @Test(
    arguments: [
      (.count(3), "one"), (.until(utf8("w")), "onetw"), (.time(.milliseconds(80)), "onetwo"),
      (.quiet(first: .seconds(1)), "onetwothree"), (.nothing, ""),
    ] as [(ReplyRule.Extent, String)])
  func theExtentSaysHowMuchIsRead(extent: ReplyRule.Extent, reply: String) throws {
    let events = try Self.events([Self.ask("go", ReplyRule(reading: extent))]) { _ in ["one", "two", "three"] }
    #expect(events == [.replied(0, utf8(reply)), .done])
  }

  @Test func bytesBehindTheEndOfAReplyBelongToTheNext() throws {
    let events = try Self.events([
      Self.ask("x", ReplyRule(reading: .until(utf8(";")))), Self.ask("y", ReplyRule(reading: .count(4))),
    ]) { $0 == "x" ? ["1;23"] : ["45"] }
    #expect(events == [.replied(0, utf8("1;")), .replied(1, utf8("2345")), .done])
  }

  @Test(
    arguments: [
      (ReplyRule(.bytes(utf8("OK 1"))), ["OK ", "2!"], "OK 2!"),
      (ReplyRule(.prefix(utf8("OK"))), ["NO", "PE"], "NOPE"),
      (ReplyRule(.bytes(utf8("OK")), reading: .time(.seconds(1))), ["OK", "!"], "OK!"),
    ] as [(ReplyRule, [String], String)])
  func aWrongReplyIsReadToItsEnd(rule: ReplyRule, pieces: [String], reply: String) throws {
    let events = try Self.events([Self.ask("?", rule), Self.ask("never", ReplyRule())]) { _ in pieces }
    #expect(events == [.replied(0, utf8(reply)), .different(0, utf8(reply))])
  }

  /// A backtracking matcher would take minutes for this reply, and hours for a longer one.
  @Test func aPatternThatIsHardForOthersIsJudgedAtOnce() throws {
    let rule = ReplyRule(.pattern(try BytePattern("^(a+)+$")))
    let reply = String(repeating: "a", count: 2_000) + "!"
    #expect(try Self.events([Self.ask("?", rule)], limit: .seconds(30)) { _ in [reply] } == [])
    let timed = ReplyRule(rule.expectation, reading: .time(.seconds(1)))
    #expect(
      try Self.events([Self.ask("?", timed)]) { _ in [reply] }
        == [.replied(0, utf8(reply)), .different(0, utf8(reply))])
  }

  /// Patterns match bytes: `\r\n` is not one character, and invalid UTF-8 is not repaired.
  @Test(
    arguments: [
      ("OK\\r", [0x4F, 0x4B, 0x0D, 0x0A], true), ("\u{FFFD}", [0x4F, 0xE9], false), ("^O\\xe9$", [0x4F, 0xE9], true),
    ] as [(String, [UInt8], Bool)])
  func aPatternMatchesTheBytesThatCame(pattern: String, reply: [UInt8], isExpected: Bool) throws {
    var collector = ReplyCollector(ReplyRule(.pattern(try BytePattern(pattern))), since: .origin)
    for byte in reply { #expect(collector.take([byte].span.bytes, now: .origin) == 1) }
    #expect(collector.isAsExpected == isExpected)
    #expect((collector.complaint == nil) == isExpected)
  }

  @Test func moreThanTheExpectedBytesIsAnError() throws {
    let events = try Self.events([Self.ask("?", ReplyRule(.bytes(utf8("OK"))))]) { _ in ["OK and more"] }
    #expect(events.last == .different(0, utf8("OK and more")))
  }

  /// A byte arrives 150 ms after the last expected byte, or the session ends at that time.
  @Test(
    arguments: [
      (.milliseconds(200), "!", .excess(utf8("!"))), (.milliseconds(100), "!", .done), (.zero, "!", .done),
      (.milliseconds(200), nil, .done),
    ] as [(Duration, String?, Conversation.Event)])
  func bytesAreLookedForAfterTheLastExpectedOne(settle: Duration, last: String?, end: Conversation.Event) throws {
    let events = try Self.events([Self.ask("?", ReplyRule(.bytes(utf8("OK"))))], settle: settle) { _ in
      ["OK", "", "", last]
    }
    #expect(events == [.replied(0, utf8("OK")), end])
  }

  @Test func theEndOfTheSessionCompletesTheLastReply() throws {
    let events = try Self.events([Self.ask("?", ReplyRule(.prefix(utf8("OK"))))]) { _ in ["OK", nil] }
    #expect(events == [.replied(0, utf8("OK")), .done])
  }

  @Test func aSessionThatEndsTooEarlyIsReportedWithWhatCame() throws {
    let events = try Self.events([Self.ask("?", ReplyRule(reading: .count(5)))]) { _ in ["OK", nil] }
    guard case .ended(0, _, let reply) = events.last else {
      Issue.record("\(events)")
      return
    }
    #expect(reply == utf8("OK"))
  }

  @Test func aReplyThatNeverComesIsWaitedForUnlessTheExtentHasAnEnd() throws {
    let silent = try Self.events(
      [Self.ask("?", ReplyRule(.prefix(utf8("OK"))))], limit: .seconds(30), answer: { _ in [] })
    #expect(silent == [])
    let quiet = try Self.events([Self.ask("?", ReplyRule(reading: .quiet(first: .seconds(1))))], answer: { _ in [] })
    #expect(quiet == [.replied(0, []), .done])
  }
}

private func utf8(_ text: String) -> [UInt8] { Array(text.utf8) }
