import AccessoryCore
import LinuxIO
import TestSupport
import Testing

/// Tests cables that are unplugged, with and without notifying the side that keeps its channel.
@Suite struct SeverableChannelTests {
  final class Rig {
    let loop = VirtualLoop()
    let cable: SeverableChannel
    let other: any Channel
    let here = ChannelRecorder()
    let there = ChannelRecorder()

    init() {
      let pair = LoopbackChannel.makePair(on: loop, latency: .milliseconds(5))
      cable = SeverableChannel(around: pair.left, on: loop)
      other = pair.right
      cable.start(here)
      other.start(there)
    }

    func run() throws { try loop.runUntilQuiet() }
  }

  @Test func aPulledCableIsLostHereAndClosedThere() throws {
    let rig = Rig()
    #expect(rig.other.send([1, 2, 3]) == 3)
    rig.cable.pull()
    #expect(rig.here.end == nil, "a handler is never called from within a call")
    try rig.run()
    #expect(rig.here.end == .lost("the cable was pulled"))
    #expect(rig.here.bytes == [], "what was under way to this end is lost")
    #expect(rig.there.end == .closedByPeer)
    #expect(rig.cable.isOver)
    #expect(rig.cable.send([4]) == 0)
  }

  @Test func aCableThatIsClosedBeforeItsEndIsToldSaysNothing() throws {
    let rig = Rig()
    rig.cable.pull()
    rig.cable.close()
    try rig.run()
    #expect(rig.here.end == nil)
    #expect(rig.there.end == .closedByPeer)
  }

  @Test func aPartedEndGoesOnAsIfSomebodyWereThere() throws {
    let rig = Rig()
    #expect(rig.other.send([1]) == 1)
    rig.cable.sever()
    try rig.run()
    #expect(rig.there.end == .closedByPeer)
    #expect(rig.here.end == nil && rig.here.bytes == [])
    #expect(rig.cable.send([2, 3]) == 2)
    #expect(!rig.cable.isOver)
    rig.cable.close()
    #expect(rig.cable.isOver)
    try rig.run()
    #expect(rig.here.end == nil)
  }
}
