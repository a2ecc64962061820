import AccessoryCore
import TestSupport
import Testing

@Suite struct SlowReaderTests {
  @Test func bytesAreReadALittleAtATime() throws {
    let rig = try FaultRig("slow-reader,bytes=10,every=100ms,in")
    var times: [Double] = []
    rig.start()
    rig.atLeft.onReceived = { times.append(rig.loop.now.seconds) }
    rig.right.send((0..<35).map { UInt8($0) })
    try rig.loop.runUntilQuiet()
    #expect(rig.atLeft.receptions == [10, 10, 10, 5])
    #expect(times == [0, 0.1, 0.2, 0.3])
    #expect(rig.atLeft.bytes == (0..<35).map { UInt8($0) })
  }

  @Test func theWayBehindFillsUpAndTheSenderNotices() throws {
    let rig = try FaultRig("slow-reader,bytes=10,every=1s,in", capacity: 100)
    rig.start()
    var sent = 0
    for _ in 0..<20 {
      sent += rig.right.send([UInt8](repeating: 1, count: 50))
      try rig.loop.advance(by: .milliseconds(1))
    }
    #expect((100...300).contains(sent))
    try rig.loop.advance(by: .seconds(60))
    #expect(rig.atLeft.bytes.count == sent)
    #expect(rig.atRight.writableCalls > 0)
  }
}
