import AccessoryCore
import AccessoryFormats
import AccessoryProfiles
import Testing

@testable import AccessorySimulator

@Suite struct SourcePacerTests {
  private func run(
    _ pacer: inout SourcePacer, to end: Instant, lateness: ClosedRange<Int64> = 0...0, seed: UInt64 = 1,
    each: (Instant, Int, Int) -> Void = { _, _, _ in }
  ) -> Int {
    var random = SeededRandom(seed: seed)
    var total = 0
    while let deadline = pacer.deadline {
      let now = deadline + .nanoseconds(Int64.random(in: lateness, using: &random))
      guard now <= end else { break }
      pacer.tick(now: now)
      let count = pacer.allowance
      total += count
      pacer.took(count, now: now)
      each(now, count, total)
    }
    return total
  }

  @Test(arguments: [
    (1, 1), (3, 7), (1_000, 100), (9_999, 1), (115_200, 64), (1_000_000, 1_024), (999_983, 17),
    (1_000_000_000, 1), (1_000_000_000, 1_048_576),
  ]) func theAverageRateIsTheOneAskedForWhateverTheChunk(rate: Int, chunk: Int) {
    let seconds = max(1, min(1_000, 200 * chunk / rate))
    var pacer = SourcePacer(.init(rate: rate, chunk: chunk), start: .origin)
    let sent = run(&pacer, to: .origin + .seconds(seconds)) { now, _, total in
      // The source must never be ahead of its rate by more than one chunk.
      let ideal = Int(Int128(now.nanoseconds) * Int128(rate) / 1_000_000_000)
      #expect(total <= ideal + chunk && total >= ideal)
    }
    #expect(abs(sent - rate * seconds) <= max(chunk, rate / 1_000))
  }

  @Test func lateTimersDoNotAddUp() {
    var pacer = SourcePacer(.init(rate: 10_000, chunk: 100), start: .origin)
    let sent = run(&pacer, to: .origin + .seconds(100), lateness: 0...30_000_000)
    #expect(abs(sent - 1_000_000) <= 10_000)
  }

  @Test func chunksFasterThanAMillisecondGoOutGathered() {
    var pacer = SourcePacer(.init(rate: 1_000_000, chunk: 10), start: .origin)
    var ticks = 0
    _ = run(&pacer, to: .origin + .milliseconds(50)) { _, _, _ in ticks += 1 }
    #expect(ticks == 51)
  }

  @Test func aStandstillIsLostTimeAndNoBurst() {
    var pacer = SourcePacer(.init(rate: 10_000, chunk: 100), start: .origin)
    pacer.tick(now: .origin + .seconds(3_600))
    #expect(pacer.allowance == 1_100, "the chunk that is due and a tenth of a second's worth")
  }

  @Test func aSlowSourceWhoseTimerIsLateByLessThanItsIntervalKeepsItsGrid() {
    var pacer = SourcePacer(.init(rate: 1, chunk: 10), start: .origin)
    pacer.tick(now: .origin)
    pacer.took(10, now: .origin)
    pacer.tick(now: .origin + .seconds(15))
    #expect(pacer.allowance == 10)
    pacer.took(10, now: .origin + .seconds(15))
    #expect(pacer.deadline == .origin + .seconds(20))
  }

  @Test func afterBackPressureOneChunkFollowsAndTheNextComesAnIntervalLater() {
    var pacer = SourcePacer(.init(rate: 1_000, chunk: 100), start: .origin)
    pacer.tick(now: .origin)
    pacer.took(30, now: .origin)
    pacer.hold()
    #expect(pacer.state == .held)
    #expect(pacer.deadline == nil, "what waits for room waits for no time")
    #expect(pacer.allowance == 70)
    let later = Instant.origin + .seconds(60)
    pacer.tick(now: later)
    #expect(pacer.allowance == 70, "the minute is lost")
    pacer.took(70, now: later)
    #expect(pacer.state == .paced)
    #expect(pacer.allowance == 0)
    #expect(pacer.deadline == later + .milliseconds(100))
  }

  @Test func gatheredChunksThatFindNoRoomAreGivenUpButForOne() {
    var pacer = SourcePacer(.init(rate: 1_000_000, chunk: 100), start: .origin)
    pacer.tick(now: .origin)
    pacer.took(100, now: .origin)
    pacer.tick(now: .origin + .milliseconds(10))
    #expect(pacer.allowance == 10_000)
    pacer.took(5_000, now: .origin + .milliseconds(10))
    pacer.hold()
    #expect(pacer.allowance == 100)
  }

  @Test func theTotalIsExactAndEndsTheSource() {
    var pacer = SourcePacer(.init(rate: 1_000, chunk: 300, total: 1_000), start: .origin)
    #expect(run(&pacer, to: .origin + .seconds(100)) == 1_000)
    #expect(pacer.state == .finished)
    #expect(pacer.deadline == nil)
  }
}
