import TestSupport
import Testing

/// For suites whose tests wait for programs: several of them run at a time, also on few processors.
struct WaitsForPrograms: SuiteTrait, TestTrait, TestScoping {
  let isRecursive = true

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await withTaskExecutorPreference(WaitingThreads.shared) { try await function() }
  }
}

extension Trait where Self == WaitsForPrograms {
  static var waitsForPrograms: Self { Self() }
}
