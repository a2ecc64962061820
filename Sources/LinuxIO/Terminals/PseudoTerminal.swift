import AccessoryCore
import Glibc

/// Makes an accessory available on a pseudo terminal, for any program that can open a serial line.
///
/// A pty does not report when its other side is opened, so inotify is used to detect the opening. The first opening
/// counts as plugging in. Each host gets its own terminal: once a terminal is opened, the path leads to a new one,
/// without the previous host's bytes and settings.
///
/// When the host closes the terminal, the simulator's channel ends with ``ChannelEnd/closedByPeer``, because a terminal
/// cannot report any other reason. When the simulator closes its side, the host reads EOF and the kernel drops all
/// bytes that the host has not read, as if a cable were unplugged.
final class PtyListener: Listener {
  private struct Waiting {
    let end: Int32
    let name: String
    let watch: Int32
  }

  let address: Address
  private let link: TerminalLink
  private let loop: any PollingLoop
  /// Called with each event. The closure is released when the listener ends, because the closure's owner often retains
  /// the listener.
  private var onEvent: ((ListenerEvent) -> Void)?
  private let notifications: WatchedDescriptor
  private var waiting: Waiting?

  init(path: String, on loop: any PollingLoop, onEvent: @escaping (ListenerEvent) -> Void) throws {
    address = .pty(path: path)
    link = TerminalLink(path: path)
    self.loop = loop
    self.onEvent = onEvent
    try link.checkFree(for: address)
    do {
      let descriptor = try OwnedDescriptor(
        inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC)), "watch for the terminal to be opened")
      notifications = WatchedDescriptor(taking: descriptor.release())
      try makeTerminal(after: nil)
      // The loop retains the listener until it is closed.
      try notifications.watch(for: .readable, on: loop) { [self] _ in lookForHost() }
    } catch let error as SystemError {
      throw TransportError(listening: error, at: address)
    }
  }

  deinit {
    cleanUp()
  }

  func close() {
    loop.preconditionCurrent()
    onEvent = nil
    cleanUp()
  }

  private func lookForHost() {
    guard isOpened(), let opened = waiting else { return }
    waiting = nil
    let failure = replaceTerminal(opened)
    let onEvent = onEvent
    if failure != nil { close() }
    let channel = DescriptorChannel(taking: opened.end, as: .terminal(hangUp: .closedByPeer), on: loop)
    onEvent?(.accepted(Cable(main: channel), PeerDescription(address: address)))
    if let failure { onEvent?(.ended(failure)) }
  }

  /// Creates the next terminal. On failure, removes the link and returns the error.
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

  /// Creates a terminal to replace `former`. The new terminal waits for a host to open it.
  private func makeTerminal(after former: String?) throws {
    var buffer = [CChar](repeating: 0, count: 64)
    let end = try OwnedDescriptor(clinux_open_pty(&buffer, buffer.count), "make a pseudo terminal")
    // The terminal is raw from the start, so that it does not echo bytes that a host sends before setting it up.
    try RawTerminal.makeRaw(end.number)
    let name = String(terminated: buffer)
    let watch = inotify_add_watch(notifications.number, name, UInt32(IN_OPEN))
    guard watch >= 0 else { throw SystemError.last("watch for \(name) to be opened") }
    try link.point(to: name, from: former, for: address)
    waiting = Waiting(end: end.release(), name: name, watch: watch)
  }

  /// Reads inotify's events. Returns true if the waiting terminal has been opened.
  private func isOpened() -> Bool {
    var opened = false
    withUnsafeTemporaryAllocation(byteCount: 4096, alignment: MemoryLayout<inotify_event>.alignment) { buffer in
      let count = read(notifications.number, buffer.baseAddress, buffer.count)
      var offset = 0
      while offset + MemoryLayout<inotify_event>.size <= count {
        let event = buffer.load(fromByteOffset: offset, as: inotify_event.self)
        if event.wd == waiting?.watch, event.mask & UInt32(IN_OPEN) != 0 { opened = true }
        offset += MemoryLayout<inotify_event>.size + Int(event.len)
      }
    }
    if opened, let waiting { inotify_rm_watch(notifications.number, waiting.watch) }
    return opened
  }

  private func cleanUp() {
    if let waiting {
      link.remove(from: waiting.name)
      Glibc.close(waiting.end)
    }
    waiting = nil
    notifications.close()
  }
}

