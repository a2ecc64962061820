import Testing

@testable import AccessoryHost

/// Tests how long a released session remains open.
@Suite struct SessionRuleTests {
  /// Plays steps: `-i` closes the input stream, `-o` the output stream, and `release` releases the session. Returns the
  /// step at which the session ended.
  func end(_ steps: String, _ rule: SessionLifetime.Rule) -> String? {
    var session = SessionLifetime(rule)
    var ends: [String] = []
    for step in steps.split(separator: " ").map(String.init) {
      let isEnd = step == "release" ? session.released() : session.closed(step == "-i" ? .input : .output)
      if isEnd { ends.append(step) }
    }
    #expect(session.isOver == !ends.isEmpty)
    #expect(ends.count <= 1, "a pipe ends once")
    return ends.first
  }

  @Test(
    arguments: [
      // Some clients keep only the streams, and others keep only the session.
      ("release -i -o", .heldOrOpen, "-o"), ("-i -o release", .heldOrOpen, "release"),
      ("-i -i -o release", .heldOrOpen, "release"), ("release", .heldOrOpen, nil), ("release", .held, "release"),
      ("release -i -o", .held, "release"), ("-i -o release", .held, "release"),
      // Even an output stream that was never opened blocks the next session until it is closed.
      ("-i release -o", .closedTwice, "-o"), ("-i -o release", .closedTwice, "release"),
      ("-i release", .closedTwice, nil),
    ] as [(String, SessionLifetime.Rule, String?)])
  func aSessionThatWasLetGoEndsAsTheRuleSays(steps: String, rule: SessionLifetime.Rule, at step: String?) {
    #expect(end(steps, rule) == step)
  }
}
