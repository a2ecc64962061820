import AccessoryCore
import AccessoryFaults
import TestSupport
import Testing

@Suite struct SplitTests {
  @Test func piecesAreSmallAndLoseNothing() throws {
    let rig = try FaultRig("split,size=5,in")
    let bytes = (0..<1_000).map { UInt8(truncatingIfNeeded: $0) }
    try rig.sendIn(bytes)
    #expect(rig.atLeft.bytes == bytes)
    #expect(rig.atLeft.receptions.allSatisfy { (1...5).contains($0) })
    #expect(Set(rig.atLeft.receptions).count == 5)
    #expect(rig.count(.in) == count(hits: 1, bytes: 1_000))
  }

  @Test func aGapLiesBetweenPieces() throws {
    let rig = try FaultRig("split,size=1,gap=10ms,out")
    rig.left.send("abc")
    try rig.loop.advance(by: .milliseconds(5))
    try rig.sendOut("d")
    #expect(rig.arrivals == [0, 0.01, 0.02, 0.03])
    #expect(rig.atRight.text == "abcd")
  }
}

@Suite struct GlueTests {
  @Test func chunksJoinUntilThereAreEnoughBytes() throws {
    let rig = try FaultRig("glue,size=10,wait=1s,in", isTransfers: true)
    for text in ["abc", "def", "ghi", "jkl"] { rig.right.send(text) }
    try rig.loop.advance(by: .milliseconds(1))
    #expect(rig.atLeft.receptions == [12])
    #expect(rig.atLeft.text == "abcdefghijkl")
    #expect(rig.count(.in) == count(hits: 1, bytes: 12))
  }

  @Test func theyWaitNoLongerThanTheyMay() throws {
    let rig = try FaultRig("glue,size=100,wait=20ms,out")
    rig.left.send("a")
    try rig.loop.advance(by: .milliseconds(15))
    try rig.sendOut("b")
    #expect(rig.arrivals == [0.02])
    #expect(rig.atRight.text == "ab")
  }

  @Test func aLargeChunkDoesNotWait() throws {
    let rig = try FaultRig("glue,size=10,out")
    try rig.sendOut([UInt8](repeating: 1, count: 10))
    #expect(rig.arrivals == [0])
    #expect(rig.count() == FaultCount())
  }

  @Test func theEndDoesNotWaitForMore() throws {
    let rig = try FaultRig("glue,size=100,wait=10s,both")
    rig.left.send("out")
    rig.right.send("in")
    try rig.loop.advance(by: .milliseconds(1))
    rig.right.close()
    try rig.loop.advance(by: .milliseconds(1))
    #expect(rig.atLeft.text == "in")
    #expect(rig.atLeft.end == .closedByPeer)
    let other = try FaultRig("glue,size=100,wait=10s,out")
    other.left.send("out")
    other.left.close()
    try other.loop.advance(by: .milliseconds(1))
    #expect(other.atRight.text == "out")
    #expect(other.atRight.end == .closedByPeer)
  }
}

@Suite struct CutTests {
  @Test func afterATimeTheCableIsGone() throws {
    let rig = try FaultRig("cut,after=2s")
    rig.left.send("x")
    try rig.loop.advance(by: .seconds(3))
    #expect(rig.atLeft.end == .lost("fault: the cable is pulled"))
    #expect(rig.atRight.end == .closedByPeer)
    #expect(rig.left.send("y") == 0)
    #expect(rig.reported == ["cut,after=2s (in): the cable is pulled"])
  }

  @Test func behindSoManyBytesNothingPasses() throws {
    for direction in ["out", "in"] {
      let rig = try FaultRig("cut,bytes=10,\(direction)")
      let (sender, receiver): (any Channel, ChannelRecorder) =
        direction == "out" ? (rig.left, rig.atRight) : (rig.right, rig.atLeft)
      sender.send("123456")
      try rig.loop.advance(by: .milliseconds(1))
      sender.send("7890abc")
      try rig.loop.runUntilQuiet()
      #expect(receiver.text == "1234567890", "\(direction)")
      #expect(rig.atLeft.end == .lost("fault: the cable is pulled after the last byte allowed"))
      #expect(rig.atRight.end == .closedByPeer)
    }
  }

