import AccessoryCore
import ExternalAccessory
import Foundation

/// The world's time as a `Clock`, for apps that accept one. `Task.sleep`, `asyncAfter` and timers on threads other than
/// the main thread run in real time.
///
/// ```swift
/// final class Reconnector {
///   init(clock: any Clock<Duration> = ContinuousClock()) { … }
///   func waitAndConnect() async throws {
///     try await clock.sleep(for: .seconds(5))
///     connect()
///   }
/// }
/// let app = Reconnector(clock: world.clock)
/// await world.advance(by: .seconds(5))
/// ```
public struct WorldClock: Clock {
  /// A point in the world's time.
  public struct Instant: InstantProtocol {
    /// The time since the world began.
    public let sinceBeginning: Duration

    /// Returns the instant that is `duration` after this one.
    public func advanced(by duration: Duration) -> Instant { Instant(sinceBeginning: sinceBeginning + duration) }
    /// Returns the duration from this instant to `other`.
    public func duration(to other: Instant) -> Duration { other.sinceBeginning - sinceBeginning }
    /// Returns true if the first instant is earlier than the second.
    public static func < (one: Instant, other: Instant) -> Bool { one.sinceBeginning < other.sinceBeginning }
  }

  private let entrance: any LoopEntrance
  private let sleepers: Sleepers

  init(_ realm: AccessoryRealm, _ sleepers: Sleepers) {
    entrance = realm.entrance
    self.sleepers = sleepers
  }

  /// The world's time.
  public var now: Instant { Instant(sinceBeginning: entrance.sync { entrance.loop.now } - .origin) }
  /// The resolution, which is zero because times are not rounded.
  public var minimumResolution: Duration { .zero }

  /// Sleeps until the world's time reaches `deadline` or the world ends. Throws an error if the task is cancelled.
  public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    try Task.checkCancellation()
    // The stream ends when the world wakes the task, and also when the task is cancelled.
    let (awakening, sleeper) = AsyncStream.makeStream(of: Void.self)
    let id = sleepers.add(sleeper, at: .origin + deadline.sinceBeginning)
    for await _ in awakening {}
    if !sleepers.hasWoken(id) { throw CancellationError() }
  }
}

final class Sleepers: @unchecked Sendable {
  private let entrance: any LoopEntrance
  // Use these properties only on the event loop.
  private var waiting: [Int: (sleeper: AsyncStream<Void>.Continuation, timer: LoopTimer)] = [:]
  private var lastID = 0
  private var isOver = false
  private let woken = Locked(Woken())

  private struct Woken {
    /// The number of woken tasks whose call to `sleep` has not returned yet.
    var resuming = 0
    /// The number of woken tasks that have not gone back to sleep yet.
    var awake = 0
  }

  init(_ entrance: any LoopEntrance) { self.entrance = entrance }

  var count: Int { entrance.sync { waiting.count } }

  /// Whether any tasks have been woken since the last wait for woken tasks.
  var haveWoken: Bool { woken.withLock { $0.awake > 0 } }

  /// Returns true if a woken task has not continued yet or may soon go back to sleep. `seconds` is how long the caller
  /// has waited.
  func areBusy(after seconds: TimeInterval) -> Bool {
    woken.withLock { $0.resuming > 0 ? seconds < 1 : $0.awake > 0 && seconds < 0.1 }
  }

  func forgetWoken() { woken.withLock { $0.awake = 0 } }

  /// Adds a sleeping task, whose stream is ended at the deadline. Returns the task's number.
  func add(_ sleeper: AsyncStream<Void>.Continuation, at deadline: Instant) -> Int {
    entrance.sync {
      lastID += 1
      guard !isOver, deadline > entrance.loop.now else {
        woken.withLock { $0.resuming += 1 }
        sleeper.finish()
        return lastID
      }
      let timer = entrance.loop.makeTimer { [weak self, id = lastID] in self?.wake(id) }
      waiting[lastID] = (sleeper, timer)
      woken.withLock { $0.awake = max(0, $0.awake - 1) }
      timer.arm(at: deadline)
      return lastID
    }
  }

  /// Called when a task has continued. Returns false if the task was cancelled before the world woke it.
  func hasWoken(_ id: Int) -> Bool {
    let isCancelled = entrance.sync { () -> Bool in
      guard let left = waiting.removeValue(forKey: id) else { return false }
      left.timer.cancel()
      return true
    }
    if !isCancelled { woken.withLock { $0.resuming -= 1 } }
    return !isCancelled
  }

  /// Call this function only on the event loop.
  private func wake(_ id: Int) {
    guard let sleeper = waiting.removeValue(forKey: id)?.sleeper else { return }
    woken.withLock { ($0.resuming, $0.awake) = ($0.resuming + 1, $0.awake + 1) }
    sleeper.finish()
  }

  func end() {
    entrance.sync {
      isOver = true
      woken.withLock { $0.resuming += waiting.count }
      for (sleeper, timer) in waiting.values {
        timer.cancel()
        sleeper.finish()
      }
      waiting = [:]
    }
  }
}
