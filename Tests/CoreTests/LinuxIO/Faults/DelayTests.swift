import AccessoryCore
import AccessoryFaults
import TestSupport
import Testing

@Suite struct LatencyTests {
  @Test func everyByteArrivesThatMuchLater() throws {
    let rig = try FaultRig("latency,delay=30ms")
    rig.left.send("one")
    try rig.loop.advance(by: .milliseconds(10))
    try rig.sendOut("two")
    #expect(rig.arrivals == [0.03, 0.04])
    #expect(rig.atRight.text == "onetwo")
    #expect(rig.count() == count(hits: 2, bytes: 6))
  }

  @Test func jitterKeepsTheOrderAndTheBounds() throws {
    let rig = try FaultRig("latency,delay=10ms,jitter=40ms")
    var sent: [Double] = []
    for number in 0..<200 {
      sent.append(rig.loop.now.seconds)
      rig.left.send([UInt8(truncatingIfNeeded: number)])
      try rig.loop.advance(by: .milliseconds(3))
    }
    try rig.loop.runUntilQuiet()
    #expect(rig.atRight.bytes == (0..<200).map { UInt8(truncatingIfNeeded: $0) })
    // Chunks that become due at the same time are passed on together, so there may be fewer receptions than sends.
    #expect((50...200).contains(rig.arrivals.count))
    #expect(rig.arrivals.allSatisfy { arrival in sent.contains { (0.01...0.05001).contains(arrival - $0) } })
    #expect(Set(zip(rig.arrivals, rig.arrivals.dropFirst()).map { Int(($1 - $0) * 1e6) }).count > 10)
  }

  @Test func noDelayIsNone() throws {
    let rig = try FaultRig("latency,delay=0ms")
    try rig.sendOut("now")
    #expect(rig.arrivals == [0])
    #expect(rig.count() == FaultCount())
  }

  @Test func whatIsOnTheWayIsBounded() throws {
    let rig = try FaultRig("latency,delay=10ms,capacity=1000,out")
    #expect(rig.left.send([UInt8](repeating: 1, count: 1_500)) == 1_000)
    #expect(rig.left.send("x") == 0)
    try rig.loop.runUntilQuiet()
    #expect(rig.atLeft.writableCalls == 1)
    #expect(rig.atRight.bytes.count == 1_000)
  }
}

@Suite struct RateTests {
  @Test(arguments: [7_500, 100_000])
  func bytesPassAtTheRateToAPercent(rate: Int) throws {
    let rig = try FaultRig("rate,bytes=\(rate),out")
    let writer = Writer(rig.left, count: rate * 10)
    rig.atLeft.onWritable = { writer.write() }
    writer.write()
    try rig.loop.runUntilQuiet()
    #expect(rig.atRight.bytes.count == rate * 10)
    let seconds = try #require(rig.arrivals.last)
    #expect((9.9...10.1).contains(seconds))
    // Half of the bytes arrive in the first half of the time, rather than all of them at the end.
    let half = zip(rig.arrivals, rig.atRight.receptions).filter { $0.0 <= seconds / 2 }.map(\.1).reduce(0, +)
    #expect(abs(half - rate * 5) < rate / 10)
  }

  @Test func aByteTakesItsTimeWhenTheRateIsTiny() throws {
    let rig = try FaultRig("rate,bytes=1,out")
    try rig.sendOut("abc")
    #expect(rig.arrivals == [1, 2, 3])
    #expect(rig.atRight.text == "abc")
  }

  @Test func aRateIsOverWithItsTimeThoughTheLineIsNeverEmpty() throws {
    let rig = try FaultRig("rate,bytes=1000,for=2s,out")
    let writer = Writer(rig.left, count: 50_000)
    rig.atLeft.onWritable = { writer.write() }
    writer.write()
    try rig.loop.advance(by: .milliseconds(1_990))
    #expect((1_900...2_000).contains(rig.atRight.bytes.count))
    // Bytes that are already on the line are still delayed, but later bytes are not.
    try rig.loop.advance(by: .seconds(5))
    #expect(rig.atRight.bytes.count == 50_000)
  }

