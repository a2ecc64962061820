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

/// A socket that stays open after its owner has closed it, until the peer closes the connection too.
///
/// Closing a socket with unread bytes would send a reset instead of an orderly end, so this socket is only shut down
/// for writing. Arriving bytes are read and dropped until the peer closes the connection or the time limit expires.
/// Only the loop retains the socket, and the socket does not retain the loop, so releasing a loop also releases its
/// closing sockets.
package final class ClosingSocket: DescriptorHandler {
  private let descriptor: Int32
  private var watch: (any DescriptorWatch)?

  /// Takes over the descriptor. No other code may watch the descriptor.
  package init(_ descriptor: Int32, on loop: any PollingLoop, atMost limit: Duration) {
    self.descriptor = descriptor
    shutdown(descriptor, Int32(SHUT_WR))
    // A socket that cannot be watched goes out of scope here, which closes it immediately.
    watch = try? loop.watch(descriptor, for: .readable, self)
    loop.schedule(after: limit) { [weak self] in self?.end() }
  }

  deinit {
    close(descriptor)
  }

  package func descriptorReady(_ readiness: Readiness) {
    let size = 16 * 1024
    let count = withUnsafeTemporaryAllocation(byteCount: size, alignment: 1) {
      recv(descriptor, $0.baseAddress, size, 0)
    }
    if count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR) { end() }
  }

  private func end() {
    watch?.cancel()
    watch = nil
  }
}

/// A terminal that stays open after its owner has closed it, until its last bytes are sent.
///
/// Closing a serial line blocks in the kernel until its bytes are sent, which would block the loop. The terminal is
/// therefore closed only after its bytes are sent or the time limit expires. Like ``ClosingSocket``, this object does
/// not retain the loop.
final class ClosingTerminal {
  private static let tick = Duration.milliseconds(5)

  private let descriptor: Int32
  private let limit: Instant
  private weak var loop: (any PollingLoop)?

  init(_ descriptor: Int32, on loop: any PollingLoop, atMost limit: Duration) {
    self.descriptor = descriptor
    self.loop = loop
    self.limit = loop.now + limit
    look()
  }

  deinit {
    close(descriptor)
  }

  /// Releases the terminal if all bytes are sent. Otherwise, checks again later.
  private func look() {
    var unsent: Int32 = 0
    guard ioctl(descriptor, UInt(TIOCOUTQ), &unsent) == 0, unsent > 0, let loop else { return }
    if loop.now < limit {
      loop.schedule(after: Self.tick) { self.look() }
    } else {
      // The line is not accepting bytes, and unsent bytes would make `close` block for half a minute.
      tcflush(descriptor, TCOFLUSH)
    }
  }
}
