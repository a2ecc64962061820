import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySimulator
import AccessoryWorlds
import LinuxIO
import TestSupport
import Testing

@testable import AccessoryLoad

@Suite struct WorkloadTests {
  static func plan(_ text: String) throws -> BurstPlan {
    try BurstPlanFile(Array(text.utf8), file: "p.json5").laid(over: BurstPlan())
  }

  static func shop() -> ClosureBehavior {
    ClosureBehavior { bytes, session, _ in
      let request = bytes.withUnsafeBytes { [UInt8]($0) }
      let answers = ["STATUS?\n": "OK 17\n", "READ\n": "R\u{1}\u{2}", "SLOW\n": "fine"]
      let text = String(decoding: request, as: UTF8.self)
      let answer = answers[text].map { Array($0.utf8) } ?? request
      session.write(answer.span.bytes)
    }
  }

  // MARK: Sizes

  @Test(arguments: [1, 4]) func burstsOfDifferentSizesAreVerifiedByteForByte(inFlight: Int) throws {
    let plan = try Self.plan("{ count: 300, size: 'uniform,from=1,to=3000', sessions: 2, inFlight: \(inFlight) }")
    let report = try LoadRig(plan).finish()
    #expect(report.passed, "\(report.text)")
    #expect(report.completed == 300)
    #expect(report.sizes.total == 300)
    let (least, most) = try (#require(report.sizes.minimum), #require(report.sizes.maximum))
    #expect(least < 100 && most > 2_900 && most <= 3_000)
    #expect(abs(report.sizes.mean * 300 - Double(report.bytes)) < Double(report.bytes) * 0.001)
    #expect(report.headline.hasPrefix("300 bursts of uniform,from=1,to=3000 bytes, echo verified byte for byte"))
    #expect(try BurstReportTests.read(report.json.text).sizes == report.sizes)
    #expect(try LoadRig(plan).finish().sizes == report.sizes)
    #expect(try LoadRig(plan, seed: 8).finish().sizes != report.sizes)
  }

  @Test func aPlainPlanReportsItsOneSize() throws {
    let report = try LoadRig(try Self.plan("{ count: 5, size: 70 }")).finish()
    #expect(report.sizes.steps == [.init(lowest: 70, highest: 70, count: 5)])
    #expect(report.csv.contains("size,,70,5,bursts\r\n"))
    #expect(report.html.contains("70 bytes"))
    #expect(report.metrics(isOpen: true).contains("easim_burst_size_bytes_bucket{le=\"256.0\"} 5\n"))
  }

  /// A wrong answer is classified as it would be if all bursts had the same size, and is reported at the correct
  /// position in the correct burst.
  @Test(arguments: WrongAnswer.single + WrongAnswer.later) func wrongAnswersAreCalledWhatTheyAre(
    wrong: WrongAnswer
  ) throws {
    var plan = WrongAnswerTests.plan()
    var request = BurstRequest()
    request.sizes = .fixed(WrongAnswerTests.size)
    plan.requests = [request]
    let report = try LoadRig(plan, playing: WrongAnswerTests.accessory(wrong)).finish()
    let even = try LoadRig(WrongAnswerTests.plan(), playing: WrongAnswerTests.accessory(wrong)).finish()
    #expect(report.errors == even.errors, "\(wrong)")
    #expect(report.mismatches == even.mismatches)
  }

  @Test func aWrongByteIsNamedByItsBurstAndPlace() throws {
    var seen = 0
    let wrong = ClosureBehavior { bytes, session, _ in
      var answer = bytes.withUnsafeBytes { [UInt8]($0) }
      seen += 1
      if seen == 3 { answer[5] ^= 1 }
      session.write(answer.span.bytes)
    }
    let plan = try Self.plan("{ count: 9, size: { kind: 'list', values: [{ value: 40 }, { value: 90 }] } }")
    let report = try LoadRig(plan, playing: wrong).finish()
    #expect(
      report.errors[.different]?.first.hasPrefix("this machine: corrupted: 1 byte from byte 5 of burst 2 on") == true,
      "\(report.errors)")
  }

