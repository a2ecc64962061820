import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import LinuxIO
import Testing

@testable import AccessorySimulator

@Suite struct StaleBytesTests {
  private let loop = VirtualLoop()

  private func keep(_ pieces: [UInt8]..., limit: Int) -> [UInt8] {
    var stale = StaleBytes(limit: limit)
    for piece in pieces { stale.keep(piece.span.bytes) }
    return stale.take()
  }

  @Test func theLastBytesAreKeptHoweverTheyWereWritten() {
    #expect(keep(limit: 4) == [])
    #expect(keep([1, 2], limit: 4) == [1, 2])
    #expect(keep([1, 2], [3, 4], limit: 4) == [1, 2, 3, 4])
    #expect(keep([1, 2, 3], [4, 5], limit: 4) == [2, 3, 4, 5])
    #expect(keep([1], [2, 3, 4, 5, 6, 7], limit: 4) == [4, 5, 6, 7])
  }

  @Test func takenBytesAreGone() {
    var stale = StaleBytes(limit: 4)
    let written: [UInt8] = [1]
    stale.keep(written.span.bytes)
    #expect(stale.take() == [1])
    #expect(stale.take() == [])
  }

  @Test func theSecondSessionBeginsWithBytesOfTheFirst() throws {
    let rig = try BehaviorRig(.echo, quirks: ["stale-bytes,count=3"], on: loop)
    try loop.advance(by: .seconds(1))
    let first = try rig.open()
    first.send("hello")
    try loop.advance(by: .seconds(1))
    #expect(first.text == "hello")
    first.session.close()
    let second = try rig.open()
    second.send("again")
    try loop.advance(by: .seconds(1))
    #expect(second.text == "lloagain")
    #expect(
      rig.said == [.warning("session 2 begins with 3 bytes of the previous session because of the stale-bytes quirk")])
    second.session.close()
    let third = try rig.open()
    try loop.advance(by: .seconds(1))
    #expect(third.text == "ain")
  }

  @Test func aDeviceThatIsConnectedAnewGetsNothingStale() throws {
    let rig = try BehaviorRig(.echo, quirks: ["stale-bytes"], on: loop)
    try loop.advance(by: .seconds(1))
    try rig.open().send("hello")
    try loop.advance(by: .seconds(1))
    rig.accessory.unplug()
    try loop.advance(by: .seconds(1))
    try rig.accessory.plugIn()
    try loop.advance(by: .seconds(1))
    let recorder = try rig.open()
    try loop.advance(by: .seconds(1))
    #expect(recorder.text == "")
    #expect(rig.said == [])
  }
}
