import AccessoryCore
import ChannelSuite
import Glibc
import LinuxIO
import TestSupport
import Testing

/// Tests, with a raw socket as the peer, the properties of descriptor channels that the common suite does not cover.
@Suite(.waits) struct DescriptorChannelTests {
  let loop: EpollLoop
  let channel: DescriptorChannel
  let other: RawSocket

  init() throws {
    loop = try EpollLoop()
    let pair = try RawSocket.pair()
    channel = DescriptorChannel(
      taking: pair.nonBlocking, as: .socket, on: loop, closingTime: .milliseconds(10))
    other = pair.other
  }

  @Test func oneReceptionPerTurnIsAllAPeerGets() throws {
    let recorder = channel.startRecording()
    var turns: [Int] = []
    recorder.onReceived = { [loop] in turns.append(loop.turns) }
    // Sends more than the loop's buffer holds.
    let flood = ThreadGroup()
    flood.run { [other] in other.writeAll(400_000) }
    #expect(loop.run(until: { recorder.bytes.count == 400_000 }, limit: hangLimit))
    flood.wait()
    #expect(Set(turns).count == turns.count)
    channel.close()
  }

  /// When an RFCOMM connection is closed, Linux reports a reset. A socket pair also reports a reset if the closing side
  /// has unread bytes.
  @Test(arguments: [false, true]) func aResetOfAMediumWithFramesIsAClose(_ isPaused: Bool) throws {
    let pair = try RawSocket.pair()
    let channel = DescriptorChannel(taking: pair.nonBlocking, as: .frames(longest: 100), on: loop)
    let recorder = channel.startRecording()
    if isPaused { channel.pauseReading() }
    #expect(channel.send([1, 2, 3]) == 3)
    pair.other.close()
    #expect(loop.run(until: { recorder.end != nil }, limit: hangLimit))
    #expect(recorder.end == .closedByPeer)
  }

  @Test func whatCameBeforeAResetOfAMediumWithFramesWaitsForTheReader() throws {
    let pair = try RawSocket.pair()
    let channel = DescriptorChannel(taking: pair.nonBlocking, as: .frames(longest: 100), on: loop)
    let recorder = channel.startRecording()
    channel.pauseReading()
    #expect(channel.send([1, 2, 3]) == 3)
    pair.other.write("last words")
    pair.other.close()
    #expect(!loop.run(until: { recorder.end != nil }, limit: .milliseconds(10)))
    channel.resumeReading()
    #expect(loop.run(until: { recorder.end != nil }, limit: hangLimit))
    #expect(recorder.text == "last words")
    #expect(recorder.end == .closedByPeer)
  }

  @Test func aPausedChannelThatWaitsForRoomEndsWithAHangUp() {
    let recorder = channel.startRecording()
    while channel.send([UInt8](repeating: 0, count: 100_000)) == 100_000 {}
    channel.pauseReading()
    other.write("last words")
    other.close()
    #expect(loop.run(until: { recorder.end != nil }, limit: hangLimit))
    #expect(recorder.text == "")
    #expect(recorder.end == .lost("Connection reset by peer; 10 of its bytes were not read"))
  }

  @Test func whatArrivedBeforeAResetIsReadBeforeTheEnd() throws {
    let pair = try DescriptorEnd.pair(.tcp)
    let channel = DescriptorChannel(taking: pair.nonBlocking, as: .socket, on: loop)
    pair.other.send(Array("last words".utf8))
    pair.other.die(.reset)
    let recorder = channel.startRecording()
    #expect(loop.run(until: { recorder.end != nil }, limit: hangLimit))
    #expect(recorder.text == "last words")
    #expect(recorder.end == .lost("Connection reset by peer"))
  }

  /// The peer could still send, but it no longer accepts bytes.
  @Test(arguments: [false, true]) func anOtherEndThatTakesNothingAnyMoreEndsTheChannel(isPaused: Bool) {
    let recorder = channel.startRecording()
    other.write("last words")
    other.shutDownReading()
    if isPaused {
      #expect(loop.run(until: { recorder.text == "last words" }, limit: hangLimit))
      channel.pauseReading()
    }
    #expect(channel.send("are you there?") == 0)
    #expect(recorder.end == nil)
    #expect(loop.run(until: { recorder.end != nil }, limit: hangLimit))
    #expect(recorder.text == "last words")
    #expect(recorder.end == .lost("Broken pipe"))
  }

