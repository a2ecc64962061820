import AccessoryCore
import Glibc
import LinuxIO

extension DescriptorChannel {
  /// The longest iAP2 packet: what fits one RFCOMM frame between this machine and most others. The two ends of a connection
  /// agree on the length of frames and Linux does not tell what they agreed on. Linux offers 1,008 bytes, Android 990. With a
  /// stack that agrees on less, a packet takes two frames.
  ///
  /// Packets of 667 bytes would fit L2CAP's default everywhere, but then 10,000 bytes take 16 frames instead of 11, and an echo
  /// is 8 % slower (`docs/dev/performance.md`).
  public static let bluetoothFrame = 990

  /// A channel of an RFCOMM connection; nil if the descriptor was taken already.
  convenience init?(_ descriptor: BusDescriptor, on loop: any PollingLoop) {
    let number = descriptor.take()
    guard number >= 0 else { return nil }
    let flags = fcntl(number, F_GETFL)
    if flags >= 0 { _ = fcntl(number, F_SETFL, flags | O_NONBLOCK) }
    self.init(taking: number, as: .frames(longest: Self.bluetoothFrame), on: loop)
  }
}

extension BusDescriptor {
  /// Whether the other end is gone already.
  var hasHungUp: Bool {
    var poll = pollfd(fd: borrowed, events: Int16(POLLIN), revents: 0)
    return Glibc.poll(&poll, 1, 0) > 0 && poll.revents & Int16(POLLHUP | POLLERR) != 0
  }
}
