/// Carries something that belongs to a loop across threads that must not touch it.
///
/// Swift's checker cannot see that a loop is one thread; this says it once, and checks it at every access.
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

  /// The value; traps off the loop.
  public var value: Value {
    loop.preconditionCurrent()
    return held
  }
}
