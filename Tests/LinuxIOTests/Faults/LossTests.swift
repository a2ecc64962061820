import AccessoryCore
import IAP2
import TestSupport
import Testing

@Suite struct LossTests {
  /// Sends the packets 0..<250 in chunks of `chunk` bytes and returns the numbers of those that arrive.
  func survivors(_ fault: String, chunk: Int = 64, seed: UInt64 = 7) throws -> (sequences: [UInt8], rig: FaultRig) {
    let rig = try FaultRig(fault, seed: seed)
    rig.start()
    let bytes = (0..<250).flatMap { FaultRig.packet(UInt8($0)) }
    for start in stride(from: 0, to: bytes.count, by: chunk) {
      rig.left.send(Array(bytes[start..<min(start + chunk, bytes.count)]))
    }
    try rig.loop.runUntilQuiet()
    let read = FaultRig.read(rig.atRight.bytes)
    #expect(read.skipped == 0 && read.spoiled == 0)
    return (read.sequences, rig)
  }

  @Test(arguments: [1, 7, 14, 100, 10_000])
  func whatArrivesIsWholeAndInOrderHoweverItIsSplit(chunk: Int) throws {
    let (sequences, rig) = try survivors("loss,chance=20%,out", chunk: chunk)
    #expect(sequences == sequences.sorted())
    #expect((175...225).contains(sequences.count))
    #expect(rig.count() == count(hits: 250 - sequences.count, bytes: (250 - sequences.count) * 14))
    // The dice fall per packet, so that the same ones are lost.
    #expect(try survivors("loss,chance=20%,out").sequences == sequences)
  }

  @Test func anotherSeedLosesOthers() throws {
    let first = try survivors("loss,chance=20%,out", seed: 1).sequences
    #expect(try survivors("loss,chance=20%,out", seed: 2).sequences != first)
  }

  @Test func neverAndAlways() throws {
    #expect(try survivors("loss,chance=0%").sequences.count == 250)
    #expect(try survivors("loss,chance=100%").sequences.isEmpty)
    #expect(try survivors("loss,chance=100%,in").sequences.count == 250)
  }

  @Test func lossesComeInBursts() throws {
    let lost = Set(UInt8(0)..<250).subtracting(try survivors("loss,chance=2%,burst=5").sequences).sorted()
    #expect(!lost.isEmpty && lost.count % 5 == 0)
    for start in stride(from: 0, to: lost.count, by: 5) {
      #expect(lost[start + 4] - lost[start] == 4)
    }
  }

  @Test func onlyTheKindAskedForIsLost() throws {
    for (kind, expected) in [("data", [1, 0]), ("ack", [7, 0]), ("syn", [7, 1]), ("any", [])] as [(String, [UInt8])] {
      let rig = try FaultRig("loss,chance=100%,\(kind),out")
      rig.start()
      rig.left.send(FaultRig.packet(7))
      rig.left.send(FaultRig.acknowledgement(3))
      rig.left.send(
        PacketWriter.packet(
          PacketHeader(control: .syn, sequence: 0, acknowledgement: 0, payloadCount: 2), payload: [1, 2]))
      try rig.loop.runUntilQuiet()
      #expect(FaultRig.read(rig.atRight.bytes).sequences == expected, "\(kind)")
    }
  }

  @Test func detectionIsLostAndWhatIsNoPacketIsNot() throws {
    let rig = try FaultRig("loss,chance=100%,out")
    rig.start()
    rig.left.send("abc")
    rig.left.send(PacketWriter.detection)
    rig.left.send("def")
    rig.left.send(FaultRig.packet(1))
    rig.left.send("ghi")
    try rig.loop.runUntilQuiet()
    #expect(rig.atRight.text == "abcdefghi")
    #expect(rig.count().hits == 2)
  }

  @Test func onNativeTransportAPacketIsATransfer() throws {
    let rig = try FaultRig("loss,chance=50%,out", unit: .transfers, isTransfers: true)
    rig.start()
    for number in 0..<100 { rig.left.send([UInt8](repeating: UInt8(number), count: 3)) }
    try rig.loop.runUntilQuiet()
    #expect((30...70).contains(rig.atRight.receptions.count))
    #expect(rig.atRight.receptions.allSatisfy { $0 == 3 })
  }
}
