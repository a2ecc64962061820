import AccessoryCore
import LinuxIO
import TestSupport
import Testing

/// Tests the guarantees of loopback channels that the common suite does not cover: exact times, and which bytes are
/// lost when the cable is unplugged.
@Suite struct LoopbackChannelTests {
  let loop = VirtualLoop()

  @Test func bytesArriveExactlyAfterTheLatency() throws {
    let cable = LoopbackChannel.makePair(on: loop, latency: .milliseconds(7))
    let right = cable.right.startRecording()
    var arrival: Instant?
    right.onReceived = { [loop] in arrival = loop.now }
    try loop.advance(by: .seconds(1))
    cable.left.send("hello")
    try loop.runUntilQuiet()
    #expect(arrival == Instant(nanoseconds: 1_007_000_000))
    #expect(right.text == "hello")
  }

  @Test func aLineTakesItsTimeForEachByteAndSendsQueueUp() throws {
    let cable = LoopbackChannel.makePair(on: loop, latency: .milliseconds(1), bytesPerSecond: 1_000)
    let right = cable.right.startRecording()
    var arrivals: [Double] = []
    right.onReceived = { [loop] in arrivals.append(loop.now.seconds) }
    cable.left.send([UInt8](repeating: 1, count: 50))
    cable.left.send([UInt8](repeating: 2, count: 25))
    try loop.runUntilQuiet()
    #expect(arrivals == [0.051, 0.076])
  }

  @Test func theFirstBytesOfALongSendDoNotWaitForTheLastUnlessItIsATransfer() throws {
    for apart in [true, false] {
      let cable = LoopbackChannel.makePair(on: loop, bytesPerSecond: 10_000, keepsTransfersApart: apart)
      let start = loop.now.seconds
      let right = cable.right.startRecording()
      var arrivals: [Double] = []
      right.onReceived = { [loop] in arrivals.append(loop.now.seconds - start) }
      cable.left.send([UInt8](repeating: 1, count: 10_000))
      try loop.runUntilQuiet()
      #expect(abs((arrivals.last ?? 0) - 1) < 1e-6)
      #expect(arrivals.count == (apart ? 1 : 100))
      #expect(abs((arrivals.first ?? 0) - (apart ? 1 : 0.01)) < 1e-6)
    }
  }

  @Test func transfersStayApartWhereTheyShallAndJoinWhereTheyMay() throws {
    for apart in [true, false] {
      let cable = LoopbackChannel.makePair(on: loop, keepsTransfersApart: apart)
      #expect(cable.left.keepsTransfersApart == apart)
      let right = cable.right.startRecording()
      for count in [3, 1, 4, 1, 5] { cable.left.send([UInt8](repeating: 0, count: count)) }
      try loop.runUntilQuiet()
      #expect(right.receptions == (apart ? [3, 1, 4, 1, 5] : [14]))
    }
  }

  @Test func aCutLosesWhatIsOnTheWayInBothDirections() throws {
    let cable = LoopbackChannel.makePair(on: loop, latency: .milliseconds(5))
    let (left, right) = (cable.left.startRecording(), cable.right.startRecording())
    cable.left.send("early")
    try loop.advance(by: .milliseconds(5))
    cable.left.send("late")
    cable.right.send("late")
    try loop.advance(by: .milliseconds(2))
    cable.cut()
    #expect(left.end == nil)
    try loop.runUntilQuiet()
    #expect(right.text == "early")
    #expect(left.text == "")
    #expect(left.end == .lost("unplugged"))
    #expect(right.end == .lost("unplugged"))
    #expect(loop.now.seconds == 0.007)
  }

  @Test func aCutMayComeFromInsideAReceptionAndOfOneEndOnlyWhenTheOtherIsClosed() throws {
    let cable = LoopbackChannel.makePair(on: loop)
    let (left, right) = (cable.left.startRecording(), cable.right.startRecording())
    right.onReceived = { cable.cut(.failed("a fault")) }
    left.onEnd = { Issue.record("a closed end heard of the cut") }
    cable.left.send("x")
    cable.left.close()
    try loop.runUntilQuiet()
    #expect(right.text == "x")
    #expect(right.end == .failed("a fault"))
  }

  @Test func nothingIsLeftOfACableThatEnded() throws {
    weak var left: LoopbackChannel?
    weak var right: LoopbackChannel?
    do {
      let cable = LoopbackChannel.makePair(on: loop)
      (left, right) = (cable.left, cable.right)
      _ = cable.left.startRecording()
      _ = cable.right.startRecording()
      cable.left.send("x")
      cable.right.close()
      try loop.runUntilQuiet()
    }
    #expect(left == nil)
    #expect(right == nil)
  }
}
