import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import LinuxIO
import Testing

@testable import AccessorySimulator

@Suite struct StaleBytesTests {
  private let loop = VirtualLoop()

  @Test(
    arguments: [
      ([], []), ([[1, 2]], [1, 2]), ([[1, 2], [3, 4]], [1, 2, 3, 4]), ([[1, 2, 3], [4, 5]], [2, 3, 4, 5]),
      ([[1], [2, 3, 4, 5, 6, 7]], [4, 5, 6, 7]),
    ] as [([[UInt8]], [UInt8])])
  func theLastBytesAreKeptHoweverTheyWereWritten(pieces: [[UInt8]], kept: [UInt8]) {
    var stale = StaleBytes(limit: 4)
    for piece in pieces { stale.keep(piece.span.bytes) }
    #expect(stale.take() == kept)
    #expect(stale.take() == [])
  }

  @Test func theSecondSessionBeginsWithBytesOfTheFirst() throws {
    let rig = try BehaviorRig(.echo, quirks: ["stale-bytes,count=3"], on: loop)
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
