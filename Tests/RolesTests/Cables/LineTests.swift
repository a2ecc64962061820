import AccessoryCables
import AccessoryCore
import LinuxIO
import Testing

@Suite struct LineTests {
  static let address = Address.unix(path: "/a")
  static let nobody = TransportError.nobodyThere(address, "x")
  static let noLink = TransportError.noLink(address, "it hung up")
  let pauses = RedialPauses(shortest: .milliseconds(20), longest: .milliseconds(100))

  func after(_ milliseconds: Int) -> Instant { .origin + .milliseconds(milliseconds) }

  @Test func anAttemptThatReachesNobodyIsRepeatedAfterTheShortestPause() {
    let line = LineUnderTest(pauses)
    #expect(line.dial())
    for attempt in 0..<5 {
      #expect(line.failed(Self.nobody, now: after(20 * attempt)) == (attempt == 0), "news once")
      #expect(line.state == .waiting(until: after(20 * attempt + 20)))
      #expect(!line.handleTimeout(now: after(20 * attempt + 19)))
      #expect(line.handleTimeout(now: after(20 * attempt + 20)))
    }
    line.connected()
    #expect(line.state == .connected && line.trouble == nil && line.deadline == nil)
  }

  @Test func cablesWithoutALinkArePausedForLongerAndLonger() {
    let line = LineUnderTest(pauses)
    line.dial()
    var lengths: [Int] = []
    for _ in 0..<4 {
      line.connected()
      line.ended(Self.noLink, now: .origin)
      guard case .lost(let until) = line.state else {
        Issue.record("\(line.state)")
        return
      }
      lengths.append(Int((until - .origin).inSeconds * 1_000))
      #expect(line.trouble == Self.noLink)
      #expect(line.handleTimeout(now: until))
    }
    #expect(lengths == [40, 80, 100, 100])
  }

  @Test func aLinkThatWasUpMakesThePauseShortAgain() {
    let line = LineUnderTest(pauses)
    line.dial()
    line.connected()
    line.ended(Self.noLink, now: .origin)
    line.dial()
    line.connected()
    line.ended(nil, now: .origin)
    #expect(line.state == .lost(until: after(20)) && line.trouble == nil)
  }

  @Test func aReasonThatDoesNotPassEndsTheAttemptsUntilTheAccessoryChanges() {
    let reason = TransportError.unusable(Self.address, "x")
    let line = LineUnderTest(pauses)
    line.dial()
    #expect(line.failed(reason, now: .origin))
    #expect(line.state == .givenUp && line.trouble == reason && line.deadline == nil)
    #expect(!line.handleTimeout(now: after(1_000_000)))
    #expect(line.dial(), "it changed")
    #expect(line.state == .dialling)
  }

  @Test func thereIsOneAttemptAtATime() {
    let line = LineUnderTest(pauses)
    #expect(line.dial())
    #expect(!line.dial())
    line.connected()
    #expect(!line.dial())
  }

  /// Late events from an attempt or a cable that no longer exists have no effect.
  @Test func eventsOutOfTurnAreIgnored() {
    let line = LineUnderTest(pauses)
    line.connected()
    line.ended(nil, now: .origin)
    #expect(line.state == .idle)
    #expect(!line.handleTimeout(now: after(1)))
  }
}

private final class LineUnderTest {
  private var line: Line

  init(_ pauses: RedialPauses) {
    line = Line(pauses: pauses)
  }

  var state: Line.State { line.state }
  var trouble: TransportError? { line.trouble }
  var deadline: Instant? { line.deadline }
  @discardableResult func dial() -> Bool { line.dial() }
  func handleTimeout(now: Instant) -> Bool { line.handleTimeout(now: now) }
  func connected() { line.connected() }
  @discardableResult func failed(_ reason: TransportError, now: Instant) -> Bool { line.failed(reason, now: now) }
  func ended(_ reason: TransportError?, now: Instant) { line.ended(reason, now: now) }
}
