import AccessoryCore
import TestSupport
import Testing

@Suite struct HalfDeadTests {
  @Test func oneDirectionTakesEverythingAndDeliversNothing() throws {
    let rig = try FaultRig("half-dead,out,after=1s")
    rig.start()
    rig.left.send("heard")
    try rig.loop.advance(by: .seconds(1))
    for _ in 0..<100 { #expect(rig.left.send([UInt8](repeating: 1, count: 100_000)) == 100_000) }
    rig.right.send("alive")
    try rig.loop.runUntilQuiet()
    #expect(rig.atRight.text == "heard")
    #expect(rig.atLeft.text == "alive")
    #expect(rig.atLeft.end == nil && rig.atRight.end == nil)
    #expect(rig.count() == count(hits: 100, bytes: 10_000_000))
    #expect(rig.reported == ["half-dead,after=1s (out): everything is lost from now on"])
  }

  @Test func itRecoversWhenItsTimeIsOver() throws {
    let rig = try FaultRig("half-dead,in,for=1s")
    rig.start()
    rig.right.send("lost")
    try rig.loop.advance(by: .seconds(1))
    rig.right.send("heard")
    try rig.loop.runUntilQuiet()
    #expect(rig.atLeft.text == "heard")
  }
}
