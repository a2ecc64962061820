import AccessoryCore
import Glibc

/// A pseudo terminal: the simulator's end, and the name under which the other end is opened.
///
/// It is raw from the start, so that nothing a host sends before it has set the terminal up comes back as an echo.
struct PseudoTerminal: ~Copyable {
  let end: OwnedDescriptor
  /// `/dev/pts/N`.
  let name: String

  init() throws(SystemError) {
    var buffer = [CChar](repeating: 0, count: 64)
    let end = try OwnedDescriptor(clinux_open_pty(&buffer, buffer.count), "make a pseudo terminal")
    try RawTerminal.makeRaw(end.number)
    name = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    self.end = end
  }

  /// Returns the simulator's end and drops the rest.
  consuming func takeEnd() -> Int32 {
    end.release()
  }
}

/// A symbolic link to a pseudo terminal, whose number changes.
///
/// A killed accessory leaves its link behind, and the kernel soon reuses the number for another accessory or a shell.
/// Such a terminal is younger than the link, which shows that the link is stale: the change time of a terminal's file
/// is its creation time, which traffic does not change.
struct TerminalLink {
  let path: String

  /// Whether the path may be made a link of ours: nothing is there, or a link to a terminal that is gone.
  func checkFree(for address: Address) throws(TransportError) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return }
    guard status.st_mode & S_IFMT == S_IFLNK, let target, target.hasPrefix("/dev/pts/") else {
      throw .unusable(address, "a file that is not a link to a terminal has this name")
    }
    guard stat(path, &status) == 0, !isStale else { return }
    let number = Int(target.dropFirst("/dev/pts/".count))
    throw .inUse(address, pid: number.flatMap(ProcessTable.maker))
  }

  /// Whether it leads to a terminal that is not the one that it was made for.
  var isStale: Bool {
    var (link, terminal) = (stat(), stat())
    guard target?.hasPrefix("/dev/pts/") == true, lstat(path, &link) == 0, stat(path, &terminal) == 0 else {
      return false
    }
    let (made, changed) = (link.st_mtim, terminal.st_ctim)
    return (changed.tv_sec, changed.tv_nsec) > (made.tv_sec, made.tv_nsec)
  }

  /// Points the link at a terminal instead of at `former`. The path always leads to a terminal, and only links of
  /// this process and stale links are removed: the file at the path is moved aside and examined.
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
      // Another's: it gets its place back.
      _ = clinux_exchange(new, path)
      aside.remove(from: terminal)
      throw error
    }
  }

  /// Exchanges the new link with the file at the path. On a file system that cannot exchange names the file is
  /// overwritten, so it is examined first.
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

  /// Makes a link beside the path, under an unused name.
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

  private var target: String? {
    var buffer = [CChar](repeating: 0, count: 256)
    let count = readlink(path, &buffer, buffer.count)
    return count >= 0 ? String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
  }
}
