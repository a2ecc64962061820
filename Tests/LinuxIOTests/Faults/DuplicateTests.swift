import AccessoryCore
import TestSupport
import Testing

@Suite struct DuplicateTests {
  @Test func copiesFollowTheirPacket() throws {
    let rig = try FaultRig("duplicate,chance=100%,copies=2,out")
    rig.start()
    rig.left.send(FaultRig.packet(1) + FaultRig.packet(2))
    try rig.loop.runUntilQuiet()
    #expect(FaultRig.read(rig.atRight.bytes).sequences == [1, 1, 1, 2, 2, 2])
    #expect(rig.count() == count(hits: 2, bytes: 4 * 14))
  }

  @Test func onlySomeAreDoubledAndNoneIsLost() throws {
    let rig = try FaultRig("duplicate,chance=10%,out")
    rig.start()
    rig.left.send((0..<250).flatMap { FaultRig.packet(UInt8($0)) })
    try rig.loop.runUntilQuiet()
    let sequences = FaultRig.read(rig.atRight.bytes).sequences
    #expect(sequences == sequences.sorted())
    #expect(Set(sequences).count == 250)
    #expect((260...290).contains(sequences.count))
  }
}