  /// There are more bytes to read after every read except the last, so the refused send does not end the channel on its
  /// own.
  @Test func aChannelThatCanSendNoMoreEndsAfterTheLastOfSeveralReads() {
    let recorder = channel.startRecording()
    other.writeAll(160_000)
    other.shutDownReading()
    #expect(channel.send("are you there?") == 0)
    #expect(loop.run(until: { recorder.end != nil }, limit: hangLimit))
    #expect(recorder.bytes.count == 160_000)
    #expect(recorder.end == .lost("Broken pipe"))
  }

  @Test func aClosedChannelIsClosedForGoodWhenTheOtherEndNeverAnswers() {
    _ = channel.startRecording()
    channel.send("good-bye")
    channel.close()
    other.write("I did not hear that")
    #expect(other.read() == "good-bye")
    #expect(other.read() == "")
    // Until a time limit expires, the closed socket reads and discards bytes. After that, the peer's writes fail.
    #expect(loop.run(until: { other.isBroken }, limit: hangLimit))
  }

  @Test func aClosedSocketWaitsNoLongerThanTheOtherEnd() throws {
    let pair = try RawSocket.pair()
    weak var held: ClosingSocket?
    do {
      let closing = ClosingSocket(pair.nonBlocking, on: loop, atMost: .seconds(3_600))
      held = closing
    }
    pair.other.write("one more thing")
    #expect(!loop.run(until: { held == nil }, limit: .milliseconds(2)))
    pair.other.close()
    #expect(loop.run(until: { held == nil }, limit: hangLimit))
  }

  @Test func aLoopThatIsLetGoTakesItsClosingSocketsAlong() throws {
    let pair = try RawSocket.pair()
    weak var held: EpollLoop?
    do {
      let loop = try EpollLoop()
      held = loop
      let patient = DescriptorChannel(taking: pair.nonBlocking, as: .socket, on: loop, closingTime: .seconds(3_600))
      _ = patient.startRecording()
      patient.close()
    }
    #expect(held == nil)
    #expect(pair.other.isBroken)
  }

  @Test func aWatchAndItsHandlerMayHoldEachOtherWhenTheirLoopGoes() throws {
    final class Holder: DescriptorHandler {
      var watch: (any DescriptorWatch)?
      func descriptorReady(_ readiness: Readiness) {}
    }
    let pipe = try Pipe()
    let directory = TemporaryFolder()
    let file = open(directory.path + "/file", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    defer { close(file) }
    weak var first: Holder?
    weak var second: Holder?
    do {
      let loop = try EpollLoop()
      let holders = (Holder(), Holder())
      (first, second) = holders
      holders.0.watch = try loop.watch(pipe.reading, for: .readable, holders.0)
      // The loop polls this descriptor, because epoll refuses it.
      holders.1.watch = try loop.watch(file, for: .readable, holders.1)
    }
    #expect(first == nil)
    #expect(second == nil)
  }

  @Test func aChannelThatCannotBeWatchedEndsInALaterTurn() {
    let broken = DescriptorChannel(taking: 1_000_000, as: .socket, on: loop)
    let recorder = broken.startRecording()
    #expect(recorder.end == nil)
    #expect(loop.run(until: { recorder.end != nil }, limit: hangLimit))
    guard case .failed = recorder.end else {
      Issue.record("ended with \(String(describing: recorder.end))")
      return
    }
  }

  @Test func aChannelThatCouldNotBeStartedAndIsClosedSaysNothing() {
    let broken = DescriptorChannel(taking: 1_000_000, as: .socket, on: loop)
    let recorder = broken.startRecording()
    broken.close()
    #expect(!loop.run(until: { recorder.end != nil }, limit: .milliseconds(2)))
  }

  @Test func aChannelThatWasNeverStartedClosesItsDescriptor() throws {
    let pair = try RawSocket.pair()
    do { _ = DescriptorChannel(taking: pair.nonBlocking, as: .socket, on: loop) }
    #expect(pair.other.read() == "")
  }
}
