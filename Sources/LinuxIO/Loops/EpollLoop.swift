import AccessoryCore
import AccessoryFormats
import Glibc
import Synchronization

/// The event loop in real time: it handles descriptors (through epoll), timers with nanosecond resolution, and work
/// from other threads.
///
/// In each turn, the loop waits, reads the clock, runs the work passed to ``execute(_:)``, calls the handlers of ready
/// descriptors, and fires due timers. `now` is the time at which the wait ended.
///
/// The loop needs no timerfd: epoll's own timeout has nanosecond resolution, so waiting for the next deadline costs no
/// extra system call. An idle loop without timers sleeps until there is work, and `turns` does not change.
///
/// A loop runs in one of two ways:
///
/// ```swift
/// let loop = try EpollLoop()
/// loop.run(until: { finished })     // on the calling thread
///
/// try loop.start()                  // on a thread of its own
/// loop.execute { … }
/// loop.stop()                       // returns when that thread has ended
/// ```
///
/// While the loop is not running, any single thread may set it up and tear it down. While the loop is running,
/// everything except ``execute(_:)`` and ``stop()`` must be called on the loop's thread.
///
/// A loop retains its watches and the closures of its timers, which usually retain the loop. Close channels, and cancel
/// watches and timers, before you release a loop.
public final class EpollLoop: PollingLoop, @unchecked Sendable {
  /// The size of the read buffer. 48 KiB is the most that one buffer of a unix socket holds. While this end handles
  /// what it has read, the other end fills the socket again. With reads of 128 KiB, the two ends spent most of their
  /// time waiting for each other.
  private static let readBufferSize = 48 * 1024

  /// The loop's random number generator; use it only on the loop.
  public var random: SeededRandom
  /// The memory for bytes in transit. Use the store only on the loop.
  public let spares = SpareBuffers()
  /// The number of turns so far. A test uses this number to check that an idle loop sleeps.
  @exclusivity(unchecked) public private(set) var turns = 0

  private let inbox = Inbox()
  private let registry: EpollRegistry
  private let timers = TimerQueue()
  private let clock = MonotonicClock()
  private let readBuffer: UnsafeMutableRawBufferPointer
  // As with `turns`, overlapping access is not checked: these properties belong to the loop's thread and are plain
  // values.
  @exclusivity(unchecked) private var turnTime = Instant.origin

  private let runner = Atomic<UInt>(0)
  private let stopIsAsked = Atomic<Bool>(false)
  private let thread = Locked<pthread_t?>(nil)

  /// Creates a loop.
  ///
  /// - Parameter seed: the seed of ``random``; random by default.
  /// - Throws: an error if the process has no free descriptors.
  public init(seed: UInt64 = .random(in: .min ... .max)) throws(SystemError) {
    random = SeededRandom(seed: seed)
    let clock = clock
    registry = try EpollRegistry(polled: PolledDescriptors(timers: timers, now: { clock.now }))
    readBuffer = .allocate(byteCount: Self.readBufferSize, alignment: 64)
  }

  deinit {
    timers.cancelAll()
    readBuffer.deallocate()
  }

  // MARK: - EventLoop

  /// The time at which the current turn's wait ended, or the current time between runs.
  public var now: Instant {
    runner.load(ordering: .relaxed) == 0 ? clock.now : turnTime
  }

  /// True if the caller is running on this loop, or if the loop is not running.
  public var isCurrent: Bool {
    let runner = runner.load(ordering: .acquiring)
    return runner == 0 || runner == pthread_self()
  }

  /// Creates a timer. Call this method only on the loop.
  public func makeTimer(_ work: @escaping () -> Void) -> LoopTimer {
    preconditionCurrent()
    return timers.makeTimer(work)
  }

  /// Runs `work` in a later turn. Any thread may call this method.
  public func execute(_ work: @escaping @Sendable () -> Void) {
    // Work that was added on the loop's own thread is found before the loop waits again.
    if inbox.add(work), runner.load(ordering: .acquiring) != pthread_self() { registry.wake() }
  }

  // MARK: - PollingLoop

