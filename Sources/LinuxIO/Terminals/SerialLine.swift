import AccessoryCore
import Glibc

/// Opens a terminal as a plain byte pipe: no echo, line editing, translation, signals or flow control.
enum RawTerminal {
  /// Opens the terminal at `path` for exclusive use by this process.
  ///
  /// - Parameter baud: the rate to set; nil keeps the terminal's current rate.
  static func open(_ path: String, baud: Int?, at address: Address) throws(TransportError) -> OwnedDescriptor {
    let terminal: OwnedDescriptor
    do {
      terminal = try OwnedDescriptor(
        Glibc.open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC), "open \(path)")
    } catch {
      throw openError(error, path: path, address: address)
    }
    guard isatty(terminal.number) == 1 else { throw .unusable(address, "\(path) is not a terminal") }
    // Later hosts are refused, because each of two hosts would get only some of the bytes.
    _ = ioctl(terminal.number, UInt(TIOCEXCL), 0)
    if let baud { try BaudRate.check(baud, at: address) }
    do { try makeRaw(terminal.number, baud: baud) } catch { throw .system(address, error) }
    return terminal
  }

  /// On the simulator's side of a pty, the settings affect the other side, which is the actual terminal.
  static func makeRaw(_ descriptor: Int32, baud: Int? = nil) throws(SystemError) {
    var settings = termios()
    guard tcgetattr(descriptor, &settings) == 0 else { throw .last("read the settings of the terminal") }
    cfmakeraw(&settings)
    settings.c_cflag |= tcflag_t(CLOCAL | CREAD)
    settings.c_cflag &= ~tcflag_t(CSTOPB) & ~hardwareFlowControl
    if let baud, cfsetspeed(&settings, speed_t(baud)) != 0 { throw .last("set the baud rate") }
    // The settings apply immediately, because waiting for output could block, and flushing input would lose bytes that
    // have arrived.
    guard tcsetattr(descriptor, TCSANOW, &settings) == 0 else { throw .last("make the terminal raw") }
    if baud == nil { return }
    // `tcsetattr` succeeds even if it applied only some of the settings.
    var result = termios()
    guard tcgetattr(descriptor, &result) == 0, cfgetospeed(&result) == cfgetospeed(&settings) else {
      throw SystemError("set the baud rate", code: EINVAL)
    }
  }

  /// The value of CRTSCTS, whose C macro Swift cannot import.
  private static let hardwareFlowControl: tcflag_t = 0o20_000_000_000

  private static func openError(_ error: SystemError, path: String, address: Address) -> TransportError {
    switch error.code {
    case ENOENT, ENXIO, ENODEV, EIO: return .nobodyThere(address, error.reason)
    case EBUSY: return .inUse(address, pid: ProcessTable.holder(ofFile: path))
    case EACCES, EPERM:
      guard let group = groupName(of: path) else { return .notPermitted(address, error.reason, fix: nil) }
      return .notPermitted(
        address, "\(path) belongs to the group '\(group)'",
        fix: "join it and log in again: sudo adduser \"$USER\" \(group.shellWord)")
    default: return .system(address, error)
    }
  }

  private static func groupName(of path: String) -> String? {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    var entry = group()
    var found: UnsafeMutablePointer<group>?
    var buffer = [CChar](repeating: 0, count: 4096)
    guard getgrgid_r(status.st_gid, &entry, &buffer, buffer.count, &found) == 0, let name = found?.pointee.gr_name
    else { return nil }
    return String(cString: name)
  }
}

enum BaudRate {
  static let usual = 115_200

  /// The rates that `cfsetspeed` knows.
  private static let all = [
    50, 75, 110, 134, 150, 200, 300, 600, 1_200, 1_800, 2_400, 4_800, 9_600, 19_200, 38_400, 57_600, 115_200, 230_400,
    460_800, 500_000, 576_000, 921_600, 1_000_000, 1_152_000, 1_500_000, 2_000_000, 2_500_000, 3_000_000, 3_500_000,
    4_000_000,
  ]

  static func check(_ rate: Int, at address: Address) throws(TransportError) {
    if all.contains(rate) { return }
    let near = [all.last { $0 < rate }, all.first { $0 > rate }].compactMap { $0.map(String.init) }
    throw .unusable(
      address, "there is no baud rate \(rate); supported rates near it: \(near.joined(separator: " and "))")
  }
}

/// Opens serial lines. A serial line has no peer to wait for, so for both roles, opening the line counts as connecting.
enum SerialLine {
  static func open(path: String, baud: Int?, on loop: any PollingLoop) throws(TransportError) -> DescriptorChannel {
    let address = Address.serial(path: path, baud: baud)
    let terminal = try RawTerminal.open(path, baud: baud ?? BaudRate.usual, at: address)
    // The terminal hangs up when a USB serial adapter is unplugged; a serial line has no orderly close.
    return DescriptorChannel(
      taking: terminal.release(), as: .terminal(hangUp: .lost("the serial line hung up")), on: loop)
  }
}

/// A listener for a simulator on a serial line. The line is opened immediately and reported as accepted in the next
/// turn; after that, the listener has nothing to do.
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