  @Test func anIdleLineSavesNoTimeUp() throws {
    let rig = try FaultRig("rate,bytes=1000,out")
    try rig.loop.advance(by: .seconds(5))
    try rig.sendOut([UInt8](repeating: 1, count: 10))
    #expect(rig.arrivals == [5.01])
  }
}

@Suite struct CollapseTests {
  @Test func aLargeWriteIsSlowAndASmallOneIsNot() throws {
    let rig = try FaultRig("collapse,above=2048,rate=1000")
    rig.left.send([UInt8](repeating: 1, count: 2_048))
    try rig.loop.advance(by: .milliseconds(1))
    rig.left.send([UInt8](repeating: 2, count: 3_000))
    try rig.loop.advance(by: .milliseconds(1))
    try rig.sendOut([UInt8](repeating: 3, count: 100))
    #expect(rig.arrivals == [0, 3.001])
    #expect(rig.atRight.bytes.count == 5_148)
    #expect(rig.atRight.bytes.last == 3, "a small write does not overtake a large one")
    #expect(rig.count() == count(hits: 1, bytes: 3_000))
  }
}

@Suite struct StallTests {
  @Test func nothingPassesWhileItLastsAndAllOfItAfterwards() throws {
    let rig = try FaultRig("stall,after=1s,for=2s,out")
    rig.left.send("before ")
    try rig.loop.advance(by: .milliseconds(1500))
    rig.left.send("during ")
    rig.right.send("the other way")
    try rig.loop.advance(by: .milliseconds(1))
    #expect(rig.atRight.text == "before ")
    #expect(rig.atLeft.text == "the other way")
    try rig.loop.advance(by: .seconds(2))
    try rig.sendOut("after")
    #expect(rig.atRight.text == "before during after")
    #expect(rig.arrivals.dropFirst().first == 3)
    #expect(
      rig.reported == [
        "stall,direction=out,after=1s,for=2s (out): nothing passes from now on",
        "stall,direction=out,after=1s,for=2s (out): bytes pass again; 7 were queued",
      ])
    #expect(rig.count() == count(hits: 1, bytes: 0))
  }

  @Test func aStallWithoutAnEndKeepsNobodyFromLeaving() throws {
    let rig = try FaultRig("stall")
    rig.left.send("never")
    rig.right.send("never")
    try rig.loop.advance(by: .seconds(1))
    rig.right.close()
    try rig.loop.runUntilQuiet()
    #expect(rig.atLeft.end == .closedByPeer)
    #expect(rig.atLeft.text == "" && rig.atRight.text == "")
    let other = try FaultRig("stall")
    other.left.send("never")
    other.left.close()
    try other.loop.runUntilQuiet()
    #expect(other.atRight.end == .closedByPeer)
  }
}

@Suite struct SlowReaderTests {
  @Test func bytesAreReadALittleAtATime() throws {
    let rig = try FaultRig("slow-reader,bytes=10,every=100ms,in")
    var times: [Double] = []
    rig.atLeft.onReceived = { times.append(rig.loop.now.seconds) }
    try rig.sendIn((0..<35).map { UInt8($0) })
    #expect(rig.atLeft.receptions == [10, 10, 10, 5])
    #expect(times == [0, 0.1, 0.2, 0.3])
    #expect(rig.atLeft.bytes == (0..<35).map { UInt8($0) })
  }

  @Test func theWayBehindFillsUpAndTheSenderNotices() throws {
    let rig = try FaultRig("slow-reader,bytes=10,every=1s,in", capacity: 100)
    var sent = 0
    for _ in 0..<20 {
      sent += rig.right.send([UInt8](repeating: 1, count: 50))
      try rig.loop.advance(by: .milliseconds(1))
    }
    #expect((100...300).contains(sent))
    try rig.loop.advance(by: .seconds(60))
    #expect(rig.atLeft.bytes.count == sent)
    #expect(rig.atRight.writableCalls > 0)
  }
}
