import Foundation
import Testing

/// Runs each test of a suite on its own thread, but only a few of these tests at a time.
///
/// Swift's own pool has one thread for each processor. While a test is waiting for a program, a descriptor or another
/// thread, it blocks one of the pool's few threads. An async test that is already running then has to wait for a free
/// thread at each `await`.
public struct Waits: SuiteTrait, TestTrait, TestScoping {
  /// Applies the trait to each test in a suite, not to the suite as a whole.
  public let isRecursive = true
  fileprivate var isLong = false

  /// Runs the test on a separate thread.
  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    // A test's trait takes precedence over the suite's.
    if !isLong, test.traits.contains(where: { ($0 as? Waits)?.isLong == true }) { return try await function() }
    let lane = Lane(isLong: isLong)
    defer { lane.end() }
    try await withTaskExecutorPreference(lane) { try await function() }
  }
}

extension Trait where Self == Waits {
  /// The trait for suites whose tests wait for programs, descriptors, threads or real time.
  public static var waits: Self { Self() }

  /// The trait for tests that take a minute but do little. Long tests start before others, so that they do not delay
  /// the end of the whole run.
  public static var waitsLong: Self { Self(isLong: true) }
}

/// Runs a blocking call of an async test on a separate thread, so that the call does not block one of the threads in
/// Swift's pool.
public func onItsOwnThread<Result>(_ body: @escaping @Sendable () throws -> sending Result) async throws -> Result {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread { continuation.resume(with: Swift.Result { try body() }) }
  }
}

/// Runs all of one test's work in order. The lane keeps its thread from the test's first job until the test ends.
private final class Lane: TaskExecutor {
  let isLong: Bool
  private let condition = NSCondition()
  // The condition's lock guards this list of jobs.
  nonisolated(unsafe) private var jobs: [UnownedJob] = []
  nonisolated(unsafe) private var hasThread = false
  nonisolated(unsafe) private var isOver = false

  init(isLong: Bool) { self.isLong = isLong }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let needsThread = condition.withLock {
      jobs.append(job)
      defer { hasThread = true }
      return !hasThread
    }
    condition.signal()
    if needsThread { WaitingThreads.shared.add(self) }
  }

  func end() {
    condition.withLock { isOver = true }
    condition.signal()
  }

  func run() {
    while let job = next() { job.runSynchronously(on: asUnownedTaskExecutor()) }
  }

  /// Returns the next job, or nil after the test has ended. Jobs that are added after the end of the test get a new
  /// thread.
  private func next() -> UnownedJob? {
    condition.withLock {
      while jobs.isEmpty, !isOver { condition.wait() }
      hasThread = !jobs.isEmpty
      return jobs.isEmpty ? nil : jobs.removeFirst()
    }
  }
}

/// Limits the number of threads for these tests in this process. With more threads, programs that measure real time
/// would interfere with each other.
private final class WaitingThreads: Sendable {
  static let shared = WaitingThreads(count: 8)

  private let condition = NSCondition()
  // The condition's lock guards this list of lanes.
  nonisolated(unsafe) private var lanes: [Lane] = []

  private init(count: Int) {
    for _ in 0..<count {
      let thread = Thread { [self] in while true { next().run() } }
      thread.stackSize = 8 << 20
      thread.start()
    }
  }

  func add(_ lane: Lane) {
    condition.withLock { lanes.insert(lane, at: lane.isLong ? 0 : lanes.count) }
    condition.signal()
  }

  private func next() -> Lane {
    condition.withLock {
      while lanes.isEmpty { condition.wait() }
      return lanes.removeFirst()
    }
  }
}
