import AccessoryFormats

/// A single thread of control that owns channels, state machines, timers and randomness.
///
/// Code on a loop needs no locks, because it never runs concurrently with other code on the same loop. Code on other
/// threads may use only ``execute(_:)``.
///
/// There are two kinds: `EpollLoop` (real time, descriptors) and `VirtualLoop` (no descriptors; jumps from deadline to
/// deadline). Code that only needs an `EventLoop` runs on both, so that a flicker takes microseconds in a test and half
/// a second on a wire.
public protocol EventLoop: AnyObject, Sendable {
  /// The time of this turn. It does not change during one turn's work.
  var now: Instant { get }

  /// Whether the caller runs on this loop.
  var isCurrent: Bool { get }

  /// The loop's source of randomness; the same seed gives the same numbers. Used only on the loop.
  var random: SeededRandom { get set }

  /// Creates a timer that calls `work` on the loop at its deadline; it is not armed yet. Created and used only on the
  /// loop.
  ///
  /// A timer is created once and moved often: moving it allocates nothing, so it may be moved with every packet.
  func makeTimer(_ work: @escaping () -> Void) -> LoopTimer

  /// Runs `work` on the loop in a later turn. The only call allowed from other threads.
  func execute(_ work: @escaping @Sendable () -> Void)
}

extension EventLoop {
  /// Creates a timer that does nothing until it has a ``LoopTimer/handler``.
  public func makeTimer() -> LoopTimer {
    makeTimer {}
  }

  /// Creates a timer that fires once, `delay` from now, unless it is cancelled. After that, the timer retains nothing.
  @discardableResult
  public func schedule(after delay: Duration, _ work: @escaping () -> Void) -> LoopTimer {
    let timer = makeTimer(work)
    timer.isOneShot = true
    timer.arm(at: now + delay)
    return timer
  }

  /// Traps, with a message, if the caller is not on this loop.
  public func preconditionCurrent(_ what: StaticString = #function) {
    precondition(isCurrent, "\(what) belongs to its event loop: call it through execute(_:)")
  }
}

/// A loop that can also wait for descriptors.
public protocol PollingLoop: EventLoop {
  /// Watches `descriptor` for `interest` until the watch is cancelled. The caller closes the descriptor, after
  /// cancelling. On the loop only.
  func watch(
    _ descriptor: Int32, for interest: Readiness, _ handler: any DescriptorHandler
  ) throws -> any DescriptorWatch

  /// Lends the loop's only read buffer. Its contents are valid until `body` returns; copy what is needed longer. It
  /// cannot be borrowed twice at the same time.
  func withReadBuffer<Result>(_ body: (UnsafeMutableRawBufferPointer) -> Result) -> Result
}

/// What a descriptor can be ready for.
public struct Readiness: OptionSet, Sendable {
  /// The bits.
  public let rawValue: UInt8

  /// Creates a set from its bits.
  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// There is something to read, or the end was reached.
  public static let readable = Readiness(rawValue: 1)
  /// There is room to write.
  public static let writable = Readiness(rawValue: 2)
  /// The other end is gone, or the descriptor has an error. Always reported, never requested.
  public static let hangup = Readiness(rawValue: 4)
  /// The other end will send no more; earlier bytes may still be unread. Useful without ``readable``, which includes
  /// the end.
  public static let halfClosed = Readiness(rawValue: 8)
}

/// Called when a descriptor is ready.
public protocol DescriptorHandler: AnyObject {
  /// The descriptor is ready for `readiness`, limited to the requested conditions.
  func descriptorReady(_ readiness: Readiness)
}

/// A descriptor being watched.
public protocol DescriptorWatch: AnyObject {
  /// Changes what to wait for. Even without any interest, a hang-up is reported.
  func change(to interest: Readiness)

  /// Ends the watch; no call follows, not even from the turn in progress.
  func cancel()
}

/// Carries a value that belongs to a loop across threads that must not use it.
///
/// Swift's checker cannot see that a loop is one thread; this declares it, and checks it at every access.
///
/// ```swift
/// let box = LoopBound(connection, on: loop)
/// loop.execute { box.value.close() }
/// ```
public struct LoopBound<Value>: @unchecked Sendable {
  private let loop: any EventLoop
  private let held: Value

  /// Wraps `value`, which belongs to `loop`.
  public init(_ value: Value, on loop: any EventLoop) {
    self.loop = loop
    held = value
  }

  /// The value; traps if accessed off the loop.
  public var value: Value {
    loop.preconditionCurrent()
    return held
  }
}

/// A weak reference as a value, for lists and closures.
package struct Weak<Object: AnyObject> {
  /// The object, as long as it exists.
  package weak var object: Object?

  package init(_ object: Object) { self.object = object }
}
