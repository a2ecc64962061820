import AccessoryCore
import AccessoryFaults
import LinuxIO
import TestSupport
import Testing

/// Checks that cables are paused in both directions while their transcript cannot be written, and that nothing is lost.
@Suite struct CableGateTests {
  final class Rig {
    let loop = VirtualLoop()
    let gate = CableGate()
    let channel: WitnessedChannel
    let other: any Channel
    let here = ChannelRecorder()
    let there = ChannelRecorder()
    private let lines = Lines()

    private final class Lines { var texts: [String] = [] }

    init() {
      let pair = LoopbackChannel.makePair(on: loop)
      let lines = lines
      channel = WitnessedChannel(
        pair.left, at: .device, by: Transcript(of: "com.example") { lines.texts.append($0) }, gate: gate, on: loop)
      other = pair.right
      channel.start(here)
      other.start(there)
    }

    var transcript: [String] { lines.texts }

    func run() throws { try loop.runUntilQuiet() }
  }

  @Test func whatWaitedPassesWhenItIsOpened() throws {
    let rig = Rig()
    rig.gate.close()
    #expect(rig.other.send([2]) == 1)
    #expect(rig.channel.send([1]) == 0)
    rig.here.onWritable = { [unowned rig] in _ = rig.channel.send([1]) }
    try rig.run()
    #expect(rig.there.bytes == [] && rig.here.bytes == [] && rig.transcript == [])
    rig.gate.open()
    try rig.run()
    #expect(rig.here.bytes == [2] && rig.there.bytes == [1])
    #expect(rig.here.writableCalls == 1)
    #expect(rig.transcript.count == 2)
  }

  @Test func anOwnersPauseOutlastsTheGates() throws {
    let rig = Rig()
    rig.channel.pauseReading()
    rig.gate.close()
    rig.other.send([2])
    rig.gate.open()
    try rig.run()
    #expect(rig.here.bytes == [])
    rig.gate.close()
    rig.channel.resumeReading()
    try rig.run()
    #expect(rig.here.bytes == [])
    rig.gate.open()
    try rig.run()
    #expect(rig.here.bytes == [2])
  }

  /// The line that exceeds the limit closes the gate while a channel's handler is running.
  @Test func itIsClosedByTheLineThatIsTooMany() throws {
    let rig = Rig()
    rig.here.onReceived = { [unowned rig] in rig.gate.close() }
    rig.other.send([1])
    try rig.run()
    rig.other.send([2])
    try rig.run()
    #expect(rig.here.bytes == [1])
    rig.gate.open()
    try rig.run()
    #expect(rig.here.bytes == [1, 2])
  }

  @Test func aCableThatIsPluggedInMeanwhileWaits() throws {
    let rig = Rig()
    rig.gate.close()
    let pair = LoopbackChannel.makePair(on: rig.loop)
    let late = WitnessedChannel(
      pair.left, at: .device, by: Transcript { _ in }, gate: rig.gate, on: rig.loop)
    let heard = late.startRecording()
    _ = pair.right.startRecording()
    pair.right.send([3])
    try rig.run()
    #expect(heard.bytes == [])
    rig.gate.open()
    try rig.run()
    #expect(heard.bytes == [3])
  }

  @Test func aCableThatIsClosedMeanwhileIsOver() throws {
    let rig = Rig()
    rig.gate.close()
    rig.channel.send([1])
    rig.channel.close()
    rig.gate.open()
    try rig.run()
    #expect(rig.here.writableCalls == 0)
    #expect(rig.there.end == .closedByPeer)
  }
}
