import Glibc
import LinuxIO

extension LocalDirectory {
  /// Runs `body`, which creates a socket in this directory, and holds a lock on the directory until `body` returns.
  ///
  /// A socket's file exists for a moment before the socket accepts connections. While the lock is held, ``sweep()``
  /// does not remove the file. The kernel releases the lock if the process ends.
  public func creatingSocket<Result, Failure>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    let folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    defer { if folder >= 0 { close(folder) } }
    var mark = flock(F_RDLCK)
    // On a file system without locks, sweeps never remove sockets that have no card.
    if folder >= 0 { _ = fcntl(folder, Self.lockOfOpenFile, &mark) }
    return try body()
  }

  /// Whether a process is creating a socket in this directory, or true if this cannot be determined.
  var isSocketBeingCreated: Bool {
    let folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { return true }
    defer { close(folder) }
    var conflict = flock(F_WRLCK)
    return fcntl(folder, Self.conflictWithOpenFile, &conflict) != 0 || conflict.l_type != Int16(F_UNLCK)
  }

  /// Linux's `F_OFD_GETLK` and `F_OFD_SETLK`. Such a lock belongs to an open file, not to a process, so two simulators
  /// in one process have separate locks.
  private static let conflictWithOpenFile: Int32 = 36
  private static let lockOfOpenFile: Int32 = 37
}

extension flock {
  fileprivate init(_ type: Int32) {
    self.init()
    l_type = Int16(type)
    l_whence = Int16(SEEK_SET)
  }
}
