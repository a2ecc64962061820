import AccessoryCore
import Glibc

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
