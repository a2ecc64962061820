import AccessoryCore
import AccessorySimulator
import TestSupport
import Testing

@testable import AccessoryLoad

/// Tests in virtual time how load tests fail if the accessory echoes incorrectly.
@Suite struct WrongAnswerTests {
  static let size = 320

  /// Returns an accessory that echoes all bursts except the third in each session. The accessory answers the third
  /// burst with `wrong`.
  static func accessory(
    _ wrong: WrongAnswer, other: [UInt8] = UniqueStream(seed: 99, session: 0).bytes(0..<size)
  )
    -> ClosureBehavior
  {
    var requests: [[UInt8]] = [[]]
    return ClosureBehavior { bytes, session, _ in
      bytes.withUnsafeBytes { requests[requests.count - 1] += $0 }
      while let request = requests.last, request.count >= size {
        requests[requests.count - 1] = Array(request[..<size])
        requests.append(Array(request[size...]))
        let number = requests.count - 2
        let answer =
          number == 2 ? wrong.answer(requests[2], requests[1], other) : requests[number]
        session.write(answer.span.bytes)
      }
    }
  }

  static func plan(_ change: (inout BurstPlan) -> Void = { _ in }) -> BurstPlan {
    var plan = BurstPlan()
    plan.payload = .unique(size: size)
    plan.extent = .bursts(20)
    change(&plan)
    return plan
  }

  @Test(arguments: WrongAnswer.single + WrongAnswer.later, [1, 4])
  func aWrongAnswerFailsTheRunAndIsCalledWhatItIs(wrong: WrongAnswer, inFlight: Int) throws {
    let rig = try LoadRig(Self.plan { $0.inFlight = inFlight }, playing: Self.accessory(wrong))
    let report = try rig.finish()
    #expect(rig.runner.outcome == .failed)
    #expect(!report.passed)
    let text = [BurstReport.ErrorKind.different, .unexpected].compactMap { report.errors[$0]?.first }.joined()
    let isUsedUp = inFlight > 1 && wrong.kind == "stale"
    #expect(text.contains("\(wrong.kind): ") || isUsedUp, "\(wrong): \(text)")
    #expect(report.mismatches.values.reduce(0, +) > 0)
    #expect(report.text.contains("mismatches  "))
    #expect(report.completed == 2 || report.completed == 3, "\(report.completed)")
    try rig.tearDown()
  }

  /// Until the next answer arrives, the missing bytes may just be late rather than lost.
  @Test func anAnswerWithoutItsTailTimesOutAndSaysHowMuchCame() throws {
    let short = ClosureBehavior { bytes, session, _ in
      session.write(bytes.extracting(0..<bytes.byteCount - 16))
    }
    let rig = try LoadRig(Self.plan { $0.timeout = .seconds(2) }, playing: short)
    let report = try rig.finish()
    #expect(rig.runner.outcome == .timedOut)
    #expect(
      report.errors[.timedOut]?.first
        == "this machine: burst 0 took longer than 2s: 304 of 320 bytes came back, then nothing")
    let two = try LoadRig(
      Self.plan {
        $0.payload = .unique(size: 5_000)
        $0.inFlight = 2
      }, playing: short)
    #expect(try two.finish().errors[.different]?.first.contains("lost: 16 bytes from byte ") == true)
  }

  @Test func theAnswerToAnotherSessionIsForeign() throws {
    var last: [UInt16: [UInt8]] = [:]
    let crossed = ClosureBehavior { bytes, session, _ in
      let request = bytes.withUnsafeBytes { [UInt8]($0) }
      let other = last.first { $0.key != session.id }?.value
      last[session.id] = request
      let answer = other ?? request
      session.write(answer.span.bytes)
    }
    let report = try LoadRig(Self.plan { $0.sessions = 2 }, playing: crossed).finish()
    let text = try #require(report.errors[.different]?.first)
    #expect(text.contains("foreign: ") && text.contains("they belong to session "), "\(text)")
  }

  /// The same seed gives the same bytes, and a different seed gives different bytes. Answers from an earlier run with a
  /// different seed are therefore detected.
  @Test(arguments: [(7, true), (8, false)] as [(UInt64, Bool)])
  func theAnswersOfAnEarlierRunAreForeignUnlessItsSeedWasTheSame(
    seed: UInt64, passes: Bool
  ) throws {
    var recorded: [UInt8] = []
    let recorder = ClosureBehavior { bytes, session, _ in
      bytes.withUnsafeBytes { recorded += $0 }
      session.write(bytes)
    }
    _ = try LoadRig(Self.plan(), seed: 7, playing: recorder).finish()
    #expect(recorded.count == 20 * Self.size)
    var next = 0
    let player = ClosureBehavior { bytes, session, _ in
      session.write(recorded.span.bytes.extracting(next..<next + bytes.byteCount))
      next += bytes.byteCount
    }
    let report = try LoadRig(Self.plan(), seed: seed, playing: player).finish()
    #expect(report.passed == passes)
    #expect(report.errors[.different]?.first.contains("they belong to another run") ?? false == !passes)
  }

  /// A burst with EADemo's pattern proves less than a burst of unique bytes, and the verdict states this.
  @Test func aCannedPatternPassesForAnEchoOfEADemosPatternAlone() throws {
    let canned = ClosureBehavior { bytes, session, _ in
      let answer = (0..<bytes.byteCount).map { UInt8(truncatingIfNeeded: $0) }
      session.write(answer.span.bytes)
    }
    let eademo = try LoadRig(Self.plan { $0.payload = .eademo(size: Self.size) }, playing: canned).finish()
    #expect(eademo.passed)
    #expect(eademo.headline == "20 bursts of 320 bytes, EADemo's pattern came back")
    let unique = try LoadRig(Self.plan(), playing: canned).finish()
    #expect(!unique.passed)
    let text = try #require(unique.errors[.different]?.first)
    #expect(text.contains("foreign: ") && text.contains("EADemo's pattern"), "\(text)")
    #expect(text.contains("of burst 0 on"), "\(text)")
  }

  @Test func theMismatchesAreInEveryFormOfTheReport() throws {
    let report = try LoadRig(Self.plan(), playing: Self.accessory(WrongAnswer.single[0])).finish()
    #expect(report.mismatches == [.foreign: 1])
    #expect(report.json.text.contains("\"mismatches\":{\"foreign\":1}"))
    #expect(report.html.contains("1 foreign"))
    #expect(report.junit.contains("foreign: "))
    let again = try BurstReport(json: Array(report.json.text.utf8), file: "r.json")
    #expect(again.mismatches == report.mismatches)
    #expect(again.plan.pattern == "unique")
    var sum = again
    try sum.add(report)
    #expect(sum.mismatches == [.foreign: 2])
  }
}
