import AccessoryCore
import TestSupport
import Testing

@Suite struct NoiseTests {
  @Test func randomBytesComeBeforeAPacketThatIsWhole() throws {
    let rig = try FaultRig("noise,chance=100%,bytes=5,out")
    rig.start()
    let packet = FaultRig.packet(1)
    rig.left.send(packet)
    try rig.loop.runUntilQuiet()
    let arrived = rig.atRight.bytes
    #expect(arrived.count == 5 + packet.count)
    #expect(Array(arrived.suffix(packet.count)) == packet)
    #expect(rig.count() == count(hits: 1, bytes: 5))
  }

  @Test func everyPacketIsFoundBehindTheNoise() throws {
    let rig = try FaultRig("noise,chance=20%,out")
    rig.start()
    rig.left.send((0..<250).flatMap { FaultRig.packet(UInt8($0)) })
    try rig.loop.runUntilQuiet()
    #expect(FaultRig.read(rig.atRight.bytes).sequences == (0..<250).map { UInt8($0) })
    #expect((30...70).contains(rig.count().hits))
  }
}
