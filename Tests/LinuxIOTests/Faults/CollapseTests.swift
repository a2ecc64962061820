import AccessoryCore
import TestSupport
import Testing

@Suite struct CollapseTests {
  @Test func aLargeWriteIsSlowAndASmallOneIsNot() throws {
    let rig = try FaultRig("collapse,above=2048,rate=1000")
    rig.start()
    rig.left.send([UInt8](repeating: 1, count: 2_048))
    try rig.loop.advance(by: .milliseconds(1))
    rig.left.send([UInt8](repeating: 2, count: 3_000))
    try rig.loop.advance(by: .milliseconds(1))
    rig.left.send([UInt8](repeating: 3, count: 100))
    try rig.loop.runUntilQuiet()
    #expect(rig.arrivals == [0, 3.001])
    #expect(rig.atRight.bytes.count == 5_148)
    #expect(rig.atRight.bytes.last == 3, "a small write does not overtake a large one")
    #expect(rig.count() == count(hits: 1, bytes: 3_000))
  }
}
