import AccessoryCore
import TestSupport
import Testing

@Suite struct StallTests {
  @Test func nothingPassesWhileItLastsAndAllOfItAfterwards() throws {
    let rig = try FaultRig("stall,after=1s,for=2s,out")
    rig.start()
    rig.left.send("before ")
    try rig.loop.advance(by: .milliseconds(1500))
    rig.left.send("during ")
    rig.right.send("the other way")
    try rig.loop.advance(by: .milliseconds(1))
    #expect(rig.atRight.text == "before ")
    #expect(rig.atLeft.text == "the other way")
    try rig.loop.advance(by: .seconds(2))
    rig.left.send("after")
    try rig.loop.runUntilQuiet()
    #expect(rig.atRight.text == "before during after")
    #expect(rig.arrivals.dropFirst().first == 3)
    #expect(
      rig.reported == [
        "stall,direction=out,after=1s,for=2s (out): nothing passes from now on",
        "stall,direction=out,after=1s,for=2s (out): bytes pass again, 7 of them were queued",
      ])
    #expect(rig.count() == count(hits: 1, bytes: 0))
  }

  @Test func theSenderIsHeldBackWhenEnoughIsHeld() throws {
    let rig = try FaultRig("stall,for=1s,capacity=100,out")
    rig.start()
    #expect(rig.left.send([UInt8](repeating: 1, count: 150)) == 100)
    try rig.loop.advance(by: .milliseconds(500))
    #expect(rig.atLeft.writableCalls == 0)
    try rig.loop.advance(by: .milliseconds(500))
    #expect(rig.atLeft.writableCalls == 1)
    #expect(rig.atRight.bytes.count == 100)
  }

  @Test func theOtherSideIsHeldBackToo() throws {
    let rig = try FaultRig("stall,for=1s,capacity=100,in", capacity: 1_000)
    rig.start()
    var sent = 0
    for _ in 0..<50 {
      sent += rig.right.send([UInt8](repeating: 1, count: 100))
      try rig.loop.advance(by: .milliseconds(1))
    }
    // The stall's, the one reception that could not be refused, and what the cable itself holds.
    #expect(sent <= 100 + 1_000 + 1_000)
    try rig.loop.runUntilQuiet()
    #expect(rig.atLeft.bytes.count == sent)
  }

  @Test func aStallWithoutAnEndKeepsNobodyFromLeaving() throws {
    let rig = try FaultRig("stall")
    rig.start()
    rig.left.send("never")
    rig.right.send("never")
    try rig.loop.advance(by: .seconds(1))
    rig.right.close()
    try rig.loop.runUntilQuiet()
    #expect(rig.atLeft.end == .closedByPeer)
    #expect(rig.atLeft.text == "" && rig.atRight.text == "")
    let other = try FaultRig("stall")
    other.start()
    other.left.send("never")
    other.left.close()
    try other.loop.runUntilQuiet()
    #expect(other.atRight.end == .closedByPeer)
  }
}
