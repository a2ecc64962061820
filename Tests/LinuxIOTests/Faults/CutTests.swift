import AccessoryCore
import TestSupport
import Testing

@Suite struct CutTests {
  @Test func afterATimeTheCableIsGone() throws {
    let rig = try FaultRig("cut,after=2s")
    rig.start()
    rig.left.send("x")
    try rig.loop.advance(by: .seconds(3))
    #expect(rig.atLeft.end == .lost("fault: the cable is pulled"))
    #expect(rig.atRight.end == .closedByPeer)
    #expect(rig.left.send("y") == 0)
    #expect(rig.reported == ["cut,after=2s (in): the cable is pulled"])
  }

  @Test func behindSoManyBytesNothingPasses() throws {
    for direction in ["out", "in"] {
      let rig = try FaultRig("cut,bytes=10,\(direction)")
      rig.start()
      let (sender, receiver): (any Channel, ChannelRecorder) =
        direction == "out" ? (rig.left, rig.atRight) : (rig.right, rig.atLeft)
      sender.send("123456")
      try rig.loop.advance(by: .milliseconds(1))
      sender.send("7890abc")
      try rig.loop.runUntilQuiet()
      #expect(receiver.text == "1234567890", "\(direction)")
      #expect(rig.atLeft.end == .lost("fault: the cable is pulled after the last byte allowed"))
      #expect(rig.atRight.end == .closedByPeer)
    }
  }

  @Test func behindSoManyPacketsNothingPassesHoweverTheyAreSplit() throws {
    for chunk in [1, 5, 14, 15, 1_000] {
      let rig = try FaultRig("cut,packets=3,out")
      rig.start()
      let bytes = (0..<6).flatMap { FaultRig.packet(UInt8($0)) }
      for start in stride(from: 0, to: bytes.count, by: chunk) {
        rig.left.send(Array(bytes[start..<min(start + chunk, bytes.count)]))
      }
      try rig.loop.runUntilQuiet()
      #expect(rig.atRight.bytes == Array(bytes.prefix(bytes.count / 2)), "in chunks of \(chunk)")
      #expect(rig.count().hits == 1)
    }
  }

  @Test func aCutInTheMiddleOfAChainLosesWhatIsHeldBeforeIt() throws {
    let rig = try FaultRig("latency,delay=1s,out", "cut,after=500ms")
    rig.start()
    rig.left.send("too late")
    try rig.loop.runUntilQuiet()
    #expect(rig.atRight.text == "")
    #expect(rig.loop.now.seconds < 1)
  }

  @Test func aCutNeverCallsFromInsideASend() throws {
    let rig = try FaultRig("cut,bytes=1,out")
    rig.start()
    var isSending = true
    rig.atLeft.onEnd = { #expect(!isSending) }
    rig.left.send("x")
    isSending = false
    try rig.loop.runUntilQuiet()
    #expect(rig.atLeft.end != nil)
  }

  @Test func aCutThatComesWhileWhatWasTakenStillGoesOutEndsTheClosing() throws {
    let rig = try FaultRig("rate,bytes=1000,out", "cut,bytes=20,out")
    rig.start()
    rig.left.send([UInt8](repeating: 1, count: 50))
    rig.left.close()
    try rig.loop.runUntilQuiet()
    #expect(rig.atRight.bytes.count == 20)
    #expect(rig.atRight.end == .closedByPeer)
    let told = "the cable is pulled after the last byte allowed"
    #expect(rig.reported == ["cut,bytes=20,direction=out (out): \(told)"])
  }
}
