import AccessoryCore
import TestSupport
import Testing

@Suite struct StaleTests {
  @Test func theTailOfAPacketComesFirstAndIsNoPacket() throws {
    let rig = try FaultRig("stale,tail,bytes=40")
    rig.start()
    rig.right.send(FaultRig.packet(5))
    try rig.loop.runUntilQuiet()
    #expect(rig.atLeft.bytes.count == 40 + FaultRig.packet(5).count)
    let read = FaultRig.read(rig.atLeft.bytes)
    #expect(read.sequences == [5])
    #expect(read.skipped == 40)
    #expect(rig.reported == ["stale,bytes=40 (in): 40 bytes of an earlier session come first"])
    #expect(rig.count(.in) == count(hits: 1, bytes: 40))
  }

  @Test func packetsOfAnEarlierLinkAreRightInThemselves() throws {
    let rig = try FaultRig("stale,packets,bytes=5000")
    rig.start()
    try rig.loop.runUntilQuiet()
    let read = FaultRig.read(rig.atLeft.bytes)
    #expect(read.sequences.count >= 5)
    #expect(read.skipped == 0 && read.spoiled == 0)
    #expect((5_000...6_100).contains(rig.atLeft.bytes.count))
  }

  @Test func noiseFollowsTheSeed() throws {
    func noise(_ seed: UInt64) throws -> [UInt8] {
      let rig = try FaultRig("stale,noise,bytes=64,out", seed: seed)
      rig.start()
      try rig.loop.advance(by: .milliseconds(1))
      rig.left.send("x")
      try rig.loop.runUntilQuiet()
      #expect(rig.atRight.bytes.last == UInt8(ascii: "x"))
      return Array(rig.atRight.bytes.dropLast())
    }
    #expect(try noise(1).count == 64)
    #expect(try noise(1) == noise(1))
    #expect(try noise(1) != noise(2))
  }
}
