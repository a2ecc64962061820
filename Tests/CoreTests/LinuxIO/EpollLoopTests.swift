import AccessoryCore
import Glibc
import LinuxIO
import Synchronization
import TestSupport
import Testing

@Suite(.waits) struct EpollLoopTests {
  let loop: EpollLoop

  init() throws { loop = try EpollLoop(seed: 1) }

  // MARK: - Time

  @Test func timeBeginsNearZeroAndStandsStillWithinATurn() {
    #expect(loop.now < .origin + hangLimit)
    var seen: [Instant] = []
    for _ in 0..<100 { loop.schedule(after: .zero) { [loop] in seen.append(loop.now) } }
    #expect(loop.run(until: { seen.count == 100 }, limit: hangLimit))
    #expect(Set(seen).count == 1)
  }

  @Test func timersFireInOrderAndNeverEarly() {
    var fired: [(asked: Instant, came: Instant)] = []
    for microseconds in [900, 100, 500, 2_500, 300] {
      let asked = loop.now + .microseconds(microseconds)
      loop.makeTimer { [loop] in fired.append((asked, loop.now)) }.arm(at: asked)
    }
    #expect(loop.run(until: { fired.count == 5 }, limit: hangLimit))
    #expect(fired.map(\.asked) == fired.map(\.asked).sorted())
    for timer in fired { #expect(timer.came >= timer.asked) }
  }

  @Test func timersThatArmEachOtherLeaveDescriptorsTheirTurn() throws {
    let pipe = try Pipe()
    var stop = false
    var timer: LoopTimer?
    timer = loop.makeTimer { [loop] in if !stop { timer?.arm(at: loop.now) } }
    timer?.arm(at: loop.now)
    let watch = try loop.watch(pipe.reading, for: .readable, Handler { _ in stop = true })
    pipe.fill("x")
    #expect(loop.run(until: { stop }, limit: hangLimit))
    watch.cancel()
    timer = nil
  }

  @Test func aSeedRepeatsItself() throws {
    let again = try EpollLoop(seed: 1)
    #expect((0..<10).map { _ in loop.random.next() } == (0..<10).map { _ in again.random.next() })
  }

  // MARK: - Other threads

  @Test func workFromManyThreadsAllRunsInTheOrderOfEachThread() throws {
    try loop.start()
    let threads = 8
    let each = 2_000
    let log = LoopBound(Log(threads), on: loop)
    let group = ThreadGroup()
    for thread in 0..<threads {
      group.run { [loop] in
        for number in 0..<each { loop.execute { log.value.note(thread, number) } }
      }
    }
    group.wait()
    let finished = Flag()
    loop.execute { finished.raise() }
    finished.wait()
    loop.stop()
    #expect(log.value.isInOrder)
    #expect(log.value.counts == Array(repeating: each, count: threads))
  }

  @Test func workGivenByWorkRunsInALaterTurn() {
    let turns = Mutex<[Int]>([])
    loop.execute { [loop] in
      turns.withLock { $0.append(loop.turns) }
      loop.execute { turns.withLock { $0.append(loop.turns) } }
    }
    #expect(loop.run(until: { turns.withLock { $0.count == 2 } }, limit: hangLimit))
    #expect(turns.withLock { $0[1] == $0[0] + 1 })
  }

  @Test func anIdleLoopSleepsThroughItsWaitAndACancelledTimerDoesNotWakeIt() throws {
    let pipe = try Pipe()
    let watch = try loop.watch(pipe.reading, for: .readable, Handler { _ in Issue.record("nothing was written") })
    loop.schedule(after: .microseconds(500)) { Issue.record("a cancelled timer fired") }.cancel()
    let before = loop.turns
    #expect(!loop.run(until: { false }, limit: .milliseconds(20)))
    // The loop makes only one turn, in which it reaches the limit.
    #expect(loop.turns == before + 1)
    watch.cancel()
  }

  @Test func stopEndsARunFromWithinAndTheLoopCanRunAgain() {
    var turns = 0
    loop.schedule(after: .zero) { [loop] in
      turns += 1
      loop.stop()
    }
    #expect(!loop.run(until: { false }, limit: hangLimit))
    #expect(turns == 1)
    var again = false
    loop.schedule(after: .zero) { again = true }
    #expect(loop.run(until: { again }, limit: hangLimit))
  }

  @Test func aLoopCanBeStartedAgainAfterItStopped() throws {
    for _ in 0..<20 {
      try loop.start()
      let done = Flag()
      loop.execute { done.raise() }
      done.wait()
      loop.stop()
    }
  }

  @Test func onlyItsOwnThreadIsCurrentWhileALoopRuns() throws {
    #expect(loop.isCurrent)
    try loop.start()
    #expect(!loop.isCurrent)
    let inside = Flag()
    loop.execute { [loop] in if loop.isCurrent { inside.raise() } }
    inside.wait()
    loop.stop()
    #expect(loop.isCurrent)
  }
}