  @Test func behindSoManyPacketsNothingPassesHoweverTheyAreSplit() throws {
    for chunk in [1, 5, 14, 15, 1_000] {
      let rig = try FaultRig("cut,packets=3,out")
      let bytes = (0..<6).flatMap { FaultRig.packet(UInt8($0)) }
      for start in stride(from: 0, to: bytes.count, by: chunk) {
        rig.left.send(Array(bytes[start..<min(start + chunk, bytes.count)]))
      }
      try rig.loop.runUntilQuiet()
      #expect(rig.atRight.bytes == Array(bytes.prefix(bytes.count / 2)), "in chunks of \(chunk)")
      #expect(rig.count().hits == 1)
    }
  }

  @Test func aCutInTheMiddleOfAChainLosesWhatIsHeldBeforeIt() throws {
    let rig = try FaultRig("latency,delay=1s,out", "cut,after=500ms")
    try rig.sendOut("too late")
    #expect(rig.atRight.text == "")
    #expect(rig.loop.now.seconds < 1)
  }

  @Test func aCutNeverCallsFromInsideASend() throws {
    let rig = try FaultRig("cut,bytes=1,out")
    var isSending = true
    rig.atLeft.onEnd = { #expect(!isSending) }
    rig.left.send("x")
    isSending = false
    try rig.loop.runUntilQuiet()
    #expect(rig.atLeft.end != nil)
  }

  @Test func aCutThatComesWhileWhatWasTakenStillGoesOutEndsTheClosing() throws {
    let rig = try FaultRig("rate,bytes=1000,out", "cut,bytes=20,out")
    rig.left.send([UInt8](repeating: 1, count: 50))
    rig.left.close()
    try rig.loop.runUntilQuiet()
    #expect(rig.atRight.bytes.count == 20)
    #expect(rig.atRight.end == .closedByPeer)
    let told = "the cable is pulled after the last byte allowed"
    #expect(rig.reported == ["cut,bytes=20,direction=out (out): \(told)"])
  }
}

@Suite struct HalfDeadTests {
  @Test func oneDirectionTakesEverythingAndDeliversNothing() throws {
    let rig = try FaultRig("half-dead,out,after=1s")
    rig.left.send("heard")
    try rig.loop.advance(by: .seconds(1))
    for _ in 0..<100 { #expect(rig.left.send([UInt8](repeating: 1, count: 100_000)) == 100_000) }
    try rig.sendIn("alive")
    #expect(rig.atRight.text == "heard")
    #expect(rig.atLeft.text == "alive")
    #expect(rig.atLeft.end == nil && rig.atRight.end == nil)
    #expect(rig.count() == count(hits: 100, bytes: 10_000_000))
    #expect(rig.reported == ["half-dead,after=1s (out): everything is lost from now on"])
  }

  @Test func itRecoversWhenItsTimeIsOver() throws {
    let rig = try FaultRig("half-dead,in,for=1s")
    rig.right.send("lost")
    try rig.loop.advance(by: .seconds(1))
    try rig.sendIn("heard")
    #expect(rig.atLeft.text == "heard")
  }
}

@Suite struct StaleTests {
  @Test func theTailOfAPacketComesFirstAndIsNoPacket() throws {
    let rig = try FaultRig("stale,tail,bytes=40")
    try rig.sendIn(FaultRig.packet(5))
    #expect(rig.atLeft.bytes.count == 40 + FaultRig.packet(5).count)
    let read = FaultRig.read(rig.atLeft.bytes)
    #expect(read.sequences == [5])
    #expect(read.skipped == 40)
    #expect(rig.reported == ["stale,bytes=40 (in): 40 bytes of an earlier session come first"])
    #expect(rig.count(.in) == count(hits: 1, bytes: 40))
  }

  @Test func packetsOfAnEarlierLinkAreRightInThemselves() throws {
    let rig = try FaultRig("stale,packets,bytes=5000")
    try rig.loop.runUntilQuiet()
    let read = FaultRig.read(rig.atLeft.bytes)
    #expect(read.sequences.count >= 5)
    #expect(read.skipped == 0 && read.spoiled == 0)
    #expect((5_000...6_100).contains(rig.atLeft.bytes.count))
  }
}
