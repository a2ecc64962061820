import AccessoryCore
import AccessoryFaults
import TestSupport
import Testing

@Suite struct LatencyTests {
  @Test func everyByteArrivesThatMuchLater() throws {
    let rig = try FaultRig("latency,delay=30ms")
    rig.start()
    rig.left.send("one")
    try rig.loop.advance(by: .milliseconds(10))
    rig.left.send("two")
    try rig.loop.runUntilQuiet()
    #expect(rig.arrivals == [0.03, 0.04])
    #expect(rig.atRight.text == "onetwo")
    #expect(rig.count() == count(hits: 2, bytes: 6))
  }

  @Test func jitterKeepsTheOrderAndTheBounds() throws {
    let rig = try FaultRig("latency,delay=10ms,jitter=40ms")
    rig.start()
    var sent: [Double] = []
    for number in 0..<200 {
      sent.append(rig.loop.now.seconds)
      rig.left.send([UInt8(truncatingIfNeeded: number)])
      try rig.loop.advance(by: .milliseconds(3))
    }
    try rig.loop.runUntilQuiet()
    #expect(rig.atRight.bytes == (0..<200).map { UInt8(truncatingIfNeeded: $0) })
    // Chunks that became due together are passed together, so there may be fewer receptions than sends.
    #expect((50...200).contains(rig.arrivals.count))
    #expect(rig.arrivals.allSatisfy { arrival in sent.contains { (0.01...0.05001).contains(arrival - $0) } })
    #expect(Set(zip(rig.arrivals, rig.arrivals.dropFirst()).map { Int(($1 - $0) * 1e6) }).count > 10)
  }

  @Test func noDelayIsNone() throws {
    let rig = try FaultRig("latency,delay=0ms")
    rig.start()
    rig.left.send("now")
    try rig.loop.runUntilQuiet()
    #expect(rig.arrivals == [0])
    #expect(rig.count() == FaultCount())
  }

  @Test func whatIsOnTheWayIsBounded() throws {
    let rig = try FaultRig("latency,delay=10ms,capacity=1000,out")
    rig.start()
    #expect(rig.left.send([UInt8](repeating: 1, count: 1_500)) == 1_000)
    #expect(rig.left.send("x") == 0)
    try rig.loop.runUntilQuiet()
    #expect(rig.atLeft.writableCalls == 1)
    #expect(rig.atRight.bytes.count == 1_000)
  }
}

func count(hits: Int, bytes: Int) -> FaultCount {
  var count = FaultCount()
  count.hits = hits
  count.bytes = bytes
  return count
}
