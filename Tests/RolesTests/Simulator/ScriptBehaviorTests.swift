import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import LinuxIO
import Testing

@Suite struct ScriptBehaviorTests {
  private let loop = VirtualLoop()

  private func open(_ script: Script) throws -> (BehaviorRig, SessionEar) {
    let rig = try BehaviorRig(.script(script), on: loop)
    return (rig, try rig.open())
  }

  private func rule(_ request: String, _ response: String, after delay: Duration = .zero) -> Script.Rule {
    .init(request: Array(request.utf8), response: Array(response.utf8), delay: delay)
  }

  @Test func aLateAnswerKeepsTheOnesBehindItWaiting() throws {
    let script = Script(
      framing: .delimiter([0x0A]),
      rules: [
        rule("SLOW", "slow ", after: .seconds(2)), rule("FAST", "fast "), rule("SOON", "soon ", after: .seconds(1)),
      ])
    let (_, recorder) = try open(script)
    recorder.send("SLOW\nFAST\nSOON\n")
    try loop.advance(by: .milliseconds(1_900))
    #expect(recorder.text == "")
    try loop.advance(by: .milliseconds(200))
    #expect(recorder.text == "slow fast soon ")
    recorder.send("SOON\n")
    try loop.advance(by: .milliseconds(900))
    #expect(recorder.text == "slow fast soon ")
    try loop.advance(by: .milliseconds(200))
    #expect(recorder.text == "slow fast soon soon ")
  }

  @Test func aRequestWithoutAnAnswerIsToldAndManyAreCounted() throws {
    let (rig, recorder) = try open(Script(framing: .delimiter([0x0A]), rules: [rule("A", "a")]))
    recorder.send("B\n")
    try loop.advance(by: .seconds(1))
    #expect(rig.said == [.note("session 1: no rule answers the 1-byte request 42")])
    for _ in 0..<20 { recorder.send("CC\n") }
    try loop.advance(by: .seconds(1))
    #expect(rig.said.count == 11)
    #expect(rig.said.last == .note("session 1: further requests without an answer are only counted"))
    recorder.session.close()
    try loop.advance(by: .seconds(1))
    #expect(rig.said.last == .note("session 1: 21 requests without an answer"))
  }

  @Test func anEndlessRequestIsAWarningAndGetsTheDefaultAnswer() throws {
    let (rig, recorder) = try open(
      Script(framing: .delimiter([0x0A]), rules: [rule("A", "a")], otherwise: Array("?".utf8)))
    recorder.send([UInt8](repeating: 0x41, count: 500_000))
    recorder.send("\nA\n")
    try loop.advance(by: .seconds(10))
    #expect(recorder.text == "?a")
    #expect(
      rig.said == [
        .warning(
          "session 1: a request reached 65536 bytes without a delimiter: everything up to the next delimiter was "
            + "dropped")
      ])
  }

  @Test func answersThatAreNotSentWhenTheSessionEndsAreTold() throws {
    let (rig, recorder) = try open(Script(framing: .any, rules: [rule("A", "a", after: .seconds(60))]))
    recorder.send("AA")
    try loop.advance(by: .seconds(1))
    recorder.session.close()
    try loop.advance(by: .seconds(1))
    #expect(rig.said == [.note("session 1: 2 answers were not sent")])
  }

  /// If a device keeps sending requests while the answers are delayed, the session stops accepting requests. The device
  /// still gets every answer on time.
  @Test func aFloodOfRequestsIsHeldBackAndAnsweredWhole() throws {
    let (_, recorder) = try open(
      Script(framing: .fixed(1), rules: [.init(request: [1], response: [2], delay: .seconds(1))]))
    recorder.send([UInt8](repeating: 1, count: 50_000))
    try loop.advance(by: .milliseconds(500))
    #expect(recorder.heard.count == 0)
    try loop.advance(by: .seconds(60))
    #expect(recorder.heard == [UInt8](repeating: 2, count: 50_000))
    #expect(recorder.end == nil)
  }

  @Test func longAnswersWaitForASleepingReaderAndArriveWhole() throws {
    let long = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    let (_, recorder) = try open(Script(framing: .fixed(1), rules: [.init(request: [1], response: long)]))
    recorder.isDeaf = true
    recorder.send([1, 1, 1, 1, 1])
    try loop.advance(by: .seconds(5))
    recorder.isDeaf = false
    try loop.advance(by: .seconds(5))
    #expect(recorder.heard.count == 1_000_000)
    #expect(recorder.heard == long + long + long + long + long)
  }
}
