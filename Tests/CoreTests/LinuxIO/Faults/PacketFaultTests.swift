import AccessoryCore
import AccessoryFaults
import IAP2
import TestSupport
import Testing

@Suite struct LossTests {
  /// Sends the packets 0..<250 in chunks of `chunk` bytes. Returns the numbers of the packets that arrive.
  func survivors(_ fault: String, chunk: Int = 64, seed: UInt64 = 7) throws -> (sequences: [UInt8], rig: FaultRig) {
    let rig = try FaultRig(fault, seed: seed)
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
    // A random choice is made for each packet, so the same packets are lost no matter how the bytes are split.
    #expect(try survivors("loss,chance=20%,out").sequences == sequences)
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
    rig.left.send("abc")
    rig.left.send(PacketWriter.detection)
    rig.left.send("def")
    rig.left.send(FaultRig.packet(1))
    try rig.sendOut("ghi")
    #expect(rig.atRight.text == "abcdefghi")
    #expect(rig.count().hits == 2)
  }

  @Test func onNativeTransportAPacketIsATransfer() throws {
    let rig = try FaultRig("loss,chance=50%,out", unit: .transfers, isTransfers: true)
    for number in 0..<100 { rig.left.send([UInt8](repeating: UInt8(number), count: 3)) }
    try rig.loop.runUntilQuiet()
    #expect((30...70).contains(rig.atRight.receptions.count))
    #expect(rig.atRight.receptions.allSatisfy { $0 == 3 })
  }
}

@Suite struct DuplicateTests {
  @Test func copiesFollowTheirPacket() throws {
    let rig = try FaultRig("duplicate,chance=100%,copies=2,out")
    try rig.sendOut(FaultRig.packet(1) + FaultRig.packet(2))
    #expect(FaultRig.read(rig.atRight.bytes).sequences == [1, 1, 1, 2, 2, 2])
    #expect(rig.count() == count(hits: 2, bytes: 4 * 14))
  }
}

@Suite struct NoiseTests {
  @Test func randomBytesComeBeforeAPacketThatIsWhole() throws {
    let rig = try FaultRig("noise,chance=100%,bytes=5,out")
    let packet = FaultRig.packet(1)
    try rig.sendOut(packet)
    let arrived = rig.atRight.bytes
    #expect(arrived.count == 5 + packet.count)
    #expect(Array(arrived.suffix(packet.count)) == packet)
    #expect(rig.count() == count(hits: 1, bytes: 5))
  }

  @Test func everyPacketIsFoundBehindTheNoise() throws {
    let rig = try FaultRig("noise,chance=20%,out")
    try rig.sendOut((0..<250).flatMap { FaultRig.packet(UInt8($0)) })
    #expect(FaultRig.read(rig.atRight.bytes).sequences == (0..<250).map { UInt8($0) })
    #expect((30...70).contains(rig.count().hits))
  }
}

@Suite struct CorruptTests {
  let payload = (0..<50).map { UInt8($0) }

  /// Sends one packet through one fault many times, and returns what happened to the packet each time.
  func results(_ fault: String, times: Int = 200) throws -> [(changed: [Int], bits: Int, read: [UInt8], spoiled: Int)] {
    try (0..<times).map { seed in
      let rig = try FaultRig(fault, seed: UInt64(seed))
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
    try rig.sendOut(FaultRig.acknowledgement(1))
    #expect(rig.atRight.bytes == FaultRig.acknowledgement(1))
    #expect(rig.count() == FaultCount())
  }

  @Test func eitherPartIsStruckInTurn() throws {
    let results = try results("corrupt,chance=100%,either,out")
    let inHeader = results.count { $0.changed[0] < 9 }
    #expect((60...140).contains(inHeader))
  }
}

@Suite struct ReorderTests {
  @Test func aPacketIsOvertakenByAsManyAsAsked() throws {
    var places: Set<Int> = []
    for seed in UInt64(0)..<100 {
      let rig = try FaultRig("reorder,chance=10%,by=3,wait=1s,out", seed: seed)
      rig.left.send((0..<8).flatMap { FaultRig.packet(UInt8($0)) })
      try rig.loop.advance(by: .milliseconds(1))
      let sequences = FaultRig.read(rig.atRight.bytes).sequences
      // The test considers only seeds for which the fault selects exactly one packet, with at least three packets after
      // it.
      guard rig.count().hits == 1, sequences.count == 8 else { continue }
      let late = try #require((0..<8).first { sequences[$0] != $0 })
      var expected = Array(UInt8(0)..<8)
      expected.insert(expected.remove(at: late), at: late + 3)
      #expect(sequences == expected)
      places.insert(late)
    }
    #expect(places == [0, 1, 2, 3, 4])
  }

  /// When the fault ends, it still holds one packet, and only the beginning of another has arrived.
  @Test func aPacketThatIsCutByTheEndOfTheTimeArrivesWhole() throws {
    let rig = try FaultRig("reorder,chance=100%,by=5,wait=1s,for=1s,out")
    try rig.loop.advance(by: .milliseconds(900))
    let second = FaultRig.packet(1)
    rig.left.send(FaultRig.packet(0) + second.prefix(7))
    try rig.loop.advance(by: .milliseconds(300))
    try rig.sendOut(Array(second.dropFirst(7)) + FaultRig.packet(2))
    let read = FaultRig.read(rig.atRight.bytes)
    #expect(read.sequences.sorted() == [0, 1, 2])
    #expect(read.skipped == 0)
  }

  @Test func nothingIsLostAndNothingDoubled() throws {
    let rig = try FaultRig("reorder,chance=30%,by=2,out")
    for number in 0..<250 {
      rig.left.send(FaultRig.packet(UInt8(number)))
      try rig.loop.advance(by: .milliseconds(1))
    }
    try rig.loop.runUntilQuiet()
    let sequences = FaultRig.read(rig.atRight.bytes).sequences
    #expect(sequences != sequences.sorted())
    #expect(sequences.sorted() == Array(0..<250))
  }

  @Test func withNothingBehindItAPacketWaitsOnlySoLong() throws {
    let rig = try FaultRig("reorder,chance=100%,wait=40ms,out")
    try rig.sendOut(FaultRig.packet(1))
    #expect(rig.arrivals == [0.04])
  }

  @Test func theEndDoesNotWait() throws {
    let rig = try FaultRig("reorder,chance=100%,wait=40ms,out")
    rig.left.send(FaultRig.packet(1) + Array(FaultRig.packet(2).prefix(5)))
    rig.left.close()
    try rig.loop.advance(by: .milliseconds(1))
    #expect(rig.atRight.bytes == Array(FaultRig.packet(2).prefix(5)) + FaultRig.packet(1))
    #expect(rig.atRight.end == .closedByPeer)
  }

  @Test func aLongQueueIsNotHeld() throws {
    let rig = try FaultRig("reorder,chance=100%,wait=10s,by=127,out")
    let packet = FaultRig.packet(1, payload: [UInt8](repeating: 0, count: 20_000))
    for _ in 0..<5 { rig.left.send(packet) }
    try rig.loop.advance(by: .seconds(1))
    #expect(rig.atRight.bytes.count == 2 * packet.count)
    try rig.loop.runUntilQuiet()
    #expect(rig.atRight.bytes.count == 5 * packet.count)
  }
}
