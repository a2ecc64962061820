import AccessoryCore
import TestSupport
import Testing

@Suite struct ReorderTests {
  @Test func aPacketIsOvertakenByAsManyAsAsked() throws {
    var places: Set<Int> = []
    for seed in UInt64(0)..<100 {
      let rig = try FaultRig("reorder,chance=10%,by=3,wait=1s,out", seed: seed)
      rig.start()
      rig.left.send((0..<8).flatMap { FaultRig.packet(UInt8($0)) })
      try rig.loop.advance(by: .milliseconds(1))
      let sequences = FaultRig.read(rig.atRight.bytes).sequences
      // Where the dice fell on one packet alone, early enough for three to follow.
      guard rig.count().hits == 1, sequences.count == 8 else { continue }
      let late = try #require((0..<8).first { sequences[$0] != $0 })
      var expected = Array(UInt8(0)..<8)
      expected.insert(expected.remove(at: late), at: late + 3)
      #expect(sequences == expected)
      places.insert(late)
    }
    #expect(places == [0, 1, 2, 3, 4])
  }

  /// One packet is held until after the end, of another only the beginning came before it.
  @Test func aPacketThatIsCutByTheEndOfTheTimeArrivesWhole() throws {
    let rig = try FaultRig("reorder,chance=100%,by=5,wait=1s,for=1s,out")
    rig.start()
    try rig.loop.advance(by: .milliseconds(900))
    let second = FaultRig.packet(1)
    rig.left.send(FaultRig.packet(0) + second.prefix(7))
    try rig.loop.advance(by: .milliseconds(300))
    rig.left.send(Array(second.dropFirst(7)) + FaultRig.packet(2))
    try rig.loop.runUntilQuiet()
    let read = FaultRig.read(rig.atRight.bytes)
    #expect(read.sequences.sorted() == [0, 1, 2])
    #expect(read.skipped == 0)
  }

  @Test func nothingIsLostAndNothingDoubled() throws {
    let rig = try FaultRig("reorder,chance=30%,by=2,out")
    rig.start()
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
    rig.start()
    rig.left.send(FaultRig.packet(1))
    try rig.loop.runUntilQuiet()
    #expect(rig.arrivals == [0.04])
  }

  @Test func theEndDoesNotWait() throws {
    let rig = try FaultRig("reorder,chance=100%,wait=40ms,out")
    rig.start()
    rig.left.send(FaultRig.packet(1) + Array(FaultRig.packet(2).prefix(5)))
    rig.left.close()
    try rig.loop.advance(by: .milliseconds(1))
    #expect(rig.atRight.bytes == Array(FaultRig.packet(2).prefix(5)) + FaultRig.packet(1))
    #expect(rig.atRight.end == .closedByPeer)
  }

  @Test func aLongQueueIsNotHeld() throws {
    let rig = try FaultRig("reorder,chance=100%,wait=10s,by=127,out")
    rig.start()
    let packet = FaultRig.packet(1, payload: [UInt8](repeating: 0, count: 20_000))
    for _ in 0..<5 { rig.left.send(packet) }
    try rig.loop.advance(by: .seconds(1))
    #expect(rig.atRight.bytes.count == 2 * packet.count)
    try rig.loop.runUntilQuiet()
    #expect(rig.atRight.bytes.count == 5 * packet.count)
  }
}
