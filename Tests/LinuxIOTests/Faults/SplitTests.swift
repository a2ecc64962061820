import AccessoryCore
import TestSupport
import Testing

@Suite struct SplitTests {
  @Test func piecesAreSmallAndLoseNothing() throws {
    let rig = try FaultRig("split,size=5,in")
    rig.start()
    let bytes = (0..<1_000).map { UInt8(truncatingIfNeeded: $0) }
    rig.right.send(bytes)
    try rig.loop.runUntilQuiet()
    #expect(rig.atLeft.bytes == bytes)
    #expect(rig.atLeft.receptions.allSatisfy { (1...5).contains($0) })
    #expect(Set(rig.atLeft.receptions).count == 5)
    #expect(rig.count(.in) == count(hits: 1, bytes: 1_000))
  }

  @Test func theSameSeedSplitsTheSame() throws {
    func receptions(seed: UInt64) throws -> [Int] {
      let rig = try FaultRig("split,size=9,in", seed: seed)
      rig.start()
      rig.right.send([UInt8](repeating: 0, count: 500))
      try rig.loop.runUntilQuiet()
      return rig.atLeft.receptions
    }
    #expect(try receptions(seed: 1) == receptions(seed: 1))
    #expect(try receptions(seed: 1) != receptions(seed: 2))
  }

  @Test func aGapLiesBetweenPieces() throws {
    let rig = try FaultRig("split,size=1,gap=10ms,out")
    rig.start()
    rig.left.send("abc")
    try rig.loop.advance(by: .milliseconds(5))
    rig.left.send("d")
    try rig.loop.runUntilQuiet()
    #expect(rig.arrivals == [0, 0.01, 0.02, 0.03])
    #expect(rig.atRight.text == "abcd")
  }
}
