import AccessoryCore
import AccessoryFaults
import TestSupport
import Testing

@Suite struct CorruptTests {
  let payload = (0..<50).map { UInt8($0) }

  /// One packet through one fault, many times: what became of it, byte by byte.
  func results(_ fault: String, times: Int = 200) throws -> [(changed: [Int], bits: Int, read: [UInt8], spoiled: Int)] {
    try (0..<times).map { seed in
      let rig = try FaultRig(fault, seed: UInt64(seed))
      rig.start()
      let packet = FaultRig.packet(5, payload: payload)
      rig.left.send(packet)
      rig.left.close()
      try rig.loop.runUntilQuiet()
      let got = rig.atRight.bytes
      #expect(got.count == packet.count)
      let changed = packet.indices.filter { got[$0] != packet[$0] }
      let read = FaultRig.read(got)
      return (
        changed, changed.map { (got[$0] ^ packet[$0]).nonzeroBitCount }.reduce(0, +), read.sequences, read.spoiled
      )
    }
  }

  @Test func oneBitOfThePayloadIsWrongAndTheSumTells() throws {
    let results = try results("corrupt,chance=100%,out")
    #expect(results.allSatisfy { $0.bits == 1 && (9..<59).contains($0.changed[0]) && $0.spoiled == 1 })
    #expect(Set(results.map { $0.changed[0] }).count > 30)
  }

  @Test func oneBitOfTheHeaderIsWrongAndItIsNoPacketAnyMore() throws {
    let results = try results("corrupt,chance=100%,header,out")
    #expect(results.allSatisfy { $0.bits == 1 && $0.changed[0] < 9 && $0.spoiled == 0 && $0.read.isEmpty })
    #expect(Set(results.map { $0.changed[0] }).count == 9)
  }

  @Test func withARightSumNobodyCanTell() throws {
    let payloads = try results("corrupt,chance=100%,right,out")
    #expect(payloads.allSatisfy { $0.changed.count == 2 && $0.changed[1] == 59 && $0.read == [5] && $0.spoiled == 0 })
    let headers = try results("corrupt,chance=100%,header,right,out")
    #expect(headers.allSatisfy { $0.changed.count == 2 && $0.changed[1] == 8 && (2..<8).contains($0.changed[0]) })
  }

  @Test func whatHasNoPayloadIsLeftAlone() throws {
    let rig = try FaultRig("corrupt,chance=100%,out")
    rig.start()
    rig.left.send(FaultRig.acknowledgement(1))
    try rig.loop.runUntilQuiet()
    #expect(rig.atRight.bytes == FaultRig.acknowledgement(1))
    #expect(rig.count() == FaultCount())
  }

  @Test func eitherPartIsStruckInTurn() throws {
    let results = try results("corrupt,chance=100%,either,out")
    let inHeader = results.count { $0.changed[0] < 9 }
    #expect((60...140).contains(inHeader))
  }
}
