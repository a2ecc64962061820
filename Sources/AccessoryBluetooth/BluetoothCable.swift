import AccessoryCore
import AccessoryTransports
import Glibc

extension DescriptorChannel {
  /// The longest iAP2 packet that surely fits one frame of RFCOMM: L2CAP's smallest default of 672 bytes, less five of RFCOMM's
  /// own. Linux agrees on up to 1,008 with itself; what another stack agreed on, a socket does not tell.
  public static let bluetoothFrame = 667

  /// A channel of an RFCOMM connection; nil when the descriptor was taken before.
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
