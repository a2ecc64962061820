import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import LinuxIO
import Testing

@Suite struct SourceBehaviorTests {
  private let loop = VirtualLoop()

  private func listen(
    _ source: Behavior.Source, for time: Duration, seed: UInt64 = 1
  ) throws -> (SessionEar, VirtualLoop) {
    let loop = VirtualLoop(seed: seed)
    let rig = try BehaviorRig(.source(source), on: loop)
    let recorder = try rig.open()
    try loop.advance(by: time)
    withExtendedLifetime(rig) {}
    return (recorder, loop)
  }

  @Test func aSourceCountsAtItsRateFromTheMomentTheSessionIsOpen() throws {
    let (recorder, _) = try listen(.init(rate: 1_000, chunk: 100), for: .seconds(60))
    #expect(abs(recorder.heard.count - 60_000) <= 600)
    #expect(recorder.heard == (0..<recorder.heard.count).map { UInt8(truncatingIfNeeded: $0) })
    let first = try #require(recorder.arrivals.first?.time)
    #expect(first - Instant.origin < .milliseconds(1_100))
  }

  @Test func aTextIsRepeatedAndNotRestartedWithAChunk() throws {
    let (recorder, _) = try listen(.init(rate: 100, chunk: 7, pattern: .text("tick;")), for: .seconds(5))
    #expect(recorder.text.hasPrefix("tick;tick;tick;tick;"))
    #expect(recorder.heard.count > 400)
    #expect(zip(recorder.heard, recorder.heard.dropFirst(5)).allSatisfy { $0 == $1 })
  }

  @Test func chanceRepeatsItselfForASeedAndDiffersBetweenSessions() throws {
    let source = Behavior.Source(rate: 1_000, chunk: 100, pattern: .random, total: 2_000)
    let first = try listen(source, for: .seconds(5)).0.heard
    #expect(first.count == 2_000)
    #expect(Set(first).count > 200)
    #expect(try listen(source, for: .seconds(5)).0.heard == first)
    #expect(try listen(source, for: .seconds(5), seed: 2).0.heard != first)

    let rig = try BehaviorRig(.source(source), on: loop)
    let recorders = [try rig.open(), try rig.open()]
    try loop.advance(by: .seconds(5))
    #expect(recorders[0].heard.count == 2_000 && recorders[1].heard.count == 2_000)
    #expect(recorders[0].heard != recorders[1].heard)
  }

  @Test func whatASourceIsSentIsTakenAndDropped() throws {
    let rig = try BehaviorRig(.source(.init(rate: 10, chunk: 1)), on: loop)
    let recorder = try rig.open()
    recorder.send([UInt8](repeating: 7, count: 2_000_000))
    try loop.advance(by: .seconds(30))
    #expect(recorder.session.bytesWritten == 2_000_000)
    #expect(recorder.session.unacknowledged == 0)
    #expect(recorder.end == nil)
  }

  /// If a reader sleeps for a while, the link's flow control stops the source. When the reader wakes, it receives the
  /// bytes that the link was holding, then one chunk, and then bytes at the normal rate, because the source does not
  /// make up for the pause.
  @Test func aReaderThatSleptFindsWhatTheLinkHeldAndThenTheRate() throws {
    let rate = 200_000
    let rig = try BehaviorRig(.source(.init(rate: rate, chunk: 1_000)), on: loop)
    let recorder = try rig.open()
    try loop.advance(by: .seconds(1))
    recorder.isDeaf = true
    try loop.advance(by: .seconds(5))
    recorder.isDeaf = false
    try loop.advance(by: .milliseconds(100))
    #expect(recorder.end == nil)
    // The expected number of bytes is what the source sends in one second before the pause and in a tenth of a second
    // after it, plus what the buffers at both ends hold. If the source made up for the five seconds, there would be
    // twice as many bytes.
    let woken = recorder.heard.count
    #expect(woken < rate * 11 / 10 + 2 * 256 * 1_024 + 20_000)
    try loop.advance(by: .seconds(3))
    #expect(abs(recorder.heard.count - woken - 3 * rate) <= 3 * rate / 100)
    #expect(recorder.heard == (0..<recorder.heard.count).map { UInt8(truncatingIfNeeded: $0) })
  }
}
