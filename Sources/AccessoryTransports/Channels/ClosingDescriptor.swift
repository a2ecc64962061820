import AccessoryCore
import Glibc

/// A socket whose owner has closed it, and which hears the other end out.
///
/// A socket that is closed with bytes unread tells the other end "reset" in place of "closed". So this one says that
/// nothing more comes, reads and drops what still arrives, and goes when the other end closes, too, or when its time is
/// over. Only the loop holds it, and it holds no loop: a loop that is let go takes its closing sockets along.
package final class ClosingSocket: DescriptorHandler {
  private let descriptor: Int32
  private var watch: (any DescriptorWatch)?

  /// Takes the descriptor over, which must not be watched by anybody else.
  package init(_ descriptor: Int32, on loop: any PollingLoop, atMost limit: Duration) {
    self.descriptor = descriptor
    shutdown(descriptor, Int32(SHUT_WR))
    // Where it cannot be watched it is closed at once, by going out of scope.
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

/// A terminal whose owner has closed it, and whose last bytes have not left yet.
///
/// Closing a serial line waits for them in the kernel, which would hold up the loop; so it is closed when they are gone,
/// or when its time is over. Like ``ClosingSocket`` it holds no loop.
final class ClosingTerminal {
  /// How often it looks.
  private static let tick = Duration.milliseconds(5)

  private let descriptor: Int32
  private let limit: Instant
  private weak var loop: (any PollingLoop)?

  /// Takes the descriptor over.
  init(_ descriptor: Int32, on loop: any PollingLoop, atMost limit: Duration) {
    self.descriptor = descriptor
    self.loop = loop
    self.limit = loop.now + limit
    look()
  }

  deinit {
    close(descriptor)
  }

  /// Looks whether bytes are left, and if so, again later; otherwise nobody holds this any more.
  private func look() {
    var unsent: Int32 = 0
    guard ioctl(descriptor, UInt(TIOCOUTQ), &unsent) == 0, unsent > 0, let loop else { return }
    if loop.now < limit {
      loop.schedule(after: Self.tick) { self.look() }
    } else {
      // A line that does not move; what it holds now would hold up the close for half a minute.
      tcflush(descriptor, TCOFLUSH)
    }
  }
}
