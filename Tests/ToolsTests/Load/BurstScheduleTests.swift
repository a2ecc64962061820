import AccessoryCore
import Testing

@testable import AccessoryLoad

@Suite struct BurstScheduleTests {
  static func plan(_ change: (inout BurstPlan) -> Void) -> BurstPlan {
    var plan = BurstPlan()
    change(&plan)
    return plan
  }

  static func at(_ seconds: Double) -> Instant { Instant(nanoseconds: Int64(seconds * 1e9)) }

  /// Takes bursts from the schedule as soon as each is due, and returns the times at which they were due, in seconds.
  static func dues(_ plan: BurstPlan, count: Int = 10_000) -> [Double] {
    var schedule = BurstSchedule(plan)
    var now = Instant.origin
    schedule.begin(now: now)
    var dues: [Double] = []
    while dues.count < count {
      switch schedule.next(lane: 0, of: 1, now: now) {
      case .begin(let ticket):
        #expect(ticket.number == dues.count)
        dues.append(ticket.due.seconds)
        schedule.settle(now: now)
      case .wait(let until):
        #expect(until > now)
        now = until
      case .waitForOthers, .finished: return dues
      }
    }
    return dues
  }

  @Test func aClosedLoopHandsOutAsManyAsThePlanHas() {
    #expect(Self.dues(Self.plan { $0.extent = .bursts(7) }) == Array(repeating: 0, count: 7))
  }

  @Test(arguments: [0.5, 3, 50, 7_500]) func aRateIsAGridFromTheBeginning(rate: Double) {
    let dues = Self.dues(
      Self.plan {
        $0.pace = .rate(burstsPerSecond: rate)
        $0.extent = .bursts(100)
      })
    #expect(dues.count == 100)
    for (number, due) in dues.enumerated() { #expect(abs(due - Double(number) / rate) < 2e-9) }
  }

  @Test func aRateForATimeEndsWithTheTime() {
    let dues = Self.dues(
      Self.plan {
        $0.pace = .rate(burstsPerSecond: 10)
        $0.extent = .time(.seconds(2))
      })
    #expect(dues.count == 20)
    #expect(dues.last.map { $0 < 2 } == true)
  }

  @Test func aRampRisesEvenlyToTheRate() {
    let dues = Self.dues(
      Self.plan {
        $0.pace = .rate(burstsPerSecond: 100)
        $0.ramp = .seconds(10)
        $0.extent = .time(.seconds(20))
      })
    func count(_ from: Double, _ to: Double) -> Int { dues.filter { $0 >= from && $0 < to }.count }
    // In second k of the ten-second ramp, the average rate is (k - ½) tenths of the full rate.
    for second in 0..<10 { #expect(abs(count(Double(second), Double(second + 1)) - (second * 10 + 5)) <= 1) }
    #expect(abs(count(10, 20) - 1_000) <= 1)
    #expect(zip(dues, dues.dropFirst()).allSatisfy { $0 < $1 })
  }

  @Test func pausesMoveTheGridBehindThem() {
    let dues = Self.dues(
      Self.plan {
        $0.pace = .rate(burstsPerSecond: 10)
        $0.pause = .init(every: 5, length: .seconds(3))
        $0.extent = .bursts(11)
      })
    #expect(abs(dues[4] - 0.4) < 1e-6)
    #expect(abs(dues[5] - 3.5) < 1e-6)
    #expect(abs(dues[10] - 7.0) < 1e-6)
  }

  @Test func aClosedLoopPausesWhenAllBeforeThePauseAreThrough() {
    var schedule = BurstSchedule(
      Self.plan {
        $0.pause = .init(every: 2, length: .seconds(1))
        $0.extent = .bursts(4)
      })
    schedule.begin(now: .origin)
    for _ in 0..<2 { if case .begin = schedule.next(lane: 0, of: 1, now: .origin) {} else { Issue.record("no burst") } }
    #expect(schedule.next(lane: 0, of: 1, now: .origin) == .waitForOthers)
    schedule.settle(now: Self.at(1))
    #expect(schedule.next(lane: 0, of: 1, now: Self.at(1)) == .waitForOthers)
    schedule.settle(now: Self.at(2))
    #expect(schedule.next(lane: 0, of: 1, now: Self.at(2)) == .wait(until: Self.at(3)))
    guard case .begin = schedule.next(lane: 0, of: 1, now: Self.at(3)) else { return #expect(Bool(false)) }
  }

  @Test func warmingUpDoesNotCount() {
    var schedule = BurstSchedule(
      Self.plan {
        $0.warmUp = .seconds(5)
        $0.extent = .bursts(2)
      })
    schedule.begin(now: Self.at(100))
    var measured: [Bool] = []
    for second in [100.0, 101, 104.9, 105, 106, 107] {
      if case .begin(let ticket) = schedule.next(lane: 0, of: 1, now: Self.at(second)) {
        measured.append(ticket.isMeasured)
      }
    }
    #expect(measured == [false, false, false, true, true])
    #expect(schedule.isFinished)
    #expect(schedule.measuringStart == Self.at(105))
  }

  @Test func sessionsBeginOneAfterTheOtherInAClosedLoopThatRampsUp() {
    var schedule = BurstSchedule(Self.plan { $0.ramp = .seconds(4) })
    schedule.begin(now: .origin)
    #expect(schedule.next(lane: 2, of: 4, now: .origin) == .wait(until: Self.at(2)))
    guard case .begin = schedule.next(lane: 0, of: 4, now: .origin) else { return #expect(Bool(false)) }
    guard case .begin = schedule.next(lane: 2, of: 4, now: Self.at(2)) else { return #expect(Bool(false)) }
  }

  @Test func whatWasDueAndNeverBeganIsCounted() {
    var schedule = BurstSchedule(
      Self.plan {
        $0.pace = .rate(burstsPerSecond: 10)
        $0.extent = .time(.seconds(2))
      })
    schedule.begin(now: .origin)
    guard case .begin = schedule.next(lane: 0, of: 1, now: .origin) else { return #expect(Bool(false)) }
    // The accessory hangs, so the session does not ask for a second burst. Bursts that became due within the last tenth
    // of a second do not count as overdue.
    #expect(schedule.overdue(at: Self.at(1.05)) == 9)
    #expect(schedule.overdue(at: Self.at(60)) == 18)
    guard case .begin(let ticket) = schedule.next(lane: 0, of: 1, now: Self.at(1.5)) else {
      return #expect(Bool(false))
    }
    #expect(ticket.due == Self.at(0.1))
    #expect(schedule.next(lane: 0, of: 1, now: Self.at(2)) == .finished)
  }

  @Test func nothingIsHandedOutBeforeTheBeginningAndAfterTheEnd() {
    var schedule = BurstSchedule(BurstPlan())
    #expect(schedule.next(lane: 0, of: 1, now: .origin) == .waitForOthers)
    schedule.begin(now: .origin)
    schedule.finish()
    #expect(schedule.next(lane: 0, of: 1, now: .origin) == .finished)
    #expect(schedule.start == .origin)
  }
}
