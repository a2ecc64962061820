import Foundation
import Testing

/// Makes a world, runs a test in it, and ends it. One after the other: tests that run side by side share one
/// `EAAccessoryManager`, so each waits for its turn.
///
/// Under Swift Testing the world's timeline stands with each failed expectation of `body`, as far as it is new; see
/// ``SimulatedWorld/report``. When `body` throws, it goes to the standard error stream.
public func withSimulatedWorld<Value>(
  _ settings: SimulatedWorld.Settings = SimulatedWorld.Settings(), isolation: isolated (any Actor)? = #isolation,
  _ body: @escaping (SimulatedWorld) async throws -> Value
) async throws -> Value {
  if Turns.isInside { throw NestedWorldError() }
  await Turns.shared.take()
  let result: Result<Value, any Error>
  do {
    let world = try SimulatedWorld(settings)
    let watched = WatchedBody(world, body)
    await Turns.$isInside.withValue(true) { await watched.run() }
    result = watched.result
    if case .failure = result { FileHandle.standardError.write(Data((world.reportOfWhatIsNew + "\n").utf8)) }
    world.end()
    await world.settle()
  } catch {
    result = .failure(error)
  }
  await Turns.shared.give()
  return try result.get()
}

/// A world was asked for in the body of another: each waits for its turn, so this one would wait for itself.
struct NestedWorldError: Error, CustomStringConvertible {
  let description =
    "withSimulatedWorld inside of withSimulatedWorld: use the world that is there, or end it and make another after it"
}

/// The body of a test, run where the test library's failures are seen and can be added to.
///
/// It is run by the task that made this, on whatever actor it was written for; that the compiler cannot see through the
/// test library's closure.
private final class WatchedBody<Value>: @unchecked Sendable {
  private let world: SimulatedWorld
  private let body: (SimulatedWorld) async throws -> Value
  private var outcome: Result<Value, any Error>?

  init(_ world: SimulatedWorld, _ body: @escaping (SimulatedWorld) async throws -> Value) {
    self.world = world
    self.body = body
  }

  var result: Result<Value, any Error> {
    guard let outcome else { preconditionFailure("the test library did not run the body of a test") }
    return outcome
  }

  func run() async {
    guard let test = Test.current else { return await runBody() }
    let addsReport = IssueHandlingTrait.compactMapIssues { [world] issue in
      var issue = issue
      issue.comments.append(Comment(rawValue: world.reportOfWhatIsNew))
      return issue
    }
    do { try await addsReport.provideScope(for: test, testCase: .current) { await self.runBody() } } catch {
      outcome = outcome ?? .failure(error)
    }
  }

  private func runBody() async {
    do { outcome = .success(try await body(world)) } catch { outcome = .failure(error) }
  }
}

/// Whose turn it is, in the order in which it was asked for.
private actor Turns {
  static let shared = Turns()
  /// Whether the current task is the body of one.
  @TaskLocal static var isInside = false
  private var isTaken = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  func take() async {
    guard isTaken else {
      isTaken = true
      return
    }
    await withCheckedContinuation { waiting.append($0) }
  }

  func give() {
    if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() }
  }
}