  @Test func deliveriesOfDifferentSizesAreCountedByTheirAcknowledgement() throws {
    var plan = try Self.plan("{ count: 50, size: 'uniform,from=1,to=5000', inFlight: 3 }")
    plan.verification = .nothing
    let report = try LoadRig(plan, behavior: "sink").finish()
    #expect(report.passed && report.completed == 50, "\(report.text)")
    #expect(abs(report.sizes.mean * 50 - Double(report.bytes)) < Double(report.bytes) * 0.001)
  }

  // MARK: Mixes

  static let mix = """
    { count: 400, payloads: [
      { name: 'status', weight: 3, send: 'STATUS?\\n', expect: 'prefix:OK', read: 'until:\\n' },
      { name: 'data', weight: 1, size: 'uniform,from=100,to=900' },
      { name: 'read', weight: 1, send: { hex: '52 45 41 44 0a' }, expect: 'hex:520102' },
    ] }
    """

  @Test func aMixFollowsItsWeightsAndIsReportedByPayload() throws {
    let report = try LoadRig(try Self.plan(Self.mix), playing: Self.shop()).finish()
    #expect(report.passed, "\(report.text)")
    #expect(report.payloads.map(\.name) == ["status", "data", "read"])
    #expect(report.payloads.reduce(0) { $0 + $1.completed } == 400)
    #expect((200...280).contains(report.payloads[0].completed))
    #expect(report.payloads.reduce(0) { $0 + $1.bytes } == report.bytes)
    #expect(report.payloads.reduce(0) { $0 + $1.latency.total } == report.latency.total)
    #expect(report.payloads[0].bytes == report.payloads[0].completed * 8)
    #expect(report.headline.hasPrefix("400 bursts of 3 kinds, each reply verified"))
    let read = try BurstReportTests.read(report.json.text)
    #expect(read.plan == report.plan && read.payloads == report.payloads && read.sizes == report.sizes)
    var sum = report
    try sum.add(report)
    #expect(sum.payloads.map(\.completed) == report.payloads.map { $0.completed * 2 })
    #expect(sum.sizes.total == 800)
    try sum.add(VerdictTests.report())
    #expect(sum.payloads == [])
  }

  /// Unique bytes are compared at the correct position in their stream even if there are other payloads in between.
  @Test func uniqueBytesStayInStepBesideOtherPayloads() throws {
    let plan = try Self.plan(
      """
      { count: 200, payloads: [{ size: 100 }, { size: 33, expect: 'none' }, { send: 'STATUS?\\n', expect: 'text:OK 17\\n' },
        { size: 7, read: 7 }] }
      """)
    var queue = [UInt8]()
    let quiet = ClosureBehavior { bytes, session, _ in
      queue = bytes.withUnsafeBytes { [UInt8]($0) }
      if queue.count == 33 { return }
      if queue.count == 8 { queue = Array("OK 17\n".utf8) }
      session.write(queue.span.bytes)
    }
    let report = try LoadRig(plan, playing: quiet).finish()
    #expect(report.passed, "\(report.text)")
    #expect(report.payloads.allSatisfy { $0.completed > 20 })
  }

