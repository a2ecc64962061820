import AccessoryCore
import AccessoryFaults
import TestSupport
import Testing

@Suite struct GlueTests {
  @Test func chunksJoinUntilThereAreEnoughBytes() throws {
    let rig = try FaultRig("glue,size=10,wait=1s,in", isTransfers: true)
    rig.start()
    for text in ["abc", "def", "ghi", "jkl"] { rig.right.send(text) }
    try rig.loop.advance(by: .milliseconds(1))
    #expect(rig.atLeft.receptions == [12])
    #expect(rig.atLeft.text == "abcdefghijkl")
    #expect(rig.count(.in) == count(hits: 1, bytes: 12))
  }

  @Test func theyWaitNoLongerThanTheyMay() throws {
    let rig = try FaultRig("glue,size=100,wait=20ms,out")
    rig.start()
    rig.left.send("a")
    try rig.loop.advance(by: .milliseconds(15))
    rig.left.send("b")
    try rig.loop.runUntilQuiet()
    #expect(rig.arrivals == [0.02])
    #expect(rig.atRight.text == "ab")
  }

  @Test func aLargeChunkDoesNotWait() throws {
    let rig = try FaultRig("glue,size=10,out")
    rig.start()
    rig.left.send([UInt8](repeating: 1, count: 10))
    try rig.loop.runUntilQuiet()
    #expect(rig.arrivals == [0])
    #expect(rig.count() == FaultCount())
  }

  @Test func theEndDoesNotWaitForMore() throws {
    let rig = try FaultRig("glue,size=100,wait=10s,both")
    rig.start()
    rig.left.send("out")
    rig.right.send("in")
    try rig.loop.advance(by: .milliseconds(1))
    rig.right.close()
    try rig.loop.advance(by: .milliseconds(1))
    #expect(rig.atLeft.text == "in")
    #expect(rig.atLeft.end == .closedByPeer)
    let other = try FaultRig("glue,size=100,wait=10s,out")
    other.start()
    other.left.send("out")
    other.left.close()
    try other.loop.advance(by: .milliseconds(1))
    #expect(other.atRight.text == "out")
    #expect(other.atRight.end == .closedByPeer)
  }
}
