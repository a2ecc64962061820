import AccessoryCore
import Glibc
import LinuxIO

/// The bench: the directory where simulated accessories are plugged in and hosts in other processes find them.
///
/// The standard bench is `$EASIM_BENCH`; else `easim` in `$XDG_RUNTIME_DIR`; else `easim-UID` in the system's
/// temporary directory. It is created with mode 0700. A directory that belongs to another user, or that other users
/// or the group can write to, is refused, because whoever can write there can pretend to be an accessory.
///
/// ``BenchEntry`` describes the files in it.
public struct BenchDirectory: Hashable, Sendable {
  /// Which rule chose the directory.
  public enum Origin: Hashable, Sendable {
    /// An address names it.
    case address
    /// `$EASIM_BENCH` names it.
    case environment
    /// It is in the user's runtime directory.
    case runtimeDirectory
    /// It is in the system's temporary directory.
    case temporaryDirectory
  }

  /// Where it is, from the root.
  public let path: String
  /// Which rule chose it.
  public let origin: Origin

  /// The most bytes its path may have, so that the name of a socket in it still fits into a socket's address.
  public static let longestPath = Address.longestUnixPath - 1 - BenchEntry.longestName - BenchEntry.longestSuffix

  /// The bench of an address: `bench:DIR#SERIAL` names one, `bench:` means the standard one.
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

  /// The standard bench.
  public static func standard(
    environment: (String) -> String? = { name in getenv(name).map { String(cString: $0) } }
  ) -> BenchDirectory {
    if let path = environment("EASIM_BENCH"), !path.isEmpty { return BenchDirectory(path: path, origin: .environment) }
    if let runtime = environment("XDG_RUNTIME_DIR"), runtime.hasPrefix("/"), isDirectory(runtime) {
      return BenchDirectory(path: runtime + "/easim", origin: .runtimeDirectory)
    }
    let temporary = environment("TMPDIR").flatMap { $0.hasPrefix("/") && isDirectory($0) ? $0 : nil } ?? "/tmp"
    return BenchDirectory(path: "\(temporary)/easim-\(geteuid())", origin: .temporaryDirectory)
  }

  /// Whether this is the standard bench.
  public var isStandard: Bool { path == Self.standard().path }

  /// How an accessory on this bench is addressed; the whole bench without a serial number.
  public func address(of serial: String?) -> Address {
    .bench(directory: isStandard ? nil : path, serial: serial)
  }

  /// Makes the directory if it is not there, and checks it.
  public func make() throws(BenchError) {
    guard path.utf8.count <= Self.longestPath else { throw .pathTooLong(path) }
    if mkdir(path, 0o700) != 0, errno != EEXIST {
      throw errno == ENOENT ? .noParent(path) : .system(.last("make the bench \(path)"))
    }
    guard try check() else { throw .system(SystemError("make the bench \(path)", code: ENOENT)) }
  }

  /// Whether the directory exists.
  ///
  /// - Throws: when the existing directory cannot be trusted as a bench.
  public func check() throws(BenchError) -> Bool {
    var status = stat()
    // In a directory that every user can write to, a link could lead anywhere.
    let code = origin == .temporaryDirectory ? lstat(path, &status) : stat(path, &status)
    guard code == 0 else {
      if errno == ENOENT { return false }
      throw .system(.last("look at the bench \(path)"))
    }
    guard status.st_mode & S_IFMT == S_IFDIR else { throw .notADirectory(path) }
    guard status.st_uid == geteuid() else { throw .notOwned(path, by: status.st_uid) }
    for (bit, others) in [(mode_t(S_IWOTH), BenchError.Others.everybody), (mode_t(S_IWGRP), .group)]
    where status.st_mode & bit != 0 {
      throw .writable(path, by: others, isBench: isOnlyBench(mode: status.st_mode))
    }
    return true
  }

  /// Whether the directory is for nothing else, so that its mode may be changed: it has nothing but a bench's files, and
  /// is no directory of the system, which are below the root or have one of the special bits, as /tmp and /var/mail do.
  private func isOnlyBench(mode: mode_t) -> Bool {
    let other = fileNames().first { !$0.split(separator: ".").suffix(1).allSatisfy(BenchEntry.isSuffix) }
    return mode & 0o3000 == 0 && path.split(separator: "/").count > 1 && other == nil
  }

  private static func isDirectory(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }
}

extension BenchDirectory: CustomStringConvertible {
  /// The path.
  public var description: String { path }
}

/// Why a directory cannot be a bench.
public enum BenchError: Error, Equatable, Sendable, CustomStringConvertible {
  /// It is a file.
  case notADirectory(String)
  /// It belongs to another user.
  case notOwned(String, by: UInt32)
  /// Others can write to it. Unless it is a bench and nothing else, its mode is not easim's to change.
  case writable(String, by: Others, isBench: Bool)
  /// The directory it should be in is not there.
  case noParent(String)
  /// No socket fits into it.
  case pathTooLong(String)
  /// The system refused.
  case system(SystemError)

  /// Users who can write to a directory that is not theirs.
  public enum Others: String, Sendable {
    /// Every user.
    case everybody
    /// The directory's group.
    case group = "its group"
  }

  /// What is wrong and how to fix it.
  public var description: String {
    switch self {
    case .notADirectory(let path): "the bench \(path) is not a directory: choose another with EASIM_BENCH=DIR"
    case .notOwned(let path, let user):
      "the bench \(path) belongs to user \(user) and not to you (user \(geteuid())), so accessories there cannot be "
        + "trusted: choose another with EASIM_BENCH=DIR"
    case .writable(let path, let others, let isBench):
      "\(others.rawValue) may write to the bench \(path), so accessories there cannot be trusted: "
        + (isBench ? "chmod 700 \(path.shellWord), or " : "") + "choose another with EASIM_BENCH=DIR"
    case .noParent(let path):
      "the bench \(path) cannot be created, because its parent directory does not exist: create it first, or choose "
        + "another with EASIM_BENCH=DIR"
    case .pathTooLong(let path):
      "the bench \(path) has \(path.utf8.count) bytes in its path, and \(BenchDirectory.longestPath) leave room for a "
        + "socket's name: choose a shorter one with EASIM_BENCH=DIR"
    case .system(let error): error.description
    }
  }
}
