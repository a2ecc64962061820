import AccessoryCore

/// Async code on the loop's own thread.
///
/// An actor pinned to a loop shares its thread with the channels there, so that either may call the other without
/// waiting: `actor.assumeIsolated {}` from a handler costs nothing.
///
/// ```swift
/// actor Journal {
///   let loop: EpollLoop
///   nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
/// }
/// Task(executorPreference: loop) { await journal.write("…") }
/// ```
///
/// Tasks should prefer the loop as their executor, too: otherwise every resumption makes a detour through the global
/// pool, which doubles the cost of a message. Jobs given to a loop that does not run wait until it does.
extension EpollLoop: SerialExecutor, TaskExecutor {
  /// Runs a job of an actor or a task in a later turn. From any thread.
  public func enqueue(_ job: consuming ExecutorJob) {
    add(.job(UnownedJob(job)))
  }

  /// The executor that an actor returns as its `unownedExecutor`.
  public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
    UnownedSerialExecutor(ordinary: self)
  }

  /// The executor that the runtime uses when a task prefers this loop.
  public func asUnownedTaskExecutor() -> UnownedTaskExecutor {
    UnownedTaskExecutor(ordinary: self)
  }

  /// Traps unless the caller is inside a turn of this loop.
  public func checkIsolated() {
    precondition(runsHere, "this belongs to an actor of an EpollLoop, and the caller is not on that loop")
  }

  /// Whether the caller is inside a turn of this loop.
  public func isIsolatingCurrentContext() -> Bool? {
    runsHere
  }
}
