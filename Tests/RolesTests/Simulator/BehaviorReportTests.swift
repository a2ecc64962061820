import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import LinuxIO
import Testing

@Suite struct BehaviorReportTests {
  private let loop = VirtualLoop()

  @Test func aSinkThatDoesNotCheckSaysNothing() throws {
    let rig = try BehaviorRig(.sink(check: false), on: loop)
    try rig.open().send([9, 8, 7])
    try loop.advance(by: .seconds(1))
    #expect(rig.said == [])
  }

  @Test func aBehaviorOfClosuresHearsOpeningBytesAndEnd() throws {
    var ends: [String] = []
    let shout = ClosureBehavior(
      opened: { session, _ in session.write(Array("hi ".utf8).span.bytes) },
      ended: { session, end, context in
        ends.append("\(end)")
        context.note("over after \(session.bytesRead)")
      },
      received: { bytes, session, _ in
        let answer = bytes.withUnsafeBytes { $0.map { $0 & 0xDF } }
        session.write(answer.span.bytes)
      })
    let rig = try BehaviorRig(.echo, on: loop, playing: { _ in shout })
    let recorder = try rig.open()
    recorder.send("loud")
    try loop.advance(by: .seconds(1))
    #expect(recorder.text == "hi LOUD")
    recorder.session.close()
    try loop.advance(by: .seconds(1))
    #expect(ends == ["the device closed it"])
    #expect(rig.said == [.note("session 1: over after 4")])
  }

  @Test func theReasonOfAnAccessoryThatClosesIsOnItsTimeline() throws {
    let closer = ClosureBehavior { bytes, session, _ in
      session.write(bytes)
      session.close("it has had enough")
    }
    let rig = try BehaviorRig(.echo, on: loop, playing: { _ in closer })
    let recorder = try rig.open()
    recorder.send("x")
    try loop.advance(by: .seconds(1))
    #expect(recorder.end == .closedByAccessory)
    #expect(rig.endings == ["the accessory closed it: it has had enough"])
  }
}
