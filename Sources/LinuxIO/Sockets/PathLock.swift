import AccessoryCore
import Glibc

/// A lock on the file `PATH.lock`, held while a listener is listening at PATH.
///
/// Without the lock, two processes could both find the socket of a dead process and replace it; the second would then
/// remove the socket of the first. The kernel releases the lock when the process ends, even if it crashes. A killed
/// process leaves its lock file behind, and the next process reuses the file.
///
/// The file contains the line `easim PID`. A file with any other content does not belong to easim and is left alone.
final class PathLock {
  enum Problem: Error {
    /// Another process holds the lock; the value is its process ID, if the file contains it.
    case held(pid: Int32?)
    case isForeign(String)
    case system(SystemError)
  }

  private static let mark = "easim "
  /// How many times to reopen the file if its owner has just removed it.
  private static let attempts = 100

  private let path: String
  private var descriptor: Int32

  init(besides path: String) throws(Problem) {
    self.path = path + ".lock"
    descriptor = -1
    for _ in 0..<Self.attempts {
      if let taken = try Self.take(self.path) {
        descriptor = taken
        return
      }
    }
    throw .held(pid: nil)
  }

  deinit { release() }

  func release() {
    guard descriptor >= 0 else { return }
    // The file is removed before it is unlocked, so that a process that has just opened the file can tell that the path
    // no longer leads to it.
    if Self.isStill(descriptor, at: path) { unlink(path) }
    close(descriptor)
    descriptor = -1
  }

  /// Opens and locks the file. Returns nil if the file was removed before it could be locked.
  private static func take(_ path: String) throws(Problem) -> Int32? {
    let opened = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
    if opened < 0, [EISDIR, ELOOP, ENXIO].contains(errno) { throw .isForeign(path) }
    guard opened >= 0 else { throw .system(.last("open \(path)")) }
    do throws(Problem) {
      if try lock(opened, at: path) { return opened }
      close(opened)
      return nil
    } catch {
      close(opened)
      throw error
    }
  }

  /// Locks the file. Returns false if the file was removed after it was opened.
  private static func lock(_ file: Int32, at path: String) throws(Problem) -> Bool {
    guard try isOurs(file) else { throw .isForeign(path) }
    guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
      guard errno == EWOULDBLOCK else { throw .system(.last("lock \(path)")) }
      throw .held(pid: holder(file))
    }
    guard isStill(file, at: path) else { return false }
    let text = Array("\(mark)\(getpid())\n".utf8)
    ftruncate(file, 0)
    // If the write fails, the only effect is that other processes' messages omit the process ID.
    _ = text.withUnsafeBytes { pwrite(file, $0.baseAddress, $0.count, 0) }
    return true
  }

  /// Returns true if the file is a lock file: it belongs to this user or root, and contains either easim's line or, for
  /// a short time, nothing.
  private static func isOurs(_ file: Int32) throws(Problem) -> Bool {
    var status = stat()
    guard fstat(file, &status) == 0 else { throw .system(.last("look at a lock")) }
    guard status.st_mode & S_IFMT == S_IFREG else { return false }
    return status.st_size == 0 || text(file).hasPrefix(mark)
  }

  private static func holder(_ file: Int32) -> Int32? {
    Int32(text(file).dropFirst(mark.count).prefix { $0 != "\n" })
  }

  private static func text(_ file: Int32) -> String {
    var buffer = [UInt8](repeating: 0, count: 64)
    let count = buffer.withUnsafeMutableBytes { pread(file, $0.baseAddress, $0.count, 0) }
    return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
  }

  private static func isStill(_ file: Int32, at path: String) -> Bool {
    var (opened, named) = (stat(), stat())
    guard fstat(file, &opened) == 0, lstat(path, &named) == 0 else { return false }
    return (opened.st_dev, opened.st_ino) == (named.st_dev, named.st_ino)
  }
}
