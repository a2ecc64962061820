import AccessoryCore
import AccessoryTransports
import BenchmarkFloors
import Glibc

/// What runs between two processes that are measured: made of system calls alone, so that ours and the floor's are the
/// same line, with the same buffers.
enum LineMedium: String, CaseIterable {
  /// A pair of unix stream sockets.
  case unix
  /// A TCP connection over 127.0.0.1, without Nagle's wait, as every connection of ours.
  case tcp
  /// A raw pseudo terminal: the near end is the terminal, which a host opens, the far end its maker's.
  case pty

  /// What a channel has to know of it.
  var channelMedium: DescriptorChannel.Medium {
    self == .pty ? .terminal(hangUp: .closedByPeer) : .socket
  }

  /// For people: "a unix socketpair".
  var description: String {
    switch self {
    case .unix: "a unix socketpair"
    case .tcp: "TCP on 127.0.0.1"
    case .pty: "a raw pseudo terminal"
    }
  }

  /// Makes both ends, non-blocking and not inherited.
  func makePair() throws(MeasuringError) -> (near: Int32, far: Int32) {
    var pair: (near: Int32, far: Int32) = (-1, -1)
    let code =
      switch self {
      case .unix: floor_unix_pair(&pair.near, &pair.far)
      case .tcp: floor_tcp_pair(&pair.near, &pair.far)
      case .pty: floor_pty_pair(&pair.near, &pair.far)
      }
    guard code == 0 else { throw .system("make both ends of \(description)", code: code) }
    return pair
  }
}
