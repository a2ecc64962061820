import AccessoryCore
import BenchmarkFloors
import Glibc
import LinuxIO

/// The connection between two measured processes. It is created with system calls only, so that easim and the baseline
/// use the same kind of line with the same buffers.
enum LineMedium: String, CaseIterable {
  /// A pair of unix stream sockets.
  case unix
  /// A TCP connection over 127.0.0.1 with TCP_NODELAY, like all of easim's connections.
  case tcp
  /// A raw pseudo terminal. The near end is the terminal, which a host opens. The far end belongs to its creator.
  case pty

  /// The kind of stream, for creating a channel.
  var channelMedium: DescriptorChannel.Medium {
    self == .pty ? .terminal(hangUp: .closedByPeer) : .socket
  }

  /// A description, for example "a unix socketpair".
  var description: String {
    switch self {
    case .unix: "a unix socketpair"
    case .tcp: "TCP on 127.0.0.1"
    case .pty: "a raw pseudo terminal"
    }
  }

  /// Creates both ends, non-blocking and not inherited by other processes.
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
