import Foundation

/// Makes a world, runs a test in it, and ends it. One after the other: tests that run side by side share one
/// `EAAccessoryManager`, so each waits for its turn.
///
/// When `body` throws, the world's timeline goes to the standard error stream.
public func withSimulatedWorld<Value>(
  _ settings: SimulatedWorld.Settings = SimulatedWorld.Settings(), isolation: isolated (any Actor)? = #isolation,
  _ body: (SimulatedWorld) async throws -> Value
) async throws -> Value {
  await Turns.shared.take()
  let result: Result<Value, any Error>
  do {
    let world = try SimulatedWorld(settings)
    do { result = .success(try await body(world)) } catch {
      FileHandle.standardError.write(Data("the world's timeline:\n\(world.report)\n".utf8))
      result = .failure(error)
    }
    world.end()
    await world.settle()
  } catch {
    result = .failure(error)
  }
  await Turns.shared.give()
  return try result.get()
}

/// Whose turn it is, in the order in which it was asked for.
private actor Turns {
  static let shared = Turns()
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
