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
    let sleeper = Sleepers.Sleeper()
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        sleeper.begin(continuation)
        sleepers.add(sleeper, at: .origin + deadline.sinceBeginning)
      }
      sleepers.hasReturned()
    } onCancel: {
      sleepers.remove(sleeper)
      sleeper.finish(.failure(CancellationError()))
    }
  }
}

final class Sleepers: @unchecked Sendable {
  /// One sleeping task, which is resumed once: at its deadline, when it is cancelled, or when the world ends.
  final class Sleeper: @unchecked Sendable {
    private enum State {
      case new
      case asleep(CheckedContinuation<Void, any Error>)
      case over(Result<Void, any Error>)
    }
    private let state = Locked(State.new)

    func begin(_ continuation: CheckedContinuation<Void, any Error>) {
      let early = state.withLock { state -> Result<Void, any Error>? in
        if case .over(let result) = state { return result }
        state = .asleep(continuation)
        return nil
      }
      if let early { continuation.resume(with: early) }
    }

    func finish(_ result: Result<Void, any Error>) {
      let asleep = state.withLock { state -> CheckedContinuation<Void, any Error>? in
        let before = state
        if case .over = before { return nil }
        state = .over(result)
        if case .asleep(let continuation) = before { return continuation }
        return nil
      }
      asleep?.resume(with: result)
    }
  }

  private let entrance: any LoopEntrance
  // Use this property only on the event loop.
  private var waiting: [ObjectIdentifier: (Sleeper, LoopTimer)] = [:]
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

  func hasReturned() { woken.withLock { $0.resuming -= 1 } }

  func add(_ sleeper: Sleeper, at deadline: Instant) {
    let isLate = entrance.sync { () -> Bool in
      guard !isOver, deadline > entrance.loop.now else { return true }
      let timer = entrance.loop.makeTimer { [weak self] in self?.wake(sleeper) }
      waiting[ObjectIdentifier(sleeper)] = (sleeper, timer)
      woken.withLock { $0.awake = max(0, $0.awake - 1) }
      timer.arm(at: deadline)
      return false
    }
    if isLate {
      woken.withLock { $0.resuming += 1 }
      sleeper.finish(.success(()))
    }
  }

  func remove(_ sleeper: Sleeper) {
    entrance.sync { waiting.removeValue(forKey: ObjectIdentifier(sleeper))?.1.cancel() }
  }

  /// Call this function only on the event loop.
  private func wake(_ sleeper: Sleeper) {
    waiting[ObjectIdentifier(sleeper)] = nil
    woken.withLock { ($0.resuming, $0.awake) = ($0.resuming + 1, $0.awake + 1) }
    sleeper.finish(.success(()))
  }

  /// Wakes all tasks, because the world is ending.
  func end() {
    let left = entrance.sync { () -> [Sleeper] in
      isOver = true
      defer { waiting = [:] }
      return waiting.values.map { sleeper, timer in
        timer.cancel()
        return sleeper
      }
    }
    woken.withLock { $0.resuming += left.count }
    for sleeper in left { sleeper.finish(.success(())) }
  }
}
