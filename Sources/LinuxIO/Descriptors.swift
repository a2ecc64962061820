import AccessoryCore
import Glibc

/// A failed system call: what was attempted, and the system's reason for the failure.
public struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The attempted action, as a sentence fragment such as "open /dev/ttyUSB0".
  public let action: String
  /// The system's error number.
  public let code: Int32

  /// Creates an error for a call that failed with `code`.
  public init(_ action: String, code: Int32) {
    self.action = action
    self.code = code
  }

  /// The system's reason, such as "No such file or directory".
  public var reason: String { Self.reason(code) }

  /// One line that combines the action and the reason.
  public var description: String { "cannot \(action): \(reason)" }

  static func reason(_ code: Int32) -> String {
    strerror(code).map { String(cString: $0) } ?? "error \(code)"
  }

  package static func last(_ action: String) -> SystemError {
    SystemError(action, code: errno)
  }
}

/// A descriptor that is closed unless it is released, so that no return path of a function leaks it.
package struct OwnedDescriptor: ~Copyable {
  package let number: Int32

  /// Takes over the descriptor that a system call returned, or throws the call's error.
  package init(_ result: Int32, _ action: @autoclosure () -> String) throws(SystemError) {
    guard result >= 0 else { throw .last(action()) }
    number = result
  }

  deinit { close(number) }

  package consuming func release() -> Int32 {
    let number = number
    discard self
    return number
  }
}

/// A descriptor and its watch. Closing or releasing this object first cancels the watch and then closes the descriptor.
package final class WatchedDescriptor {
  /// The descriptor, or a negative number once it is closed.
  package private(set) var number: Int32
  private var watch: (any DescriptorWatch)?

  package init(taking number: Int32) {
    self.number = number
  }

  deinit { close() }

  package func close() {
    watch?.cancel()
    watch = nil
    if number >= 0 { Glibc.close(number) }
    number = -1
  }

  package func watch(for interest: Readiness, on loop: any PollingLoop, _ ready: @escaping (Readiness) -> Void) throws {
    watch = try loop.watch(number, for: interest, Handler(ready))
  }

  package func change(to interest: Readiness) {
    watch?.change(to: interest)
  }

  /// The loop retains this object instead of the descriptor's owner.
  private final class Handler: DescriptorHandler {
    private let ready: (Readiness) -> Void

    init(_ ready: @escaping (Readiness) -> Void) { self.ready = ready }

    func descriptorReady(_ readiness: Readiness) { ready(readiness) }
  }
}
