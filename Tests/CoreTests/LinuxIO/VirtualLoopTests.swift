import AccessoryCore
import LinuxIO
import TestSupport
import Testing

@Suite(.waits) struct VirtualLoopTests {
  let loop = VirtualLoop(seed: 3, turnsPerInstant: 1_000)

  @Test func timeBeginsAtZeroAndJumpsFromDeadlineToDeadline() throws {
    var seen: [Double] = []
    for seconds in [86_400.0, 0.5, 3_600] {
      loop.schedule(after: .seconds(seconds)) { [loop] in seen.append(loop.now.seconds) }
    }
    #expect(loop.now == .origin)
    #expect(try loop.runUntilQuiet())
    #expect(seen == [0.5, 3_600, 86_400])
    #expect(try !loop.step())
  }

  @Test func advancingDoesWhatIsDueAndEndsAtThatVeryTime() throws {
    var fired: [Int] = []
    for second in 1...5 { loop.schedule(after: .seconds(second)) { fired.append(second) } }
    try loop.advance(by: .seconds(3))
    #expect(fired == [1, 2, 3])
    #expect(loop.now.seconds == 3)
    try loop.advance(by: .milliseconds(500))
    #expect(fired == [1, 2, 3])
    #expect(loop.now.seconds == 3.5)
  }

  @Test func aRunEndsWithItsConditionItsLimitOrWithNothingLeft() throws {
    var count = 0
    var timer: LoopTimer?
    timer = loop.makeTimer { [loop] in
      count += 1
      if count < 10 { timer?.arm(at: loop.now + .seconds(1)) }
    }
    timer?.arm(at: loop.now)
    #expect(try loop.run(until: { count == 3 }))
    #expect(loop.now.seconds == 2)
    #expect(try !loop.run(until: { count == 10 }, limit: .seconds(4)))
    #expect(loop.now.seconds == 6)
    #expect(try !loop.run(until: { count == 11 }))
    #expect(count == 10)
    timer = nil
  }

  @Test func workIsDoneBeforeTimeMoves() throws {
    var seen: [String] = []
    let log = LoopBound(Box { seen.append($0) }, on: loop)
    loop.schedule(after: .seconds(1)) { seen.append("timer") }
    loop.execute { [loop] in
      log.value.call("first at \(loop.now.seconds)")
      loop.execute { log.value.call("second at \(loop.now.seconds)") }
    }
    try loop.runUntilQuiet()
    #expect(seen == ["first at 0.0", "second at 0.0", "timer"])
  }

  @Test func machinesThatAnswerEachOtherWithoutLettingTimePassAreFoundOut() throws {
    var timer: LoopTimer?
    timer = loop.makeTimer { [unowned loop] in timer?.arm(at: loop.now) }
    loop.schedule(after: .seconds(2)) { [unowned loop] in timer?.arm(at: loop.now) }
    #expect(throws: VirtualLoop.Livelock(instant: Instant(nanoseconds: 2_000_000_000), turns: 1_000)) {
      try loop.runUntilQuiet()
    }
    timer = nil
  }

  @Test func manyTurnsAtManyInstantsAreNoLivelock() throws {
    var count = 0
    var timer: LoopTimer?
    timer = loop.makeTimer { [loop] in
      count += 1
      if count < 5_000 { timer?.arm(at: count % 500 == 0 ? loop.now + .nanoseconds(1) : loop.now) }
    }
    timer?.arm(at: .origin)
    try loop.runUntilQuiet()
    #expect(count == 5_000)
    timer = nil
  }

  @Test func aWatchdogThatNeverEndsMeetsTheLimitOfQuiet() throws {
    var timer: LoopTimer?
    timer = loop.makeTimer { [unowned loop] in timer?.arm(at: loop.now + .seconds(1)) }
    timer?.arm(at: .origin)
    #expect(try !loop.runUntilQuiet(limit: .seconds(60)))
    #expect(loop.now.seconds == 60)
    timer = nil
  }

  @Test func aDeadlineInThePastFiresNowAndTimeDoesNotGoBack() throws {
    try loop.advance(by: .seconds(5))
    var seen: Instant?
    loop.makeTimer { [loop] in seen = loop.now }.arm(at: .origin)
    try loop.runUntilQuiet()
    #expect(seen?.seconds == 5)
  }

  @Test func twoRunsOfOneSeedAreTheSame() throws {
    func run() throws -> [String] {
      let loop = VirtualLoop(seed: 42)
      var log: [String] = []
      func jump(_ name: Int, _ left: Int) {
        guard left > 0 else { return }
        loop.schedule(after: .microseconds(Int.random(in: 0..<50, using: &loop.random))) {
          log.append("\(name) at \(loop.now.nanoseconds)")
          jump(name, left - 1)
        }
      }
      for name in 0..<10 { jump(name, 100) }
      try loop.runUntilQuiet()
      return log
    }
    let first = try run()
    #expect(first.count == 1_000)
    #expect(try run() == first)
  }

  @Test func aLoopThatDropsItsWorkIsReleasedWithIt() throws {
    final class Owner { let loop: VirtualLoop; init(_ loop: VirtualLoop) { self.loop = loop } }
    weak var released: Owner?
    weak var loop: VirtualLoop?
    var done = 0
    do {
      let made = VirtualLoop()
      let owner = Owner(made)
      (released, loop) = (owner, made)
      made.schedule(after: .seconds(5)) { withExtendedLifetime(owner) { done += 1 } }
      let kept = made.makeTimer { done += 1 }
      kept.arm(at: made.now + .seconds(1))
      made.dropWork()
      #expect(kept.deadline == nil)
      #expect(made.nextDeadline == nil)
      // The loop is still usable after its work has been dropped.
      kept.arm(at: made.now + .seconds(2))
      try made.runUntilQuiet()
      #expect(done == 1)
    }
    #expect(released == nil)
    #expect(loop == nil)
  }

  @Test func anotherThreadIsNotOnTheLoopWhileItRuns() throws {
    let group = ThreadGroup()
    let result = Flag()
    loop.schedule(after: .zero) { [loop] in
      group.run { if !loop.isCurrent { result.raise() } }
      group.wait()
    }
    try loop.runUntilQuiet()
    #expect(result.isRaised)
  }
}

final class Box {
  let call: (String) -> Void
  init(_ call: @escaping (String) -> Void) { self.call = call }
}
