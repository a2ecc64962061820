import AccessoryFormats

/// A single thread of control, with its channels, state machines, timers and random number generator.
///
/// Code on a loop needs no locks, because it never runs concurrently with other code on the same loop. Code on other
/// threads may call only ``execute(_:)``.
///
/// There are two kinds of loops: `EpollLoop` runs in real time and handles descriptors; `VirtualLoop` has no
/// descriptors and jumps from deadline to deadline. Code that needs only an `EventLoop` runs on either kind, so half a
/// second on a wire can take microseconds in a test.
public protocol EventLoop: AnyObject, Sendable {
  /// The time of the current turn, which does not change during the turn.
  var now: Instant { get }

  /// Whether the caller is running on this loop.
  var isCurrent: Bool { get }

  /// The loop's random number generator; the same seed gives the same numbers. Use the generator only on the loop.
  var random: SeededRandom { get set }

  /// The memory that everything on this loop borrows for bytes in transit. Use the store only on the loop.
  var spares: SpareBuffers { get }

  /// Creates a timer that calls `work` on the loop at its deadline; the timer is not armed yet. Create and use timers
  /// only on the loop.
  ///
  /// Create a timer once and move it as often as needed: moving a timer allocates nothing.
  func makeTimer(_ work: @escaping () -> Void) -> LoopTimer

  /// Runs `work` on the loop in a later turn. This is the only method that other threads may call.
  func execute(_ work: @escaping @Sendable () -> Void)
}

extension EventLoop {
  /// Creates a timer that does nothing until it has a ``LoopTimer/handler``.
  public func makeTimer() -> LoopTimer {
    makeTimer {}
  }

  /// Creates a timer that fires once, `delay` from now, unless it is cancelled. A timer that has fired or was cancelled
  /// retains nothing.
  @discardableResult
  public func schedule(after delay: Duration, _ work: @escaping () -> Void) -> LoopTimer {
    let timer = makeTimer(work)
    timer.isOneShot = true
    timer.arm(at: now + delay)
    return timer
  }

  /// Traps if the caller is not on this loop.
  public func preconditionCurrent(_ what: StaticString = #function) {
    precondition(isCurrent, "\(what) belongs to its event loop: call it through execute(_:)")
  }
}

/// A loop that can also wait for descriptors.
public protocol PollingLoop: EventLoop {
  /// Watches `descriptor` for `interest` until the watch is cancelled. Cancel the watch before you close the
  /// descriptor. Call this method only on the loop.
  func watch(
    _ descriptor: Int32, for interest: Readiness, _ handler: any DescriptorHandler
  ) throws -> any DescriptorWatch

  /// Lends the loop's only read buffer. The contents are valid until `body` returns; copy any bytes that are needed
  /// later. Only one caller at a time can borrow the buffer.
  func withReadBuffer<Result>(_ body: (UnsafeMutableRawBufferPointer) -> Result) -> Result
}

/// The operations that a descriptor is ready for.
public struct Readiness: OptionSet, Sendable {
  /// The set's bits.
  public let rawValue: UInt8

  /// Creates a set from its bits.
  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// There are bytes to read, or EOF was reached.
  public static let readable = Readiness(rawValue: 1)
  /// There is room to write.
  public static let writable = Readiness(rawValue: 2)
  /// The peer is gone, or the descriptor has an error. A hang-up is always reported, even if it was not requested.
  public static let hangup = Readiness(rawValue: 4)
  /// The peer will not send any more bytes, although earlier bytes may still be unread. Do not request this condition
  /// together with ``readable``, which already includes EOF.
  public static let halfClosed = Readiness(rawValue: 8)
}

/// Called when a descriptor is ready.
public protocol DescriptorHandler: AnyObject {
  /// Called when the descriptor is ready; `readiness` contains only requested conditions and hang-ups.
  func descriptorReady(_ readiness: Readiness)
}

/// A watch on a descriptor.
public protocol DescriptorWatch: AnyObject {
  /// Changes the conditions to wait for. Hang-ups are reported even if no condition is requested.
  func change(to interest: Readiness)

  /// Ends the watch; the handler is not called again, even in the current turn.
  func cancel()
}

/// Carries a value owned by an event loop across threads that must not use the value.
///
/// The compiler cannot see that a loop runs on a single thread, so this type asserts that fact and checks every access.
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

  /// The value, which may be accessed only on the loop.
  public var value: Value {
    loop.preconditionCurrent()
    return held
  }
}

package struct Weak<Object: AnyObject> {
  package weak var object: Object?

  package init(_ object: Object) { self.object = object }
}
