/// A loop that can also wait for descriptors.
public protocol PollingLoop: EventLoop {
  /// Watches `descriptor` for `interest` until the watch is cancelled. The descriptor stays the caller's to close,
  /// after the cancellation. On the loop only.
  func watch(
    _ descriptor: Int32, for interest: Readiness, _ handler: any DescriptorHandler
  ) throws -> any DescriptorWatch

  /// Lends the loop's one read buffer. Its contents are valid until `body` returns; copy what is needed longer. It
  /// cannot be borrowed twice at a time.
  func withReadBuffer<Result>(_ body: (UnsafeMutableRawBufferPointer) -> Result) -> Result
}

/// What a descriptor can be ready for.
public struct Readiness: OptionSet, Sendable {
  /// The bits.
  public let rawValue: UInt8

  /// Makes a set from its bits.
  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// There is something to read, or the end.
  public static let readable = Readiness(rawValue: 1)
  /// There is room to write.
  public static let writable = Readiness(rawValue: 2)
  /// The other side is gone, or the descriptor is in error. Always reported, never asked for.
  public static let hangup = Readiness(rawValue: 4)
  /// The other side sends no more; bytes that it sent before may be unread. Useful without ``readable``, which includes the end.
  public static let halfClosed = Readiness(rawValue: 8)
}

/// Called when a descriptor is ready.
public protocol DescriptorHandler: AnyObject {
  /// The descriptor is ready for `readiness`, as far as was asked.
  func descriptorReady(_ readiness: Readiness)
}

/// A descriptor being watched.
public protocol DescriptorWatch: AnyObject {
  /// Changes what is waited for. No interest at all still reports a hang-up.
  func change(to interest: Readiness)

  /// Ends the watch; no call comes after it, not even from the turn in progress.
  func cancel()
}