  @Test(arguments: [
    ("prefix:KO", "the reply of 6 bytes is 'OK 17", "expected a reply that begins with 'KO'"),
    ("text:OK 18\\n", "expected 6 bytes: 'OK 18", "they differ from byte 4 on"),
    ("regex:OK [a-z]+", "expected a match of OK [a-z]+", ""),
  ]) func aWrongReplyFailsTheRunInWords(expected: String, first: String, second: String) throws {
    let plan = try Self.plan("{ count: 4, script: [{ name: 'ask', send: 'STATUS?\\n', expect: '\(expected)' }] }")
    var changed = plan
    changed.timeout = .seconds(2)
    let report = try LoadRig(changed, playing: Self.shop()).finish()
    #expect(!report.passed)
    let error = (report.errors[.different] ?? report.errors[.timedOut])?.first ?? ""
    // Bytes that have not arrived yet could still complete the match.
    if expected.hasPrefix("regex") { return #expect(error.contains("6 bytes came back, then nothing"), "\(error)") }
    #expect(error.hasPrefix("this machine: burst 0 (ask): "), "\(error)")
    #expect(error.contains(first) && error.contains(second), "\(error)")
  }

  // MARK: Scripts

  @Test func aScriptIsSentInItsOrderAndBeginsAgainWithItsSession() throws {
    var asked: [String] = []
    let record = ClosureBehavior { bytes, session, _ in
      asked.append(bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
      session.write(bytes)
      if asked.count == 5 { session.close("enough") }
    }
    let plan = try Self.plan("{ count: 9, reconnect: true, script: [{ send: 'a' }, { send: 'b' }, { send: 'c' }] }")
    let report = try LoadRig(plan, playing: record).finish()
    #expect(report.completed + report.lost == 9, "\(report.text)")
    #expect(asked.prefix(5) == ["a", "b", "c", "a", "b"])
    #expect(asked.dropFirst(5).prefix(3) == ["a", "b", "c"])
    #expect(report.payloads.map(\.name) == ["1", "2", "3"])
  }

  /// A reply that is complete only after a pause is measured up to its last byte.
  @Test func theSilenceAfterAReplyIsNotPartOfItsLatency() throws {
    let plan = try Self.plan("{ count: 3, script: [{ send: 'SLOW\\n', expect: 'prefix:fi' }] }")
    let report = try LoadRig(plan, playing: Self.shop()).finish()
    #expect(report.passed, "\(report.text)")
    #expect(try #require(report.latency.maximum) < 50_000_000)
    #expect(report.measured > .milliseconds(600))
  }

  @Test func moreThanTheReplyIsAnError() throws {
    let plan = try Self.plan("{ count: 3, script: [{ send: 'STATUS?\\n', expect: 'prefix:OK', read: 2 }] }")
    let report = try LoadRig(plan, playing: Self.shop()).finish()
    #expect(
      report.errors[.unexpected]?.first == "this machine: 4 bytes arrived without being requested by a burst",
      "\(report.errors)")
  }

  // MARK: Think times

  @Test func aSessionThinksAfterEachBurstAndTheRunEndsWithTheLastOne() throws {
    let plan = try Self.plan("{ count: 10, size: 10, think: '100ms' }")
    let report = try LoadRig(plan).finish()
    #expect(report.completed == 10)
    #expect((.milliseconds(900) ... .milliseconds(980)).contains(report.measured), "\(report.measured)")
  }

  @Test func aRequestHasAThinkTimeOfItsOwnAndATimeEndsIt() throws {
    let plan = try Self.plan(
      "{ for: '1s', think: '1ms', script: [{ send: 'a' }, { send: 'b', think: '10h' }] }".replacing("10h", with: "1h"))
    let report = try LoadRig(plan).finish()
    #expect(report.completed == 2)
    #expect(report.measured == .seconds(1), "\(report.measured)")
  }

  @Test func sessionsThatThinkLeaveBurstsOfARateToOthers() throws {
    let text = "sessions: 4, think: '300ms', size: 50, phases: [{ for: '5s', rate: 10 }]"
    let report = try LoadRig(try Self.plan("{ \(text) }")).finish()
    #expect(report.passed, "\(report.text)")
    #expect(report.completed == 50)
    let few = try LoadRig(try Self.plan("{ \(text.replacing("sessions: 4", with: "sessions: 2")) }")).finish()
    #expect(!few.passed)
    #expect(few.overdue > 10)
  }

  // MARK: Accessories

  @Test func accessoriesHaveRatesOfTheirOwn() throws {
    let plan = try Self.plan("{ size: 50, accessories: { one: 3, '*': 0.5 }, phases: [{ for: '10s', rate: 20 }] }")
    let fleet = try LoadFleet(plan, ["one", "two"])
    let report = try fleet.finish()
    #expect(report.passed, "\(report.text)")
    #expect(report.sites.map(\.completed) == [600, 100])
    #expect(fleet.warnings.isEmpty)
    #expect(report.planText.contains("rates of accessories: one × 3, * × 0.5"))
    let shared = try Self.plan("{ size: 50, phases: [{ for: '10s', rate: 20 }] }")
    #expect(try LoadFleet(shared, ["one", "two"]).finish().completed == 200)
  }

  @Test func aNameThatIsNoneOfTheAccessoriesIsReported() throws {
    let plan = try Self.plan("{ size: 50, accessories: { wan: 3 }, phases: [{ for: '1s', rate: 20 }] }")
    let fleet = try LoadFleet(plan, ["one", "two"])
    let report = try fleet.finish()
    #expect(fleet.warnings == ["the plan has a rate for 'wan', which is not one of the accessories"])
    #expect(report.completed == 40)
  }

  // MARK: Comparing

  @Test func aBaselineWithAnotherPlanIsRefusedWithWhatDiffers() throws {
    func report(_ text: String) throws -> BurstReport { BurstReport(try Self.plan(text)) }
    func obstacle(_ one: String, _ other: String) throws -> String {
      try report(one).differences(from: report(other)).joined(separator: "; ")
    }
    let even = "{ count: 1, size: 500 }"
    #expect(
      try obstacle("{ count: 1, size: 'uniform,from=1,to=9' }", even).hasSuffix(
        "bursts of uniform,from=1,to=9 bytes, not 500 bytes"))
    #expect(
      try obstacle("{ count: 1, size: 'uniform,from=1,to=9' }", "{ count: 1, size: 'uniform,from=1,to=8' }")
        .hasSuffix("bursts of uniform,from=1,to=9, not uniform,from=1,to=8"))
    #expect(
      try obstacle("{ size: 5, sessions: 3, phases: [{ for: '1s', rate: 40 }] }", even)
        == "size 5, not 500; sessions 3, not 1; pace 40 bursts/s for 1s, not closed loop")
    #expect(try obstacle("{ count: 1, size: 500, think: '1s' }", even).hasSuffix("think time 1s, not none"))
    #expect(try obstacle(Self.mix, Self.mix.replacing("weight: 3", with: "weight: 4")).contains("payload 1 status: "))
    #expect(try obstacle(Self.mix, Self.mix) == "")
    // Two scripts count as different even if they differ only in a part of a long payload that messages do not show.
    let long = "{ count: 1, script: [{ send: '\(String(repeating: "a", count: 90))' }] }"
    #expect(try obstacle(long, long.replacing("aa'", with: "ab'")).contains("(90 bytes, sum "))
    #expect(try obstacle(long, long) == "")
    #expect(
      try obstacle("{ count: 1, script: [{ send: 'a' }] }", "{ count: 1, payloads: [{ send: 'a' }] }").contains(
        "bursts of a script of 1 request, not 1 kind"))
    let rates = "{ size: 5, phases: [{ for: '1s', rate: 5 }]"
    #expect(
      try obstacle("\(rates), accessories: { a: 2 } }", "\(rates) }").hasSuffix("rates by accessory a × 2, not none"))
  }

  @Test(arguments: [
    ("{ count: 1, for: '1s' }", "only one of 'phases', 'for' and 'count'"),
    ("{ count: 1, size: 5, script: [{ send: 'a' }] }", "only one of 'size', 'payloads' and 'script'"),
    ("{ count: 1, script: [{ send: 'a' }], inFlight: 2 }", "can be distinguished"),
    ("{ count: 1, think: '1s', inFlight: 2 }", "one burst at a time"),
    ("{ count: 1, script: [{ send: 'a', size: 5 }] }", "but not both"),
    ("{ count: 1, script: [{ send: '' }] }", "script[0].send"),
    ("{ count: 1, script: [{ send: 'a', weight: 2 }] }", "weight"),
    (
      "{ count: 1, script: [{ send: 'a', expect: 'regex:(' }] }",
      "the regex is invalid at character 1: this ( has no matching )"
    ),
    ("{ count: 1, script: [{ send: 'a', expect: 'file:x' }] }", "a plan has no file"),
    ("{ count: 1, script: [{ send: 'a', expect: 'echo', read: 5 }] }", "omit this"),
    ("{ count: 1, failIf: ['p99<5ms'] }", "did you mean 'p99>5ms'?"), ("{ phases: [] }", "phases"),
    ("{ phases: [{ for: '1s', rate: 0 }] }", "no burst is due"),
  ]) func mistakesAreNamedWithTheirPlace(text: String, complaint: String) {
    do {
      _ = try Self.plan(text)
      Issue.record("read")
    } catch {
      #expect("\(error)".contains(complaint), "\(error)")
      #expect("\(error)".contains("p.json5:1:"), "\(error)")
    }
  }
}
