import AccessoryCore
import AccessoryFormats
import Glibc
import Synchronization

/// The event loop in virtual time. The loop has no thread and no descriptors, and jumps from deadline to deadline.
///
/// Nothing happens until one of the loop's run methods is called. Work then runs in the order in which it was
/// scheduled, so two runs with the same seed are byte-for-byte identical. A virtual day with little work takes about a
/// second.
///
/// ```swift
/// let loop = VirtualLoop(seed: 7)
/// loop.schedule(after: .seconds(3600)) { print("an hour later") }
/// try loop.runUntilQuiet()
/// ```
///
/// A turn runs the work passed to ``execute(_:)``, and then the timers that are due; if there is neither, the loop
/// first jumps to the next deadline. Only one thread at a time may use the loop, except that any thread may call
/// ``execute(_:)``.
public final class VirtualLoop: EventLoop, @unchecked Sendable {
  /// An error thrown when work keeps scheduling more work at the same instant, so that a test fails instead of hanging.
  public struct Livelock: Error, Equatable, CustomStringConvertible {
    /// The instant at which the livelock occurred.
    public let instant: Instant
    /// The number of turns that ran at that instant.
    public let turns: Int

    /// Creates an error for a livelock at an instant.
    public init(instant: Instant, turns: Int) {
      self.instant = instant
      self.turns = turns
    }

    /// A line that describes the livelock.
    public var description: String {
      "virtual time stands still: \(turns) turns at \(instant.seconds) s, and work for the same instant remains"
    }
  }

  // Overlapping access is not checked, because this code runs for every packet. The state belongs to the thread that is
  // running a step, and no other code is called while the state is written.

  /// The virtual time, which starts at 0.
  @exclusivity(unchecked) public private(set) var now = Instant.origin
  /// The loop's random number generator.
  public var random: SeededRandom
  /// The memory for bytes in transit.
  public let spares = SpareBuffers()

  private let timers = TimerQueue()
  private let inbox = Inbox()
  private let turnsPerInstant: Int
  @exclusivity(unchecked) private var turnsNow = 0
  private let runner = Atomic<UInt>(0)

  /// Creates a loop at time 0.
  ///
  /// - Parameters:
  ///   - seed: the seed of ``random``.
  ///   - turnsPerInstant: how many turns at one instant count as a ``Livelock``.
  public init(seed: UInt64 = 1, turnsPerInstant: Int = 100_000) {
    random = SeededRandom(seed: seed)
    self.turnsPerInstant = turnsPerInstant
  }

  deinit { timers.cancelAll() }

  // MARK: - EventLoop

  /// True if the caller is running on this loop, or if the loop is not running.
  public var isCurrent: Bool {
    let runner = runner.load(ordering: .acquiring)
    return runner == 0 || runner == pthread_self()
  }

  /// Creates a timer on this loop.
  public func makeTimer(_ work: @escaping () -> Void) -> LoopTimer {
    timers.makeTimer(work)
  }

  /// Runs `work` in the next turn. Any thread may call this method.
  public func execute(_ work: @escaping @Sendable () -> Void) {
    _ = inbox.add(work)
  }

  // MARK: - Advancing time

  /// The time at which the next work is due, or nil if nothing is scheduled.
  public var nextDeadline: Instant? {
    inbox.isEmpty ? timers.earliest.map { max($0, now) } : now
  }

  /// Runs one turn, first jumping to the next deadline if nothing is due yet.
  ///
  /// - Returns: false if there was nothing to do.
  @discardableResult
  public func step() throws(Livelock) -> Bool {
    guard let next = nextDeadline else { return false }
    try turn(at: next)
    return true
  }

  private func turn(at next: Instant) throws(Livelock) {
    let (begun, _) = runner.compareExchange(expected: 0, desired: pthread_self(), ordering: .acquiringAndReleasing)
    precondition(begun, "the VirtualLoop is already running, in another thread or in one of its own turns")
    defer { runner.store(0, ordering: .releasing) }
    try move(to: next)
    inbox.takeAll { $0() }
    let mark = timers.mark
    while let timer = timers.popDue(at: now, armedBefore: mark) { timer.fire() }
  }

  /// Runs until `condition` is true. The condition is checked before the first turn and after each turn.
  ///
  /// - Parameter limit: the maximum virtual time that may pass; unlimited by default.
  /// - Returns: false if nothing was left to do or the limit was reached first; if the limit was reached, the virtual
  ///   time is at the limit.
  @discardableResult
  public func run(until condition: () -> Bool, limit: Duration? = nil) throws(Livelock) -> Bool {
    let end = limit.map { now + $0 } ?? .distantFuture
    while !condition() {
      guard let next = nextDeadline, next <= end else {
        if end != .distantFuture { pass(to: end) }
        return false
      }
      try turn(at: next)
    }
    return true
  }

  /// Does all work that is due within `duration`, and advances the time by `duration`.
  public func advance(by duration: Duration) throws(Livelock) {
    try run(until: { false }, limit: duration)
  }

  /// Runs until nothing is scheduled.
  ///
  /// - Parameter limit: the maximum virtual time that may pass. The loop never becomes quiet if a peer always has a
  ///   pending timer, such as a watchdog.
  /// - Returns: false if the limit was reached first.
  @discardableResult
  public func runUntilQuiet(limit: Duration = .seconds(86_400)) throws(Livelock) -> Bool {
    let end = now + limit
    while let next = nextDeadline {
      if next > end {
        pass(to: end)
        return false
      }
      try turn(at: next)
    }
    return true
  }

  /// Drops all scheduled work without running it.
  ///
  /// Scheduled work retains its owners, which retain the loop. Call this method before you release a loop with
  /// scheduled work; otherwise, the work, its owners and the loop stay in memory.
  public func dropWork() {
    timers.cancelAll()
    inbox.takeAll { _ in }
  }

  /// Advances the time through a period in which nothing is due.
  private func pass(to instant: Instant) {
    guard instant > now else { return }
    now = instant
    turnsNow = 0
  }

  private func move(to instant: Instant) throws(Livelock) {
    pass(to: instant)
    turnsNow += 1
    if turnsNow > turnsPerInstant { throw Livelock(instant: now, turns: turnsPerInstant) }
  }
}
