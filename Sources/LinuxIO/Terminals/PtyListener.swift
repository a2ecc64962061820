import AccessoryCore
import Glibc

/// An accessory on a pseudo terminal, for any program that can open a serial line.
///
/// A pty does not report that its other end was opened, so an inotify watch does: the first opening counts as
/// plugging in. Each host gets a terminal of its own: as soon as one is opened, the path leads to a new one, without
/// the bytes and settings of the last host.
///
/// When the host closes the terminal, the simulator's end hangs up, which is ``ChannelEnd/closedByPeer``: a terminal
/// has no other kind of end. When the simulator closes its end, the host reads the end of the file, and the kernel
/// drops what the host has not read, as when a cable is pulled.
final class PtyListener: Listener, DescriptorHandler {
  /// The terminal that waits to be opened.
  private struct Waiting {
    let end: Int32
    let name: String
    let watch: Int32
  }

  let address: Address
  private let link: TerminalLink
  private let loop: any PollingLoop
  /// Released at the end, because the owner of the handler often holds the listener.
  private var onEvent: ((ListenerEvent) -> Void)?
  private var notifications: Int32
  private var watch: (any DescriptorWatch)?
  private var waiting: Waiting?

  init(path: String, on loop: any PollingLoop, onEvent: @escaping (ListenerEvent) -> Void) throws {
    address = .pty(path: path)
    link = TerminalLink(path: path)
    self.loop = loop
    self.onEvent = onEvent
    notifications = -1
    try link.checkFree(for: address)
    do {
      notifications = try OwnedDescriptor(
        inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC)), "watch for the terminal to be opened"
      ).release()
      try makeTerminal(after: nil)
      watch = try loop.watch(notifications, for: .readable, self)
    } catch let error as SystemError {
      throw TransportError(listening: error, at: address)
    }
  }

  deinit {
    cleanUp()
  }

  func close() {
    loop.preconditionCurrent()
    watch?.cancel()
    watch = nil
    onEvent = nil
    cleanUp()
  }

  func descriptorReady(_ readiness: Readiness) {
    guard isOpened(), let opened = waiting else { return }
    waiting = nil
    let failure = replaceTerminal(opened)
    let onEvent = onEvent
    if failure != nil { close() }
    let channel = DescriptorChannel(taking: opened.end, as: .terminal(hangUp: .closedByPeer), on: loop)
    onEvent?(.accepted(Cable(main: channel), PeerDescription(address: address)))
    if let failure { onEvent?(.ended(failure)) }
  }

  /// Makes the next terminal, or removes the link and returns the error.
  private func replaceTerminal(_ opened: Waiting) -> TransportError? {
    do {
      try makeTerminal(after: opened.name)
      return nil
    } catch {
      link.remove(from: opened.name)
      switch error {
      case let error as TransportError: return error
      case let error as SystemError: return TransportError(listening: error, at: address)
      default: return .unusable(address, "\(error)")
      }
    }
  }

  /// Makes a terminal that waits to be opened, in the place of the one of this name.
  private func makeTerminal(after former: String?) throws {
    let terminal = try PseudoTerminal()
    let name = terminal.name
    let watch = inotify_add_watch(notifications, name, UInt32(IN_OPEN))
    guard watch >= 0 else { throw SystemError.last("watch for \(name) to be opened") }
    try link.point(to: name, from: former, for: address)
    waiting = Waiting(end: terminal.takeEnd(), name: name, watch: watch)
  }

  /// Reads what inotify has to say, and whether it is about the terminal that waits.
  private func isOpened() -> Bool {
    var opened = false
    withUnsafeTemporaryAllocation(byteCount: 4096, alignment: MemoryLayout<inotify_event>.alignment) { buffer in
      let count = read(notifications, buffer.baseAddress, buffer.count)
      var offset = 0
      while offset + MemoryLayout<inotify_event>.size <= count {
        let event = buffer.load(fromByteOffset: offset, as: inotify_event.self)
        if event.wd == waiting?.watch, event.mask & UInt32(IN_OPEN) != 0 { opened = true }
        offset += MemoryLayout<inotify_event>.size + Int(event.len)
      }
    }
    if opened, let waiting { inotify_rm_watch(notifications, waiting.watch) }
    return opened
  }

  private func cleanUp() {
    if let waiting {
      link.remove(from: waiting.name)
      Glibc.close(waiting.end)
    }
    waiting = nil
    if notifications >= 0 { Glibc.close(notifications) }
    notifications = -1
  }
}
