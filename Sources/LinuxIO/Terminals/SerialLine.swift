import AccessoryCore
import Glibc

/// A serial line has no other end to wait for: opening it is connecting, at either end.
enum SerialLine {
  static func open(path: String, baud: Int?, on loop: any PollingLoop) throws(TransportError) -> DescriptorChannel {
    let address = Address.serial(path: path, baud: baud)
    let terminal = try RawTerminal.open(path, baud: baud ?? BaudRate.usual, at: address)
    // A converter that is pulled out hangs up; there is no orderly close.
    return DescriptorChannel(
      taking: terminal.release(), as: .terminal(hangUp: .lost("the serial line hung up")), on: loop)
  }
}

/// A simulator on a serial line: opened at once, accepted in the next turn, and then the listener's work is done.
final class SerialListener: Listener {
  let address: Address
  private var channel: DescriptorChannel?
  private var announcement: LoopTimer?

  init(path: String, baud: Int?, on loop: any PollingLoop, onEvent: @escaping (ListenerEvent) -> Void) throws {
    let address = Address.serial(path: path, baud: baud)
    self.address = address
    channel = try SerialLine.open(path: path, baud: baud, on: loop)
    announcement = loop.schedule(after: .zero) {
      self.announcement = nil
      guard let channel = self.channel else { return }
      self.channel = nil
      onEvent(.accepted(Cable(main: channel).dedicated, PeerDescription(address: address)))
    }
  }

  func close() {
    announcement?.cancel()
    announcement = nil
    channel?.close()
    channel = nil
  }
}
