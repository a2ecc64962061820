import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import IAP2
import LinuxIO
import Testing

@testable import AccessorySimulator

@Suite struct SessionByteTests {
  private let loop = VirtualLoop()

  private func rig(_ quirks: String..., behavior: Behavior = .echo, on loop: VirtualLoop) throws -> BehaviorRig {
    try BehaviorRig(behavior, quirks: quirks, on: loop)
  }

  // MARK: busy-after-cancel

  @Test func aReplyWaitsForTheTouch() throws {
    let rig = try rig("busy-after-cancel,touch=4s", on: loop)
    let ear = try rig.open()
    let beginning = loop.now
    ear.send("one")
    try loop.advance(by: .seconds(10))
    ear.send("two")
    try loop.advance(by: .seconds(10))
    #expect(ear.text == "onetwo")
    #expect(ear.arrivals.map { $0.time - beginning } == [.seconds(4), .seconds(14)])
  }

  @Test func aCancelledRequestKeepsItBusyAndIsAnsweredInTheNextSession() throws {
    let rig = try rig("busy-after-cancel,touch=4s,busy=20s", on: loop)
    let first = try rig.open()
    let beginning = loop.now
    first.send("one")
    try loop.advance(by: .seconds(2))
    first.session.close()
    let second = try rig.open()
    second.send("two")
    try loop.advance(by: .seconds(17))
    #expect(second.heard == [])
    try loop.advance(by: .seconds(5))
    #expect(second.text == "one")
    #expect(second.arrivals.first?.time == beginning + .seconds(20))
    second.send("three")
    try loop.advance(by: .seconds(5))
    #expect(second.text == "onethree")
    #expect(first.heard == [])
  }

  @Test func aLateReplyWaitsForASessionAndALostOneIsLost() throws {
    for (reply, expected) in [("late", "one"), ("none", "")] {
      let loop = VirtualLoop()
      let rig = try rig("busy-after-cancel,touch=4s,busy=20s,\(reply)", on: loop)
      let first = try rig.open()
      first.send("one")
      try loop.advance(by: .seconds(2))
      first.session.close()
      try loop.advance(by: .seconds(60))
      let second = try rig.open()
      try loop.advance(by: .seconds(1))
      #expect(second.text == expected)
      second.send("two")
      try loop.advance(by: .seconds(5))
      #expect(second.text == expected + "two")
    }
  }

  @Test func unpluggingMakesItFree() throws {
    let rig = try rig("busy-after-cancel,touch=4s,busy=20s", on: loop)
    try rig.open().send("one")
    try loop.advance(by: .seconds(1))
    try rig.replug(after: .milliseconds(500))
    let second = try rig.open()
    second.send("two")
    try loop.advance(by: .seconds(4))
    #expect(second.text == "two")
    try loop.advance(by: .seconds(60))
    #expect(second.text == "two")
  }

  // MARK: drops-beyond