  /// Watches a descriptor. A descriptor that epoll refuses, such as a regular file, is polled every millisecond while
  /// it is watched.
  public func watch(
    _ descriptor: Int32, for interest: Readiness, _ handler: any DescriptorHandler
  ) throws -> any DescriptorWatch {
    preconditionCurrent()
    return try registry.add(descriptor, interest: interest, handler: handler)
  }

  /// Lends the 48 KiB read buffer.
  public func withReadBuffer<Result>(_ body: (UnsafeMutableRawBufferPointer) -> Result) -> Result {
    body(readBuffer)
  }

  // MARK: - Running

  /// Runs the loop on the calling thread until `condition` is true. The condition is checked after each turn.
  ///
  /// - Parameters:
  ///   - condition: what to wait for; nil means that the loop runs until ``stop()`` or the limit.
  ///   - limit: how long to wait for the condition.
  /// - Returns: false if ``stop()`` or the limit ended the run.
  @discardableResult
  public func run(until condition: () -> Bool = { false }, limit: Duration? = nil) -> Bool {
    let (begun, _) = runner.compareExchange(expected: 0, desired: pthread_self(), ordering: .acquiringAndReleasing)
    precondition(begun, "the EpollLoop is already running, in another thread or in one of its own turns")
    defer { runner.store(0, ordering: .releasing) }
    return turn(until: condition, limit: limit)
  }

  /// Runs the loop on its own thread until ``stop()``.
  public func start() throws(SystemError) {
    let code = thread.withLock { thread -> Int32 in
      precondition(thread == nil && runner.load(ordering: .acquiring) == 0, "an EpollLoop is already running")
      var made = pthread_t()
      let context = Unmanaged.passRetained(self)
      let code = pthread_create(&made, nil, { EpollLoop.threadMain($0) }, context.toOpaque())
      if code != 0 {
        context.release()
        return code
      }
      thread = made
      // The new thread also sets this property, but until then the caller must not count as the loop's thread.
      runner.store(made, ordering: .releasing)
      return 0
    }
    if code != 0 { throw SystemError("start the thread of a loop", code: code) }
  }

  private static func threadMain(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    let loop = Unmanaged<EpollLoop>.fromOpaque(context).takeRetainedValue()
    loop.runner.store(pthread_self(), ordering: .releasing)
    loop.turn(until: { false }, limit: nil)
    return nil
  }

  /// Ends the current run after its turn, or the next run before its first turn. Any thread may call this method. If
  /// called on a thread other than the loop's, this method returns once the thread started by ``start()`` has ended.
  /// Work that was passed to ``execute(_:)`` but has not run yet waits for the next run.
  public func stop() {
    stopIsAsked.store(true, ordering: .releasing)
    registry.wake()
    let ended = thread.withLock { thread -> pthread_t? in
      guard let running = thread, running != pthread_self() else { return nil }
      thread = nil
      return running
    }
    guard let ended else { return }
    pthread_join(ended, nil)
    stopIsAsked.store(false, ordering: .releasing)
    runner.store(0, ordering: .releasing)
  }

  @discardableResult
  private func turn(until condition: () -> Bool, limit: Duration?) -> Bool {
    turnTime = clock.now
    let end = limit.map { turnTime + $0 }
    while !condition() {
      if stopIsAsked.exchange(false, ordering: .acquiringAndReleasing) { return false }
      if let end, turnTime >= end { return false }
      turn(noLaterThan: end)
    }
    return true
  }

  private func turn(noLaterThan end: Instant?) {
    let events = registry.wait(timeout: timeout(noLaterThan: end))
    turnTime = clock.now
    turns += 1
    inbox.takeAll { $0() }
    registry.dispatch(events)
    let mark = timers.mark
    while let timer = timers.popDue(at: turnTime, armedBefore: mark) { timer.fire() }
  }

  /// Returns the nanoseconds until the next deadline: 0 if there is work, and a negative number if there is no
  /// deadline.
  private func timeout(noLaterThan end: Instant?) -> Int64 {
    guard inbox.isEmpty else { return 0 }
    let deadlines = (timers.earliest ?? .distantFuture, end ?? .distantFuture)
    let earliest = min(deadlines.0, deadlines.1)
    return earliest == .distantFuture ? -1 : max(0, earliest.nanoseconds - clock.now.nanoseconds)
  }
}
