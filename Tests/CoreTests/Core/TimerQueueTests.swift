import AccessoryCore
import AccessoryFormats
import Testing

@Suite struct TimerQueueTests {
  let queue = TimerQueue()

  func fire(at nanoseconds: Int64) {
    while let timer = queue.popDue(at: Instant(nanoseconds: nanoseconds)) { timer.fire() }
  }

  @Test func equalDeadlinesFireInTheOrderTheyWereArmed() {
    var fired: [Int] = []
    for index in 0..<20 { queue.makeTimer { fired.append(index) }.arm(at: Instant(nanoseconds: 5)) }
    fire(at: 5)
    #expect(fired == Array(0..<20))
  }

  @Test func movingATimerLaterDelaysItAndMovingItEarlierHastensIt() {
    var fired: [String] = []
    let later = queue.makeTimer { fired.append("later") }
    let earlier = queue.makeTimer { fired.append("earlier") }
    later.arm(at: Instant(nanoseconds: 10))
    earlier.arm(at: Instant(nanoseconds: 20))
    later.arm(at: Instant(nanoseconds: 30))
    earlier.arm(at: Instant(nanoseconds: 5))
    #expect(queue.earliest == Instant(nanoseconds: 5))
    fire(at: 10)
    #expect(fired == ["earlier"])
    #expect(queue.earliest == Instant(nanoseconds: 30))
    fire(at: 30)
    #expect(fired == ["earlier", "later"])
    #expect(queue.earliest == nil)
  }

  @Test func aCancelledTimerNeitherFiresNorKeepsTheLoopAwake() {
    let timer = queue.makeTimer { Issue.record("a cancelled timer fired") }
    timer.arm(at: Instant(nanoseconds: 1))
    timer.cancel()
    #expect(queue.earliest == nil)
    fire(at: 100)
  }

  @Test func aTimerMayArmItselfAgainFromItsOwnWork() {
    var count = 0
    var timer: LoopTimer?
    timer = queue.makeTimer {
      count += 1
      if count < 3 { timer?.arm(at: Instant(nanoseconds: Int64(count) * 10)) }
    }
    timer?.arm(at: .origin)
    fire(at: 100)
    #expect(count == 3)
    timer = nil
  }

  @Test func aHandlerIsToldOfItsOwnTimer() {
    final class Handler: TimerHandler {
      var fired: [LoopTimer] = []
      func timerFired(_ timer: LoopTimer) { fired.append(timer) }
    }
    let handler = Handler()
    let timer = queue.makeTimer { Issue.record("a handler comes instead of the work") }
    timer.handler = handler
    timer.arm(at: .origin)
    fire(at: 0)
    #expect(handler.fired.count == 1)
    #expect(handler.fired.first === timer)
    #expect(timer.deadline == nil)
  }

  @Test func whatAFiringTimerArmsForNowIsLeftToTheNextTurn() {
    var fired: [String] = []
    let second = queue.makeTimer { fired.append("second") }
    let first = queue.makeTimer {
      fired.append("first")
      second.arm(at: .origin)
    }
    first.arm(at: .origin)
    let mark = queue.mark
    while let timer = queue.popDue(at: .origin, armedBefore: mark) { timer.fire() }
    #expect(fired == ["first"])
    fire(at: 0)
    #expect(fired == ["first", "second"])
  }

  @Test func manyMovesKeepTheOrderOfASortedList() {
    var random = SeededRandom(seed: 11)
    let timers = (0..<500).map { _ in queue.makeTimer {} }
    for _ in 0..<5_000 {
      let timer = timers[Int.random(in: 0..<timers.count, using: &random)]
      if Int.random(in: 0..<4, using: &random) == 0 {
        timer.cancel()
      } else {
        timer.arm(at: Instant(nanoseconds: .random(in: 0..<1_000, using: &random)))
      }
    }
    let expected = timers.compactMap { $0.deadline?.nanoseconds }.sorted()
    var seen: [Int64] = []
    while let earliest = queue.earliest {
      seen.append(earliest.nanoseconds)
      _ = queue.popDue(at: earliest)
    }
    #expect(seen == expected)
  }
}