  @Test func whatDoesNotFitIsDroppedWithoutAWord() throws {
    let rig = try rig("drops-beyond,bytes=100,rate=1000", on: loop)
    let ear = try rig.open()
    let sent = (0..<150).map { UInt8($0) }
    ear.send(sent)
    try loop.advance(by: .seconds(5))
    #expect(ear.heard == Array(sent.prefix(100)))
    #expect(ear.end == nil)
    // If the app writes the same bytes slowly, all of them arrive.
    for byte in sent {
      ear.send([byte])
      try loop.advance(by: .milliseconds(10))
    }
    try loop.advance(by: .seconds(1))
    #expect(ear.heard == Array(sent.prefix(100)) + sent)
    #expect(
      rig.said
        == [.warning("session 1: drops 50 bytes beyond its buffer because of the drops-beyond quirk")])
  }

  @Test func aDeviceThatDoesNotReadTheEchoOnlyLosesWhatItSends() throws {
    let rig = try rig("drops-beyond,bytes=1000,rate=1000000", on: loop)
    let ear = try rig.open()
    ear.isDeaf = true
    for _ in 0..<2_000 {
      ear.send([UInt8](repeating: 7, count: 1_000))
      try loop.advance(by: .milliseconds(20))
    }
    #expect(ear.end == nil)
    ear.isDeaf = false
    try loop.advance(by: .seconds(5))
    #expect(ear.heard.count < 2_000_000 && ear.heard.allSatisfy { $0 == 7 })
    let before = ear.heard.count
    ear.send("again")
    try loop.advance(by: .seconds(1))
    #expect(ear.heard.count == before + 5)
  }

  // MARK: reply-chunking

  private func arrivals(_ quirk: String, _ writes: [(String, Duration)]) throws -> (text: String, counts: [Int]) {
    let loop = VirtualLoop()
    let rig = try rig(quirk, on: loop)
    let ear = try rig.open()
    for (text, pause) in writes {
      ear.send(text)
      try loop.advance(by: pause)
    }
    try loop.advance(by: .seconds(60))
    return (ear.text, ear.arrivals.map(\.count))
  }

  @Test func aReplyComesByteByByte() throws {
    let (text, counts) = try arrivals("reply-chunking", [("hello", .seconds(1)), ("again", .zero)])
    #expect(text == "helloagain" && counts == [Int](repeating: 1, count: 10))
  }

  @Test func repliesComeGluedTogether() throws {
    let (text, counts) = try arrivals(
      "reply-chunking,glued,gap=1s", [("one", .milliseconds(300)), ("two", .seconds(3)), ("three", .zero)])
    #expect(text == "onetwothree" && counts == [6, 5])
  }

  @Test func aReplyIsSplitAnywhereAsTheSeedSays() throws {
    let long = String(repeating: "0123456789", count: 30)
    let first = try arrivals("reply-chunking,split,size=20,seed=1", [(long, .zero)])
    #expect(first.text == long)
    #expect(first.counts.count > 10 && first.counts.allSatisfy { (1...20).contains($0) } && Set(first.counts).count > 3)
    #expect(try arrivals("reply-chunking,split,size=20,seed=1", [(long, .zero)]).counts == first.counts)
    #expect(try arrivals("reply-chunking,split,size=20,seed=2", [(long, .zero)]).counts != first.counts)
  }

  @Test func cuttingUpKeepsTheOrderOfMoreThanFits() throws {
    let rig = try rig("reply-chunking,split,size=4000,gap=1ms", on: loop)
    let ear = try rig.open()
    let sent = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
    ear.send(sent)
    try loop.advance(by: .seconds(30))
    #expect(ear.heard == sent)
  }

  @Test func theRestOfAReplyGoesOutWhenTheAccessoryClosesTheSession() throws {
    let rig = try rig("reply-chunking,gap=1s", on: loop)
    let ear = try rig.open()
    ear.send("hello")
    try loop.advance(by: .milliseconds(1_500))
    #expect(ear.text == "he")
    rig.accessory.closeSessions()
    try loop.advance(by: .milliseconds(100))
    #expect(ear.text == "hello" && ear.end == .closedByAccessory)
  }

  // MARK: obeys-first-settings-only

  @Test func onlyTheFirstSettingsOfASessionAreObeyed() throws {
    let rig = try rig("obeys-first-settings-only,prefix=SET,end=lf", on: loop)
    let ear = try rig.open()
    ear.send("GET a\nSET a=1\nSE\nSET a=2\nGET")
    try loop.advance(by: .seconds(1))
    ear.send(" a\nS")
    try loop.advance(by: .seconds(1))
    ear.send("ET a=3\nSTATUS\n")
    try loop.advance(by: .seconds(1))
    #expect(ear.text == "GET a\nSET a=1\nSE\nGET a\nSTATUS\n")
    ear.session.close()
    let next = try rig.open()
    next.send("SET a=4\n")
    try loop.advance(by: .seconds(1))
    #expect(next.text == "SET a=4\n")
    try rig.replug(after: .milliseconds(500))
    let replugged = try rig.open()
    replugged.send("SET a=5\n")
    try loop.advance(by: .seconds(1))
    #expect(replugged.text == "SET a=5\n")
  }

  @Test func withoutAPrefixEveryCommandIsOneAndAPauseEndsIt() throws {
    let rig = try rig("obeys-first-settings-only", on: loop)
    let ear = try rig.open()
    ear.send("on")
    try loop.advance(by: .milliseconds(150))
    ear.send("e")
    try loop.advance(by: .milliseconds(250))
    ear.send("two")
    try loop.advance(by: .seconds(5))
    ear.send("three")
    try loop.advance(by: .seconds(1))
    #expect(ear.text == "one")
    #expect(
      rig.said == [
        .warning("session 1: drops 3 bytes of later settings because of the obeys-first-settings-only quirk")
      ])
  }

  // MARK: fails-after-first-transaction

  @Test func everyTransactionButTheFirstFailsUntilItIsReplugged() throws {
    let rig = try rig("fails-after-first-transaction", on: loop)
    let ear = try rig.open()
    ear.send("o")
    try loop.advance(by: .milliseconds(300))
    ear.send("ne")
    try loop.advance(by: .seconds(2))
    ear.send("two")
    try loop.advance(by: .seconds(2))
    #expect(ear.text == "one" && ear.end == nil)
    ear.session.close()
    let second = try rig.open()
    second.send("three")
    try loop.advance(by: .seconds(3_600))
    #expect(second.heard == [])
    try rig.replug(after: .milliseconds(500))
    let third = try rig.open()
    third.send("four")
    try loop.advance(by: .seconds(1))
    #expect(third.text == "four")
  }

  @Test func aTransactionInAnotherSessionIsAnotherOneAndMayEndIt() throws {
    let rig = try rig("fails-after-first-transaction,close,transactions=2", on: loop)
    for text in ["one", "two"] {
      let ear = try rig.open()
      ear.send(text)
      try loop.advance(by: .milliseconds(100))
      #expect(ear.text == text)
      ear.session.close()
    }
    let third = try rig.open()
    third.send("three")
    try loop.advance(by: .milliseconds(100))
    #expect(third.heard == [] && third.end == .closedByAccessory)
    #expect(rig.endings.last == "the accessory closed it: because of the fails-after-first-transaction quirk")
  }

  // MARK: Several

  @Test func quirksOfSessionsActTogether() throws {
    let rig = try rig(
      "drops-beyond,bytes=6,rate=1000000", "reply-chunking,glued,gap=100ms", "stale-bytes,count=2",
      "goes-silent,after=5s,restart=1h", on: loop)
    let ear = try rig.open()
    ear.send("hello, world")
    try loop.advance(by: .seconds(1))
    #expect(ear.text == "hello," && ear.arrivals.count == 1)
    try loop.advance(by: .seconds(5))
    ear.send("hello")
    try loop.advance(by: .seconds(1))
    #expect(ear.text == "hello,")
    ear.session.close()
    let next = try rig.open()
    next.send("abc")
    try loop.advance(by: .seconds(1))
    #expect(next.text == "o,abc")
  }

  @Test func aForgottenSessionMayBeOdd() throws {
    let rig = try rig("reply-chunking,gap=1s", "drops-beyond", on: loop)
    let ear = try rig.open()
    ear.send("hello")
    try loop.advance(by: .milliseconds(1_500))
    rig.accessory.forgetSessions()
    ear.send("again")
    try loop.advance(by: .seconds(60))
    #expect(ear.text == "hello" && ear.end == nil)
  }
}
