import ExternalAccessory
import ExternalAccessorySimulation
import TestSupport
import Testing

/// Tests what a failed test reports about its world. The failing tests run in a separate process, which also runs this
/// test bundle.
@Suite(.waits) struct ReportTests {
  private func output(of test: String) throws -> String {
    let result = try TestBundle.run("DeliberateFailures/\(test)")
    #expect(result.status != 0)
    return result.output
  }

  @Test func aFailedExpectationShowsTheTimelineAndTheNextWhatIsNew() throws {
    let text = try output(of: "anExpectationFailsTwice")
    let parts = text.split(separator: "Expectation failed")
    try #require(parts.count == 3, "\(text)")
    #expect(parts[1].contains("the world's timeline:\n"))
    #expect(parts[1].contains("\"event\":\"connect\""))
    #expect(parts[1].contains("the world's transcript:\n"))
    #expect(parts[2].contains("the world's timeline, from line "))
    #expect(parts[2].contains("\"event\":\"disconnect\""))
    #expect(!parts[2].contains("\"event\":\"connect\""))
  }

  @Test func aConditionThatDoesNotHoldIsAnIssueAtTheLineOfTheCall() throws {
    let text = try output(of: "aConditionDoesNotHold")
    #expect(text.contains("ReportTests.swift:\(DeliberateFailures.lineOfExpect):"), "\(text)")
    #expect(text.contains("the echo: the condition did not hold within 2.0 seconds of the world's time"))
    #expect(text.contains("the world's timeline:\n"))
    #expect(text.contains("\"event\":\"connect\""))
  }

  @Test func aWorldWithoutATestAroundItShowsItsTimelineItself() throws {
    let text = try output(of: "aConditionDoesNotHoldInABareWorld")
    #expect(text.contains("the condition did not hold within 60.0 seconds of the world's time"))
    #expect(text.contains("the world's timeline:\n"))
  }

  @Test func anErrorThatIsThrownShowsTheTimelineTooAndWhatIsLongIsCut() throws {
    let text = try output(of: "anErrorIsThrownAfterMuchHappened")
    #expect(text.contains("Caught error: "))
    #expect(text.contains(#/the world's timeline: \([0-9]+ lines omitted\)/#))
    #expect(text.contains("\"event\":\"connect\""))
    #expect(text.contains(#/the world's transcript: \([0-9]+ lines omitted\)/#))
  }

  @Test func aWorldInsideOfAnotherIsRefusedAndNotWaitedFor() async throws {
    try await withSimulatedWorld { _ in
      let error = await #expect(throws: (any Error).self) { try await withSimulatedWorld { _ in } }
      #expect("\(error as Any)".contains("inside withSimulatedWorld"))
    }
  }
}

/// These tests fail, and only ``ReportTests`` runs them.
@Suite(.waits, .enabled(if: TestBundle.isInner))
struct DeliberateFailures {
  static let lineOfExpect = #line + 6

  @Test func aConditionDoesNotHold() async throws {
    try await withSimulatedWorld { world in
      manager.registerForLocalNotifications()
      try await world.plugIn("echo")
      await world.expect("the echo", limit: .seconds(2)) { manager.connectedAccessories.isEmpty }
    }
  }

  @Test func aConditionDoesNotHoldInABareWorld() async throws {
    let world = try SimulatedWorld()
    try await world.plugIn("echo")
    await world.expect { manager.connectedAccessories.isEmpty }
    world.end()
  }

  @Test func anExpectationFailsTwice() async throws {
    try await withSimulatedWorld(.with { $0.keepsTranscript = true }) { world in
      manager.registerForLocalNotifications()
      let echo = try await world.plugIn("echo")
      #expect(manager.connectedAccessories.isEmpty)
      await world.unplug(echo)
      #expect(!manager.connectedAccessories.isEmpty)
    }
  }

  @Test func anErrorIsThrownAfterMuchHappened() async throws {
    try await withSimulatedWorld(.with { $0.keepsTranscript = true }) { world in
      let echo = try world.add("echo")
      for _ in 0..<100 {
        await world.plugIn(echo)
        await world.unplug(echo)
      }
      throw CancellationError()
    }
  }
}
