import AccessoryCore
import Glibc
import LinuxIO

/// The directory where simulated accessories are plugged in and where hosts in other processes find them.
///
/// The standard local directory is the one that `$EASIM_LOCAL` names. If `EASIM_LOCAL` is not set, the directory is
/// `$XDG_RUNTIME_DIR/easim` or, if there is no runtime directory, `easim-UID` in the system's temporary directory. The
/// directory is created with mode 0700. A directory is refused if another user owns it or if the group or other users
/// can write to it, because anyone with write access could impersonate an accessory.
///
/// ``LocalEntry`` describes the files in the directory.
public struct LocalDirectory: Hashable, Sendable, CustomStringConvertible {
  /// The absolute path.
  public let path: String
  /// Whether the path is in the temporary directory, where it may be another user's symbolic link.
  private let mayBeLinked: Bool

  /// The maximum length of the directory's path in bytes. The path of each socket must fit in a socket address.
  public static let longestPath = Address.longestUnixPath - 1 - LocalEntry.longestName - LocalEntry.longestSuffix

  /// Creates the local directory at `path`, as in the address `local:DIR#SERIAL`. If `path` is nil, as in the address
  /// `local:`, uses the standard directory.
  public init(_ path: String?) {
    guard let path else {
      self = .standard()
      return
    }
    self.init(path: path)
  }

  private init(path: String, mayBeLinked: Bool = false) {
    var whole = path
    if !path.hasPrefix("/"), let here = getcwd(nil, 0) {
      whole = String(cString: here) + "/" + path
      free(here)
    }
    while whole.hasSuffix("/"), whole != "/" { whole.removeLast() }
    self.path = whole
    self.mayBeLinked = mayBeLinked
  }

  /// Returns the standard local directory.
  public static func standard(
    environment: (String) -> String? = { name in getenv(name).map { String(cString: $0) } }
  ) -> LocalDirectory {
    if let path = environment("EASIM_LOCAL"), !path.isEmpty { return LocalDirectory(path: path) }
    if let runtime = environment("XDG_RUNTIME_DIR"), runtime.hasPrefix("/"), isDirectory(runtime) {
      return LocalDirectory(path: runtime + "/easim")
    }
    let temporary = environment("TMPDIR").flatMap { $0.hasPrefix("/") && isDirectory($0) ? $0 : nil } ?? "/tmp"
    return LocalDirectory(path: "\(temporary)/easim-\(geteuid())", mayBeLinked: true)
  }

  /// Whether this is the standard local directory.
  public var isStandard: Bool { path == Self.standard().path }

  /// Returns the address of the accessory with this serial number, or the address of the whole directory if the serial
  /// number is nil.
  public func address(of serial: String?) -> Address {
    .local(directory: isStandard ? nil : path, serial: serial)
  }

  /// Creates the directory if it does not exist, and checks it.
  public func make() throws(LocalError) {
    guard path.utf8.count <= Self.longestPath else { throw .pathTooLong(path) }
    if mkdir(path, 0o700) != 0, errno != EEXIST {
      throw errno == ENOENT ? .noParent(path) : .system(.last("create the local directory \(path)"))
    }
    guard try check() else { throw .system(SystemError("create the local directory \(path)", code: ENOENT)) }
  }

  /// Returns true if the directory exists.
  ///
  /// - Throws: An error if the directory exists but cannot be trusted.
  public func check() throws(LocalError) -> Bool {
    var status = stat()
    let code = mayBeLinked ? lstat(path, &status) : stat(path, &status)
    guard code == 0 else {
      if errno == ENOENT { return false }
      throw .system(.last("examine the local directory \(path)"))
    }
    guard status.st_mode & S_IFMT == S_IFDIR else { throw .notADirectory(path) }
    guard status.st_uid == geteuid() else { throw .notOwned(path, by: status.st_uid) }
    for (bit, others) in [(mode_t(S_IWOTH), LocalError.Others.everybody), (mode_t(S_IWGRP), .group)]
    where status.st_mode & bit != 0 {
      throw .writable(path, by: others, holdsOnlyOwnFiles: holdsOnlyOwnFiles(mode: status.st_mode))
    }
    return true
  }

  /// Returns true if the directory's mode may be changed: the directory contains only files that easim created, and is
  /// not a system directory. A directory counts as a system directory if it is directly below the root, or if its
  /// setgid or sticky bit is set, as for /tmp and /var/mail.
  private func holdsOnlyOwnFiles(mode: mode_t) -> Bool {
    let other = fileNames().first { !$0.split(separator: ".").suffix(1).allSatisfy(LocalEntry.isSuffix) }
    return mode & 0o3000 == 0 && path.split(separator: "/").count > 1 && other == nil
  }

  private static func isDirectory(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// The directory's path.
  public var description: String { path }

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

/// The reason why a local directory cannot be used.
public enum LocalError: Error, Equatable, Sendable, CustomStringConvertible {
  case notADirectory(String)
  case notOwned(String, by: UInt32)
  /// Other users can write to the directory. easim suggests changing the mode only if no other files are there.
  case writable(String, by: Others, holdsOnlyOwnFiles: Bool)
  case noParent(String)
  /// The path is too long for a socket in the directory.
  case pathTooLong(String)
  case system(SystemError)

  /// Which other users can write to a directory.
  public enum Others: String, Sendable {
    case everybody
    case group = "its group"
  }

  /// The problem with the directory, and how to fix it.
  public var description: String {
    switch self {
    case .notADirectory(let path): "the local directory \(path) is not a directory: choose another with EASIM_LOCAL=DIR"
    case .notOwned(let path, let user):
      "the local directory \(path) belongs to user \(user), not to you (user \(geteuid())), so accessories there "
        + "cannot be trusted: choose another with EASIM_LOCAL=DIR"
    case .writable(let path, let others, let holdsOnlyOwnFiles):
      "\(others.rawValue) can write to the local directory \(path), so accessories there cannot be trusted: "
        + (holdsOnlyOwnFiles ? "chmod 700 \(path.shellWord), or " : "") + "choose another with EASIM_LOCAL=DIR"
    case .noParent(let path):
      "the local directory \(path) cannot be created, because its parent directory does not exist: create it "
        + "first, or choose another with EASIM_LOCAL=DIR"
    case .pathTooLong(let path):
      "the local directory \(path) has \(path.utf8.count) bytes in its path, and \(LocalDirectory.longestPath) leave "
        + "room for a socket's name: choose a shorter one with EASIM_LOCAL=DIR"
    case .system(let error): error.description
    }
  }
}
