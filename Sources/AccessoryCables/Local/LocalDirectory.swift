import AccessoryCore
import Glibc
import LinuxIO

/// The directory where simulated accessories are plugged in and hosts in other processes find them.
///
/// The standard local directory is `$EASIM_LOCAL`; else `easim` in `$XDG_RUNTIME_DIR`; else `easim-UID` in the system's
/// temporary directory. It is created with mode 0700. A directory that belongs to another user, or that other users
/// or the group can write to, is refused, because whoever can write there can pretend to be an accessory.
///
/// ``LocalEntry`` describes the files in the directory.
public struct LocalDirectory: Hashable, Sendable {
  /// Which rule chose the directory.
  public enum Origin: Hashable, Sendable {
    /// An address named it.
    case address
    /// `$EASIM_LOCAL` names it.
    case environment
    /// It is in the user's runtime directory.
    case runtimeDirectory
    /// It is in the system's temporary directory.
    case temporaryDirectory
  }

  /// The absolute path.
  public let path: String
  /// Which rule chose it.
  public let origin: Origin

  /// The maximum length of the path in bytes, so that a socket in the directory still fits into a socket address.
  public static let longestPath = Address.longestUnixPath - 1 - LocalEntry.longestName - LocalEntry.longestSuffix

  /// The local directory of an address: `local:DIR#SERIAL` names one, `local:` means the standard one.
  public init(_ path: String?) {
    guard let path else {
      self = .standard()
      return
    }
    self.init(path: path, origin: .address)
  }

  private init(path: String, origin: Origin) {
    var whole = path
    if !path.hasPrefix("/"), let here = getcwd(nil, 0) {
      whole = String(cString: here) + "/" + path
      free(here)
    }
    while whole.hasSuffix("/"), whole != "/" { whole.removeLast() }
    self.path = whole
    self.origin = origin
  }

  /// Refuses the former name of `EASIM_LOCAL`. A program that ignored it would look elsewhere and find nothing.
  public static func refuseOldVariable(
    environment: (String) -> String? = { name in getenv(name).map { String(cString: $0) } }
  ) throws(LocalError) {
    if let path = environment("EASIM_BENCH"), !path.isEmpty { throw .oldVariable }
  }

  /// The standard local directory.
  public static func standard(
    environment: (String) -> String? = { name in getenv(name).map { String(cString: $0) } }
  ) -> LocalDirectory {
    if let path = environment("EASIM_LOCAL"), !path.isEmpty { return LocalDirectory(path: path, origin: .environment) }
    if let runtime = environment("XDG_RUNTIME_DIR"), runtime.hasPrefix("/"), isDirectory(runtime) {
      return LocalDirectory(path: runtime + "/easim", origin: .runtimeDirectory)
    }
    let temporary = environment("TMPDIR").flatMap { $0.hasPrefix("/") && isDirectory($0) ? $0 : nil } ?? "/tmp"
    return LocalDirectory(path: "\(temporary)/easim-\(geteuid())", origin: .temporaryDirectory)
  }

  /// Whether this is the standard local directory.
  public var isStandard: Bool { path == Self.standard().path }

  /// The address of an accessory in this local directory; without a serial number, of the whole directory.
  public func address(of serial: String?) -> Address {
    .local(directory: isStandard ? nil : path, serial: serial)
  }

  /// Creates the directory if it is missing, and checks it.
  public func make() throws(LocalError) {
    guard path.utf8.count <= Self.longestPath else { throw .pathTooLong(path) }
    if mkdir(path, 0o700) != 0, errno != EEXIST {
      throw errno == ENOENT ? .noParent(path) : .system(.last("make the local directory \(path)"))
    }
    guard try check() else { throw .system(SystemError("make the local directory \(path)", code: ENOENT)) }
  }

  /// Whether the directory exists.
  ///
  /// - Throws: when the existing directory cannot be trusted.
  public func check() throws(LocalError) -> Bool {
    var status = stat()
    // In a directory that every user can write to, a symbolic link could lead anywhere.
    let code = origin == .temporaryDirectory ? lstat(path, &status) : stat(path, &status)
    guard code == 0 else {
      if errno == ENOENT { return false }
      throw .system(.last("look at the local directory \(path)"))
    }
    guard status.st_mode & S_IFMT == S_IFDIR else { throw .notADirectory(path) }
    guard status.st_uid == geteuid() else { throw .notOwned(path, by: status.st_uid) }
    for (bit, others) in [(mode_t(S_IWOTH), LocalError.Others.everybody), (mode_t(S_IWGRP), .group)]
    where status.st_mode & bit != 0 {
      throw .writable(path, by: others, holdsOnlyOwnFiles: holdsOnlyOwnFiles(mode: status.st_mode))
    }
    return true
  }

  /// Whether the directory is used for nothing else, so that its mode may be changed: it contains only a local
  /// directory's files, and is not a system directory. System directories are directly below the root or have one of
  /// the special bits, like /tmp and /var/mail.
  private func holdsOnlyOwnFiles(mode: mode_t) -> Bool {
    let other = fileNames().first { !$0.split(separator: ".").suffix(1).allSatisfy(LocalEntry.isSuffix) }
    return mode & 0o3000 == 0 && path.split(separator: "/").count > 1 && other == nil
  }

  private static func isDirectory(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }
}

extension LocalDirectory: CustomStringConvertible {
  /// The path.
  public var description: String { path }
}

/// Why no local directory can be used.
public enum LocalError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The environment contains the variable that `EASIM_LOCAL` replaced.
  case oldVariable
  /// The path is a file.
  case notADirectory(String)
  /// The directory belongs to another user.
  case notOwned(String, by: UInt32)
  /// Other users can write to the directory. Unless it is only a local directory, its mode is not easim's to change.
  case writable(String, by: Others, holdsOnlyOwnFiles: Bool)
  /// The parent directory does not exist.
  case noParent(String)
  /// The path is too long for a socket in it.
  case pathTooLong(String)
  /// The system refused.
  case system(SystemError)

  /// Users who can write to a directory that does not belong to them.
  public enum Others: String, Sendable {
    /// Every user.
    case everybody
    /// The directory's group.
    case group = "its group"
  }

  /// What is wrong and how to fix it.
  public var description: String {
    switch self {
    case .oldVariable: "the environment variable EASIM_BENCH is now EASIM_LOCAL: set that, and unset EASIM_BENCH"
    case .notADirectory(let path): "the local directory \(path) is not a directory: choose another with EASIM_LOCAL=DIR"
    case .notOwned(let path, let user):
      "the local directory \(path) belongs to user \(user) and not to you (user \(geteuid())), so accessories there "
        + "cannot be trusted: choose another with EASIM_LOCAL=DIR"
    case .writable(let path, let others, let holdsOnlyOwnFiles):
      "\(others.rawValue) may write to the local directory \(path), so accessories there cannot be trusted: "
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
