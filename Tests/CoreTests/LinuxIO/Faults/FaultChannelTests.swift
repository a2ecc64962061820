import AccessoryCore
import AccessoryFaults
import AccessoryFormats
import LinuxIO
import TestSupport
import Testing

/// Tests properties that every chain of faults has.
@Suite struct FaultChannelTests {
  @Test func bytesPassTheFaultsInTheOrderOfTheList() throws {
    // If splitting comes before joining, one chunk is left. In the other order, several pieces are left.
    for (faults, expected) in [(["split,size=3,in", "glue,in"], 1), (["glue,in", "split,size=3,in"], 20)] {
      let rig = try FaultRig(faults[0], faults[1])
      try rig.sendIn([UInt8](repeating: 1, count: 60))
      #expect(expected == 1 ? rig.atLeft.receptions == [60] : rig.atLeft.receptions.count >= expected)
      #expect(rig.atLeft.bytes.count == 60)
    }
  }

  @Test func oneMoreFaultAtTheEndChangesNoOthersChance() throws {
    func lost(_ faults: String...) throws -> [UInt8] {
      let rig = faults.count == 1 ? try FaultRig(faults[0]) : try FaultRig(faults[0], faults[1])
      try rig.sendOut((0..<250).flatMap { FaultRig.packet(UInt8($0)) })
      return FaultRig.read(rig.atRight.bytes).sequences
    }
    #expect(try lost("loss,chance=10%") == lost("loss,chance=10%", "latency,delay=50ms,jitter=20ms"))
  }

  @Test func theTwoDirectionsHaveChancesOfTheirOwn() throws {
    let rig = try FaultRig("loss,chance=20%")
    let bytes = (0..<250).flatMap { FaultRig.packet(UInt8($0)) }
    rig.left.send(bytes)
    try rig.sendIn(bytes)
    let (out, back) = (FaultRig.read(rig.atRight.bytes).sequences, FaultRig.read(rig.atLeft.bytes).sequences)
    #expect(out != back)
    #expect(rig.left.counts.map(\.direction) == [.in, .out])
    #expect(rig.count(.in).hits == 250 - back.count && rig.count(.out).hits == 250 - out.count)
  }

  @Test func aFaultOutsideItsTimeDoesNothing() throws {
    let rig = try FaultRig("latency,delay=10ms,after=1s,for=1s,out")
    for _ in 0..<3 {
      rig.left.send("x")
      try rig.loop.advance(by: .seconds(1))
    }
    try rig.loop.runUntilQuiet()
    #expect(rig.arrivals == [0, 1.01, 2])
  }

  @Test func whatIsHeldAtTheEndOfItsTimeIsNotOvertaken() throws {
    let rig = try FaultRig("latency,delay=500ms,for=1s,out")
    try rig.loop.advance(by: .milliseconds(900))
    rig.left.send("first ")
    try rig.loop.advance(by: .milliseconds(200))
    rig.left.send("second ")
    try rig.loop.advance(by: .seconds(2))
    try rig.sendOut("third")
    #expect(rig.atRight.text == "first second third")
    #expect(rig.arrivals.last == 3.1)
  }

  @Test func whatAChainHoldsIsBoundedAndAllOfItArrives() throws {
    let rig = try FaultRig(
      "duplicate,chance=1%,out", "latency,delay=1s,capacity=5000,out", "split,size=100,out",
      "rate,bytes=100000,capacity=2000,out", capacity: 1_000, starts: false)
    rig.right.pauseReading()
    rig.start()
    let writer = Writer(rig.left, count: 200_000)
    rig.atLeft.onWritable = { writer.write() }
    writer.write()
    try rig.loop.advance(by: .seconds(10))
    // All buffers in the chain are full, and the writer is blocked.
    let calls = rig.atLeft.writableCalls
    try rig.loop.advance(by: .seconds(10))
    #expect(rig.atLeft.writableCalls == calls)
    rig.right.resumeReading()
    try rig.loop.runUntilQuiet()
    #expect(rig.atRight.bytes.count == 200_000)
    #expect(rig.atLeft.writableCalls > calls)
  }

  @Test func aCutInsideIsHeardAtOnceAndWhatWasHeldIsLost() throws {
    let rig = try FaultRig("latency,delay=1s")
    rig.left.send("held")
    rig.right.send("held")
    try rig.loop.advance(by: .milliseconds(1))
    rig.cable.cut()
    try rig.loop.runUntilQuiet()
    #expect(rig.atLeft.end == .lost("unplugged"))
    #expect(rig.atLeft.text == "" && rig.atRight.text == "")
    #expect(rig.loop.now.seconds < 0.1)
  }

  @Test func anOrderlyEndWaitsForWhatIsHeldBeforeIt() throws {
    let rig = try FaultRig("latency,delay=1s", "rate,bytes=1000")
    rig.right.send([UInt8](repeating: 1, count: 500))
    rig.right.close()
    try rig.loop.advance(by: .milliseconds(1_400))
    #expect(rig.atLeft.end == nil)
    try rig.loop.advance(by: .milliseconds(101))
    #expect(rig.atLeft.end == .closedByPeer)
    #expect(rig.atLeft.bytes.count == 500)
    let other = try FaultRig("latency,delay=1s", "rate,bytes=1000")
    other.left.send([UInt8](repeating: 1, count: 500))
    other.left.close()
    try other.loop.runUntilQuiet()
    #expect(other.atRight.bytes.count == 500)
    #expect(other.atRight.end == .closedByPeer)
  }

