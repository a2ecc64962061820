import Foundation

/// Runs test functions that wait for programs, on a few threads of their own.
///
/// Tests run on as many threads as there are processors. A test that waits for a program takes one of them and does
/// nothing with it, so on two processors two programs would run at a time, most of which wait as well.
public final class WaitingThreads: TaskExecutor {
  /// For all tests of the process.
  public static let shared = WaitingThreads(count: 8)

  private let condition = NSCondition()
  // Guarded by the condition.
  nonisolated(unsafe) private var jobs: [UnownedJob] = []

  private init(count: Int) {
    for _ in 0..<count {
      let thread = Thread { [self] in while true { run(next()) } }
      thread.stackSize = 8 << 20
      thread.start()
    }
  }

  /// Runs a job on the next free thread.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    condition.withLock { jobs.append(job) }
    condition.signal()
  }

  private func next() -> UnownedJob {
    condition.lock()
    defer { condition.unlock() }
    while jobs.isEmpty { condition.wait() }
    return jobs.removeFirst()
  }

  private func run(_ job: UnownedJob) {
    job.runSynchronously(on: asUnownedTaskExecutor())
  }
}
