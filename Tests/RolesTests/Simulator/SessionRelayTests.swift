import AccessoryControl
import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import IAP2
import LinuxIO
import Testing

@Suite struct SessionRelayTests {
  private let loop = VirtualLoop(seed: 3)
  private let stream = FakeStream()
  private let rig: BehaviorRig

  init() throws { rig = try BehaviorRig(.echo, on: loop) }

  private func relay(
    _ whenReaderLeaves: SessionRelay.WhenReaderLeaves = .close, in rig: BehaviorRig? = nil
  ) throws -> (SessionRelay, Endings) {
    let endings = Endings()
    let relay = SessionRelay(
      stream, linger: .seconds(1), whenReaderLeaves: whenReaderLeaves, on: loop
    ) { endings.list.append($1) }
    relay.attach(try (rig ?? self.rig).open().session)
    return (relay, endings)
  }

  final class Endings {
    var list: [SessionRelay.Ending] = []
  }

  @Test func afterTheInputTheSessionStaysOpenForTheAnswersAndThenCloses() throws {
    let (relay, endings) = try relay()
    stream.give("VERSION?")
    stream.endInput()
    let began = loop.now
    #expect(try loop.run(until: { !endings.list.isEmpty }))
    #expect(stream.text == "VERSION?" && endings.list == [.inputEnded])
    #expect(loop.now - began >= .seconds(1) && loop.now - began < .seconds(2))
    #expect((relay.counts.sent, relay.counts.received, relay.counts.lost) == (8, 8, 0))
    try loop.advance(by: .milliseconds(100))
    #expect(rig.endings == ["the device closed it"])
  }

  @Test func anOutputThatTakesNothingStopsTheOtherEnd() throws {
    let source = try BehaviorRig(try Behavior("source,rate=1000000000,chunk=1000"), on: loop)
    stream.room = 1_000
    let (relay, _) = try relay(in: source)
    try loop.advance(by: .milliseconds(100))
    #expect(relay.counts.received == 1_000)
    stream.room = 2_000
    stream.tellRoom()
    #expect(relay.counts.received == 3_000)
    relay.close()
    try loop.advance(by: .seconds(1))
    let written = source.world.events.compactMap { event in
      if event.side == .accessory, case .sessionClose(_, _, _, _, let written) = event.kind { written } else { nil }
    }
    // The accessory never stops writing, but only as much can be sent as the windows and the inbox hold.
    #expect(written.count == 1 && written[0] < 16_000_000, "\(written)")
  }

  @Test func aSessionThatTakesNoMoreStopsTheInput() throws {
    let slow = try BehaviorRig(.echo, on: loop)
    stream.room = 0
    let (relay, _) = try relay(in: slow)
    stream.give(String(repeating: "x", count: 5_000_000))
    try loop.advance(by: .milliseconds(500))
    #expect(relay.counts.sent < 2_000_000)
    #expect(stream.unread == 5_000_000 - relay.counts.sent)
  }

  @Test func whatArrivedBeforeTheEndIsHandedOverFirst() throws {
    let (_, endings) = try relay()
    stream.room = 3
    stream.give("hello")
    try loop.advance(by: .milliseconds(100))
    rig.accessory.closeSessions()
    try loop.advance(by: .milliseconds(100))
    #expect(stream.text == "hel" && endings.list.isEmpty)
    stream.room = 10
    stream.tellRoom()
    #expect(stream.text == "hello" && endings.list == [.session(.closedByAccessory)])
  }

  @Test(arguments: [nil, "No space left on device"]) func anOutputThatBreaksClosesTheSession(reason: String?) throws {
    let (relay, endings) = try relay()
    stream.breakOutput(reason)
    try loop.advance(by: .milliseconds(100))
    #expect(endings.list == [reason.map { .failed("writing failed: \($0)") } ?? .readerLeft] && relay.session == nil)
  }

  @Test func aSocketsInputIsSentAlthoughItsClientHasLeft() throws {
    let (relay, endings) = try relay(.finishInput(whileWaiting: true))
    stream.breakOutput(nil)
    stream.give("last words")
    try loop.advance(by: .milliseconds(100))
    #expect(endings.list.isEmpty)
    #expect((relay.counts.sent, relay.counts.received, relay.counts.lost) == (10, 10, 0))
    stream.endInput()
    try loop.advance(by: .milliseconds(100))
    #expect(endings.list == [.readerLeft])
  }

  @Test func anotherSessionContinuesWhereTheFirstWasUnplugged() throws {
    let (relay, endings) = try relay()
    stream.give("one ")
    try loop.advance(by: .milliseconds(100))
    rig.accessory.unplug()
    try loop.advance(by: .milliseconds(100))
    #expect(endings.list.count == 1)
    stream.give("two")
    #expect(relay.unsent == 3)
    try rig.accessory.plugIn()
    #expect(try loop.run(until: { rig.shown != nil }))
    relay.attach(try rig.open().session)
    try loop.advance(by: .milliseconds(100))
    #expect(stream.text == "one two" && relay.unsent == 0)
  }
}

private final class FakeStream: ByteStream {
  var room = Int.max
  private(set) var sent: [UInt8] = []
  private var waiting: [UInt8] = []
  private var isWanted = false
  private var handler: (any ByteStreamHandler)?
  private var isEnding = false

  var text: String { String(decoding: sent, as: UTF8.self) }
  var unread: Int { waiting.count }

  func give(_ text: String) {
    waiting += Array(text.utf8)
    offer()
  }

  func endInput() {
    isEnding = true
    offer()
  }

  func tellRoom() { handler?.streamIsWritable(self) }

  func breakOutput(_ reason: String?) { handler?.stream(self, outputBrokeBecause: reason) }

  func start(_ handler: any ByteStreamHandler) { self.handler = handler }

  func resumeReading() {
    isWanted = true
    offer()
  }

  func pauseReading() { isWanted = false }

  private func offer() {
    guard isWanted, let handler else { return }
    if !waiting.isEmpty {
      let bytes = waiting
      waiting.removeFirst(handler.stream(self, received: bytes.span.bytes))
    }
    if waiting.isEmpty, isEnding {
      isEnding = false
      handler.stream(self, inputEndedBecause: nil)
    }
  }

  func send(_ bytes: RawSpan) -> Int {
    let taken = min(room, bytes.byteCount)
    bytes.extracting(0..<taken).withUnsafeBytes { sent.append(contentsOf: $0) }
    if room < .max { room -= taken }
    return taken
  }

  func endOutput() { handler?.streamOutputEnded(self) }
  func close() { handler = nil }
}