  @Test func aClosedChannelWaitsTwoSecondsForAnOtherEndThatTakesNothing() throws {
    let rig = try FaultRig("split,size=90", capacity: 1_000)
    rig.right.pauseReading()
    rig.atRight.onReceived = { rig.right.pauseReading() }
    rig.left.send([UInt8](repeating: 0, count: 5_000))
    rig.left.close()
    try rig.loop.advance(by: .milliseconds(1_900))
    #expect(!rig.left.isOver)
    // When the receiving side reads some bytes, the time limit is extended by two seconds.
    rig.right.resumeReading()
    try rig.loop.advance(by: .milliseconds(1_900))
    #expect(!rig.left.isOver && rig.atRight.bytes.count == 1_000)
    try rig.loop.advance(by: .milliseconds(200))
    #expect(rig.left.isOver)
  }

  /// If the owner were not notified that the channel has ended, it would never read the last bytes and would wait
  /// forever for room to send.
  @Test(arguments: [false, true]) func aPausedReaderThatWaitsToSendHearsOfTheEnd(pausesFirst: Bool) throws {
    let rig = try FaultRig("latency,delay=10ms,in", capacity: 1_000)
    rig.right.send("late")
    rig.right.close()
    try rig.loop.advance(by: .milliseconds(1))
    if pausesFirst { rig.left.pauseReading() }
    #expect(rig.left.send([1]) == 0)
    rig.left.pauseReading()
    #expect(rig.atLeft.end == nil)
    try rig.loop.runUntilQuiet()
    #expect(rig.atLeft.text == "")
    #expect(rig.atLeft.end == .lost("it closed the channel; 4 of its bytes were not read"))
  }

  @Test func aReaderThatResumesAndSendsInTheSameTurnReadsOn() throws {
    let rig = try FaultRig("split,size=90", capacity: 1_000)
    rig.left.pauseReading()
    rig.right.pauseReading()
    #expect(rig.right.send([UInt8](repeating: 1, count: 700)) == 700)
    try rig.loop.runUntilQuiet()
    rig.left.resumeReading()
    while rig.left.send([UInt8](repeating: 0, count: 500)) > 0 {}
    try rig.loop.runUntilQuiet()
    #expect(rig.atLeft.bytes.count == 700)
  }

  @Test func aChannelThatIsPausedBeforeItStartsAndSendsAtOnceReadsNothing() throws {
    let rig = try FaultRig("split,size=90", capacity: 1_000, starts: false)
    rig.left.pauseReading()
    rig.start()
    rig.right.pauseReading()
    while rig.left.send([UInt8](repeating: 0, count: 500)) > 0 {}
    try rig.loop.runUntilQuiet()
    var taken = 0
    while case let count = rig.right.send([UInt8](repeating: 1, count: 500)), count > 0 { taken += count }
    try rig.loop.runUntilQuiet()
    #expect(taken == 1_000, "what comes stays in the cable")
    #expect(rig.right.undelivered == 1_000)
  }

  @Test func aClosedChannelWhoseOtherEndGoesAwayWaitsForNothing() throws {
    let rig = try FaultRig("latency,delay=1h,out")
    rig.left.send("never")
    rig.left.close()
    try rig.loop.advance(by: .seconds(1))
    rig.right.close()
    try rig.loop.runUntilQuiet()
    #expect(rig.loop.now.seconds == 1)
  }

  @Test func nothingIsLeftOfAChannelThatEnded() throws {
    weak var channel: FaultChannel?
    weak var handler: ChannelRecorder?
    let loop = VirtualLoop()
    do {
      let cable = LoopbackChannel.makePair(on: loop)
      let faulty = FaultChannel(
        around: cable.left, [try Fault("latency,delay=50ms"), try Fault("stall")], random: SeededRandom(seed: 1),
        on: loop)
      (channel, handler) = (faulty, faulty.startRecording())
      _ = cable.right.startRecording()
      cable.right.send("x")
      try loop.advance(by: .milliseconds(1))
      cable.right.close()
      try loop.runUntilQuiet()
    }
    #expect(channel == nil)
    #expect(handler == nil)
    #expect(loop.nextDeadline == nil)
  }

  @Test func oneSeedDoesTheSameToTheMicrosecond() throws {
    func run(_ seed: UInt64) throws -> [Double] {
      let rig = try FaultRig(
        "loss,chance=10%", "reorder,chance=10%", "latency,delay=5ms,jitter=30ms", "split,size=40", seed: seed)
      for number in 0..<200 {
        rig.left.send(FaultRig.packet(UInt8(number)))
        try rig.loop.advance(by: .milliseconds(2))
      }
      try rig.loop.runUntilQuiet()
      return rig.arrivals + rig.atRight.bytes.map(Double.init)
    }
    #expect(try run(5) == run(5))
    #expect(try run(5) != run(6))
  }
}
