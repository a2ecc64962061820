import AccessoryCore
import Testing

@testable import AccessoryLoad

@Suite struct BurstLaneTests {
  static func ticket(_ number: Int) -> BurstSchedule.Ticket {
    BurstSchedule.Ticket(number: number, due: .origin, isMeasured: true)
  }

  static func lane(
    _ verification: BurstPlan.Verification, payload: [UInt8] = [1, 2, 3, 4], inFlight: Int = 2
  ) -> BurstLane {
    var plan = BurstPlan()
    plan.payload = .bytes(payload)
    plan.verification = verification
    plan.inFlight = inFlight
    return BurstLane(
      plan, verifier: ReplyVerifier(plan), stream: UniqueStream(seed: 1, session: 0), scratch: UniqueScratch())
  }

  static func receive(_ bytes: [UInt8], _ lane: inout BurstLane) -> [String] {
    var told: [String] = []
    var offset = 0
    while let event = lane.receive(bytes.span.bytes, at: &offset) {
      switch event {
      case .completed(let flight): told.append("done \(flight.ticket.number)")
      case .wrong(let flight, let text):
        told.append("burst \(flight.ticket.number): \(text)")
        return told
      case .suspicious: told.append("suspicious")
      case .unexpected(let count): told.append("unexpected \(count)")
      }
    }
    return told
  }

  @Test func burstsAreOfferedOneAfterTheOther() {
    var lane = Self.lane(.echo)
    #expect(lane.unsent == nil)
    lane.begin(Self.ticket(0), now: .origin)
    lane.begin(Self.ticket(1), now: .origin)
    #expect(!lane.hasRoom)
    #expect(lane.unsent == 0..<4)
    lane.took(3)
    #expect(lane.unsent == 3..<4)
    lane.took(1)
    #expect(lane.unsent == 0..<4)
    lane.took(4)
    #expect(lane.unsent == nil)
    #expect(lane.bytesSent == 8)
  }

  @Test(arguments: 1...8) func anEchoIsCompleteHoweverItIsCut(size: Int) {
    var lane = Self.lane(.echo)
    for number in 0..<2 {
      lane.begin(Self.ticket(number), now: .origin)
      lane.took(4)
    }
    var told: [String] = []
    let echo: [UInt8] = [1, 2, 3, 4, 1, 2, 3, 4]
    for start in stride(from: 0, to: 8, by: size) {
      told += Self.receive(Array(echo[start..<min(8, start + size)]), &lane)
    }
    #expect(told == ["done 0", "done 1"])
    #expect(lane.hasRoom)
  }

  @Test func theFirstWrongByteIsShownWithWhatStandsAroundIt() {
    var lane = Self.lane(.echo, payload: Array(0..<32), inFlight: 1)
    lane.begin(Self.ticket(9), now: .origin)
    lane.took(32)
    #expect(Self.receive(Array(0..<10), &lane) == [])
    var rest = Array(UInt8(10)..<32)
    rest[6] = 0xEE
    #expect(
      Self.receive(rest, &lane) == [
        "burst 9: byte 16 is ee instead of 10: expected … 0c 0d 0e 0f 10 11 12 13 14 …, "
          + "got … 0c 0d 0e 0f ee 11 12 13 14 …"
      ])
  }

  @Test func aWindowEndsWhereTheBytesEnd() {
    var lane = Self.lane(.echo)
    lane.begin(Self.ticket(0), now: .origin)
    lane.took(4)
    #expect(
      Self.receive([9], &lane) == ["burst 0: byte 0 is 09 instead of 01: expected … 01 02 03 04 …, got … 09 …"])
  }

  @Test func bytesThatNobodyAskedForAreTold() {
    var lane = Self.lane(.echo)
    #expect(Self.receive([1, 2], &lane) == ["unexpected 2"])
    lane.begin(Self.ticket(0), now: .origin)
    lane.took(4)
    #expect(Self.receive([1, 2, 3, 4, 5], &lane) == ["done 0", "unexpected 1"])
  }

  @Test func aReplyMayBeOtherBytes() {
    var lane = Self.lane(.reply([0xAA, 0xBB]))
    for number in 0..<2 {
      lane.begin(Self.ticket(number), now: .origin)
      lane.took(4)
    }
    #expect(Self.receive([0xAA, 0xBB, 0xAA], &lane) == ["done 0"])
    #expect(Self.receive([0xBC], &lane).first?.hasPrefix("burst 1: byte 1 is bc instead of bb") == true)
  }

  @Test func aReplyOfALengthMayBeAnything() {
    var lane = Self.lane(.replyLength(3))
    for number in 0..<2 {
      lane.begin(Self.ticket(number), now: .origin)
      lane.took(4)
    }
    #expect(Self.receive([7, 7, 7, 8, 8], &lane) == ["done 0"])
    #expect(Self.receive([8], &lane) == ["done 1"])
  }

  @Test func aReplyThatIsWholeBeforeItsBurstWaitsForIt() {
    var lane = Self.lane(.replyLength(1))
    lane.begin(Self.ticket(0), now: .origin)
    lane.took(1)
    #expect(Self.receive([7], &lane) == [])
    #expect(lane.completeAnswered() == nil)
    lane.took(3)
    #expect(lane.completeAnswered()?.ticket.number == 0)
    #expect(lane.completeAnswered() == nil)
  }

  @Test func withoutRepliesAcknowledgementsComplete() {
    var lane = Self.lane(.nothing)
    for number in 0..<2 {
      lane.begin(Self.ticket(number), now: .origin)
      lane.took(4)
    }
    #expect(lane.acknowledged(3) == nil)
    #expect(lane.acknowledged(8)?.ticket.number == 0)
    #expect(lane.acknowledged(8)?.ticket.number == 1)
    #expect(lane.acknowledged(8) == nil)
    #expect(Self.receive([1, 2, 3], &lane) == ["unexpected 3"])
  }

  @Test func whatIsUnderWayIsLostWithTheSession() {
    var lane = Self.lane(.echo)
    lane.begin(Self.ticket(4), now: Instant(nanoseconds: 5))
    #expect(lane.deadline(timeout: .nanoseconds(10)) == Instant(nanoseconds: 15))
    #expect(lane.abandon().map(\.ticket.number) == [4])
    #expect(lane.deadline(timeout: .seconds(1)) == nil)
    #expect(lane.flights.isEmpty)
  }
}
