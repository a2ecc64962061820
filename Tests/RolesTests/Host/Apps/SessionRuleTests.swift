import Testing

@testable import AccessoryHost

@Suite struct SessionRuleTests {
  @Test func aSecondSessionClosesTheFirstAsDocumented() {
    expect(
      """
      > publish 7 com.a
      connect 7 com.a
      > open 7 com.a
      session 1
      > open 7 com.a
      session 1 closes
      session 2
      """, from: AppTranscript())
  }

  @Test func aSecondSessionIsNilWhileTheFirstIsOpenAsTheFieldReports() {
    expect(
      """
      > publish 7 com.a
      connect 7 com.a
      > open 7 com.a
      session 1
      > open 7 com.a
      nil: already open
      > end 7 com.a
      > open 7 com.a
      session 2
      """, from: AppTranscript { $0.rules.secondSession = .refused })
  }

  @Test(arguments: [AppRules.SecondSession.closesFirst, .refused])
  func otherProtocolsAndOtherAccessoriesAreIndependent(rule: AppRules.SecondSession) {
    expect(
      """
      > publish 7 com.a com.b
      connect 7 com.a com.b
      > publish 100 com.a
      connect 100 com.a
      > open 7 com.a
      session 1
      > open 7 com.b
      session 2
      > open 100 com.a
      session 3
      """, from: AppTranscript { $0.rules.secondSession = rule })
  }

  @Test func thereIsNoSessionWithoutTheProtocolOrTheAccessory() {
    expect(
      """
      > publish 7
      connect 7
      > open 7 com.a
      nil: not offered
      > withdraw 7
      disconnect 7
      delegate 7
      > open 7 com.a
      nil: not connected
      > publish 8 com.a
      connect 8 com.a
      > open 8 com.b
      nil: not offered
      > withdraw 8
      disconnect 8 com.a
      delegate 8
      > open 8 com.a
      nil: not connected
      """, from: AppTranscript())
  }

  @Test func anotherAppsSessionMattersAsTheRuleSays() {
    let published = "> publish 7 com.a\nconnect 7 com.a\n> open 7 com.a elsewhere\n"
    expect(published + "session 1", from: AppTranscript())
    expect(published + "session 1", from: AppTranscript { $0.rules.otherApps = .interrupted })
    expect(published + "nil: open in another app", from: AppTranscript { $0.rules.otherApps = .refused })
  }

  @Test func whatSettlesSlowlyIsNilAtFirstAndFineLater() {
    expect(
      """
      > publish 7 com.a
      connect 7 com.a
      > wait 2
      > open 7 com.a
      nil: not settled for 3s
      > wait 3
      > open 7 com.a
      session 1
      """, from: AppTranscript { $0.rules.settlingTime = .seconds(5) })
  }

  // MARK: How long a released session remains open

  /// Plays steps: `+i` opens the input stream, `-i` closes it, and `release` releases the session. Returns the step at
  /// which the session ended.
  func end(_ steps: String, _ rule: SessionLifetime.Rule) -> String? {
    var session = SessionLifetime(rule)
    var ends: [String] = []
    for step in steps.split(separator: " ").map(String.init) {
      let stream: SessionLifetime.Stream = step.hasSuffix("i") ? .input : .output
      var isEnd = false
      switch step.first {
      case "-": isEnd = session.closed(stream)
      default: isEnd = session.released()
      }
      if isEnd { ends.append(step) }
    }
    #expect(session.isOver == !ends.isEmpty)
    #expect(ends.count <= 1, "a pipe ends once")
    return ends.first
  }

  @Test(arguments: [
    // Some clients keep only the streams, and others keep only the session.
    ("release -i -o", SessionLifetime.Rule.heldOrOpen, "-o"), ("-i -o release", .heldOrOpen, "release"),
    ("-i -i -o release", .heldOrOpen, "release"), ("release", .held, "release"), ("release -i -o", .held, "release"),
    ("-i -o release", .held, "release"),
    // Even an output stream that was never opened blocks the next session until it is closed.
    ("-i release -o", .closedTwice, "-o"), ("-i -o release", .closedTwice, "release"),
  ])
  func aSessionThatWasLetGoEndsAsTheRuleSays(steps: String, rule: SessionLifetime.Rule, at step: String) {
    #expect(end(steps, rule) == step)
  }

  @Test func aStreamThatWasNeverClosedKeepsASessionWhereSystemsDoSo() {
    #expect(end("-i release", .closedTwice) == nil)
    #expect(end("release", .heldOrOpen) == nil)
  }
}
