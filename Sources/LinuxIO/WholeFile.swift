import AccessoryCore
import Glibc

/// A file that is written completely or not at all: readers find either the old or the new contents, even if the
/// process or the machine crashes.
///
/// ```swift
/// let report = try WholeFile("report.json")    // fails now if it could not be written later
/// …
/// try report.write(bytes)
/// ```
///
/// The bytes are written to a temporary file in the same folder. Once the bytes are on disk, the temporary file
/// replaces the original. The new file keeps the mode of an existing file, and its owner if the system permits. If the
/// path is a link, the link stays and its target is replaced. Some files cannot be replaced and are written directly,
/// namely `-` (stdout), pipes, and the descriptors and devices in /dev and /proc.
public final class WholeFile: Sendable {
  private enum Place {
    /// A file to replace; `folder` and `path` contain no links.
    case file(folder: String, path: String)
    case descriptor(Int32, isOurs: Bool)
  }

  private let place: Place

  /// Checks that a file can be written, without changing anything. If the path is a pipe, the call blocks until the
  /// pipe has a reader.
  ///
  /// - Throws: the system's reason, such as a missing folder or missing permission.
  public init(_ path: String) throws(SystemError) {
    if path == "-" {
      place = .descriptor(STDOUT_FILENO, isOurs: false)
      return
    }
    guard let target = try Self.target(of: path) else {
      let descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY)
      guard descriptor >= 0 else { throw .last("write \(path)") }
      place = .descriptor(descriptor, isOurs: true)
      return
    }
    if faccessat(AT_FDCWD, target, W_OK, AT_EACCESS) != 0, errno != ENOENT { throw .last("write \(path)") }
    var folder = target
    while let last = folder.popLast(), last != "/" {}
    if folder.isEmpty { folder = target.hasPrefix("/") ? "/" : "." }
    place = .file(folder: folder, path: target)
    // The folder may be full or read-only, which users should learn now rather than after an hour-long run.
    let trial = try Self.temporary(in: folder, for: path)
    close(trial.descriptor)
    unlink(trial.path)
  }

  deinit {
    if case .descriptor(let number, isOurs: true) = place { close(number) }
  }

  /// Writes the file. After an error, the file is unchanged and no temporary file remains; a file that is written
  /// directly may have been written in part.
  public func write(_ bytes: [UInt8]) throws(SystemError) {
    switch place {
    case .descriptor(let number, _):
      if let code = FileWriting.write(bytes, to: number) { throw SystemError("write", code: code) }
    case .file(let folder, let path): try Self.replace(path, in: folder, with: bytes)
    }
  }

  private static func replace(_ path: String, in folder: String, with bytes: [UInt8]) throws(SystemError) {
    let new = try temporary(in: folder, for: path)
    do throws(SystemError) {
      defer { close(new.descriptor) }
      if let code = FileWriting.write(bytes, to: new.descriptor) { throw SystemError("write \(path)", code: code) }
      var status = stat()
      if stat(path, &status) == 0 {
        // Only root can change a file's owner; otherwise, the new file belongs to this user.
        _ = fchown(new.descriptor, status.st_uid, status.st_gid)
        guard fchmod(new.descriptor, status.st_mode & 0o7777) == 0 else { throw SystemError.last("write \(path)") }
      }
      try synchronize(new.descriptor, path)
      guard rename(new.path, path) == 0 else { throw SystemError.last("replace \(path)") }
    } catch {
      unlink(new.path)
      throw error
    }
    // Until the folder is also on disk, a system crash may restore the old file, which is also complete.
    let opened = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if opened >= 0 {
      defer { close(opened) }
      try synchronize(opened, path)
    }
  }

  // MARK: Where

  /// Returns the file that a path leads to, with links resolved, or nil for a file that is written directly.
  private static func target(of path: String) throws(SystemError) -> String? {
    if ["/dev/fd/", "/dev/std", "/proc/"].contains(where: path.hasPrefix) { return nil }
    var (status, next) = (stat(), path)
    // O_PATH opens only the name, so that the system's own rules for links in shared folders apply.
    let found = open(path, forNameAlone | O_CLOEXEC)
    if found >= 0 {
      defer { close(found) }
      guard fstat(found, &status) == 0 else { throw .last("write \(path)") }
      switch status.st_mode & S_IFMT {
      case S_IFREG: break
      case S_IFDIR: throw SystemError("write \(path)", code: EISDIR)
      default: return nil
      }
      guard let real = FilePath.real(path) else { throw .last("write \(path)") }
      return real
    }
    guard errno == ENOENT else { throw .last("write \(path)") }
    // The path is unused, or is a link to a file that does not exist yet.
    for _ in 0..<40 {
      guard let link = FilePath.target(ofLink: next) else { return next }
      var folder = next
      while let last = folder.last, last != "/" { folder.removeLast() }
      next = link.hasPrefix("/") ? link : folder + link
    }
    throw SystemError("write \(path)", code: ELOOP)
  }

  /// The value of O_PATH, which the C library declares only with _GNU_SOURCE.
  private static let forNameAlone: Int32 = 0o10_000_000

  private static func temporary(
    in folder: String, for path: String
  ) throws(SystemError) -> (descriptor: Int32, path: String) {
    // A killed process may have left a temporary file behind, so names that exist are skipped.
    for number in 0..<1_000 {
      let name = "\(folder)/.easim-\(getpid())-\(number).tmp"
      let descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o644)
      if descriptor >= 0 { return (descriptor, name) }
      if errno != EEXIST { throw .last("write \(path)") }
    }
    throw SystemError("write \(path)", code: EEXIST)
  }

  private static func synchronize(_ descriptor: Int32, _ path: String) throws(SystemError) {
    while fsync(descriptor) != 0 {
      switch errno {
      case EINTR: continue
      // The file system does not support `fsync` on folders.
      case EINVAL, EROFS, ENOTSUP: return
      default: throw .last("write \(path)")
      }
    }
  }
}

/// Writes to descriptors, handling interruptions and short writes.
public enum FileWriting {
  /// Writes all bytes, blocking as long as necessary. Returns the error number if a write fails.
  public static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32? {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count >= 0 {
        rest = rest.dropFirst(count)
        continue
      }
      let code = errno
      switch code {
      case EINTR: break
      // Another program has put the terminal or pipe into nonblocking mode.
      case EAGAIN:
        var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&waiting, 1, -1)
      default: return code
      }
    }
    return nil
  }
}