/// A symbolic link to a pseudo terminal. The link's path stays the same while the terminal's number changes.
///
/// A killed accessory cannot remove its link, and the kernel soon gives the terminal's number to another accessory or a
/// shell. A link that is older than its terminal is therefore stale. The change time of a terminal's file is its
/// creation time, because traffic does not change it.
struct TerminalLink {
  let path: String

  /// Checks that the path is unused, or is a link to a terminal that no longer exists.
  func checkFree(for address: Address) throws(TransportError) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return }
    guard status.st_mode & S_IFMT == S_IFLNK, let target, target.hasPrefix("/dev/pts/") else {
      throw .unusable(address, "another file, which is not a link to a terminal, has this name")
    }
    guard stat(path, &status) == 0, !isStale else { return }
    let number = Int(target.dropFirst("/dev/pts/".count))
    throw .inUse(address, pid: number.flatMap(ProcessTable.maker))
  }

  /// Whether the link leads to a terminal other than the one that it was created for.
  var isStale: Bool {
    var (link, terminal) = (stat(), stat())
    guard target?.hasPrefix("/dev/pts/") == true, lstat(path, &link) == 0, stat(path, &terminal) == 0 else {
      return false
    }
    let (made, changed) = (link.st_mtim, terminal.st_ctim)
    return (changed.tv_sec, changed.tv_nsec) > (made.tv_sec, made.tv_nsec)
  }

  /// Makes the link lead to `terminal` instead of `former`. The path leads to a terminal at all times. The file at the
  /// path is first moved aside and examined, so that only stale links and links of this process are removed.
  func point(to terminal: String, from former: String?, for address: Address) throws(TransportError) {
    let new = try makeBeside(to: terminal, for: address)
    if clinux_rename_to_free(new, path) == 0 { return }
    guard errno == EEXIST, try exchange(new, former, for: address) else {
      let error = SystemError.last("make the link \(path)")
      unlink(new)
      throw TransportError(listening: error, at: address)
    }
    let aside = TerminalLink(path: new)
    guard aside.target != nil || access(new, F_OK) == 0 else { return }
    if let former, aside.target == former {
      unlink(new)
      return
    }
    do throws(TransportError) {
      try aside.checkFree(for: address)
      unlink(new)
    } catch {
      // The file belongs to another process, so it is put back.
      _ = clinux_exchange(new, path)
      aside.remove(from: terminal)
      throw error
    }
  }

  /// Swaps the new link with the file at the path. If the file system cannot swap names, the new link overwrites the
  /// file, so the file is examined first.
  private func exchange(_ new: String, _ former: String?, for address: Address) throws(TransportError) -> Bool {
    if clinux_exchange(new, path) == 0 { return true }
    guard errno == EINVAL else { return false }
    if former == nil || target != former {
      do throws(TransportError) { try checkFree(for: address) } catch {
        unlink(new)
        throw error
      }
    }
    return rename(new, path) == 0
  }

  private func makeBeside(to terminal: String, for address: Address) throws(TransportError) -> String {
    for _ in 0..<16 {
      let new = "\(path).\(UInt32.random(in: 0...UInt32.max))"
      if symlink(terminal, new) == 0 { return new }
      guard errno == EEXIST else { break }
    }
    throw TransportError(listening: .last("make the link \(path)"), at: address)
  }

  /// Removes the link if it still leads to `terminal`.
  func remove(from terminal: String) {
    if target == terminal { unlink(path) }
  }

  private var target: String? { FilePath.target(ofLink: path) }
}
