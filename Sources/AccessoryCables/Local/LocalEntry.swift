import AccessoryCore
import Glibc
import LinuxIO

/// The files of one attached accessory in the local directory. The three files share a short random name and are
/// removed when the accessory is detached.
///
/// | file | contents | |---|---| | `NAME.sock` | the cable's socket: created first, removed last | | `NAME.lock` |
/// locked by the host that has claimed the cable | | `NAME.json` | the card, which is always complete |
///
/// An attachment is alive as long as a process is listening on its socket. Stale files can thus be detected without
/// trusting the process ID on the card.
///
/// A name consists of six characters for the accessory and a number that counts its attachments: `k3x9qa-2`. Names are
/// never reused. Files with any other name are left alone.
package struct LocalEntry: Hashable, Sendable {
  package let directory: LocalDirectory
  /// The name that the files share, without a suffix.
  package let name: String

  private static let letters = "abcdefghijkmnpqrstuvwxyz23456789"
  private static let letterCount = 6
  private static let mostDigits = 9
  static let longestName = letterCount + 1 + mostDigits
  static let longestSuffix = ".sock".utf8.count
  private static let suffixes = ["sock", "lock", "json", "tmp"]

  /// Creates the entry with this name, or returns nil if the name is not valid.
  package init?(_ name: String, in directory: LocalDirectory) {
    let parts = name.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].count == Self.letterCount, parts[0].allSatisfy(Self.letters.contains),
      1...Self.mostDigits ~= parts[1].utf8.count,
      parts[1].utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 })
    else { return nil }
    self.name = name
    self.directory = directory
  }

  /// Creates the entry whose card has this file name, or returns nil if the file is not a card.
  package init?(card file: String, in directory: LocalDirectory) {
    guard file.hasSuffix(".json") else { return nil }
    self.init(String(file.dropLast(".json".count)), in: directory)
  }

  package var socketFile: String { "\(name).sock" }
  package var lockPath: String { "\(directory.path)/\(name).lock" }
  package var socketPath: String { "\(directory.path)/\(socketFile)" }
  package var cardPath: String { "\(directory.path)/\(name).json" }
  var draftPath: String { "\(directory.path)/\(name).tmp" }

  /// The part of a name that all attachments of one accessory share.
  static func accessoryName(of name: String) -> Substring { name.prefix { $0 != "-" } }

  /// Random characters that identify an accessory. Because the system's random source is used, two processes get
  /// different names even if they use the same seed.
  package static func freshAccessoryName() -> String {
    String((0..<letterCount).map { _ in letters.randomElement() ?? "a" })
  }

  // MARK: Life and death

  /// Whether a process is listening on the socket.
  package var isAlive: Bool { UnixListener.isListened(at: socketPath) }

  /// Removes the accessory's files. The card is removed first, so no host can find a card that has no socket.
  package func remove() {
    for path in [cardPath, draftPath, lockPath, socketPath] { unlink(path) }
  }

  static func isSuffix(_ suffix: Substring) -> Bool { suffixes.contains { $0 == suffix } }

  /// Creates the file that hosts lock. Accessories create the socket first, then the lock file, then the card.
  package func makeLock() throws(SystemError) {
    _ = try OwnedDescriptor(open(lockPath, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600), "make \(lockPath)")
  }
}

extension LocalDirectory {
  /// Returns all entries that have a card (`NAME.json`), sorted by name.
  package func entries() -> [LocalEntry] {
    fileNames().compactMap { LocalEntry(card: $0, in: self) }.sorted { $0.name < $1.name }
  }

  /// Removes the files that dead processes have left behind. Returns the removed entries.
  @discardableResult
  package func sweep() -> [LocalEntry] {
    var suffixes: [String: Set<Substring>] = [:]
    for file in fileNames() {
      guard let dot = file.lastIndex(of: ".") else { continue }
      let suffix = file[file.index(after: dot)...]
      guard LocalEntry.isSuffix(suffix) else { continue }
      suffixes[String(file[..<dot]), default: []].insert(suffix)
    }
    let captures = capturingProcesses
    // Check for sockets being created after listing the files and before looking for listeners. If no socket is being
    // created then, each listed socket either has a listener already or will never have one.
    let isSocketBeingCreated = isSocketBeingCreated
    if !isSocketBeingCreated { sweep(capturesOf: captures) }
    return suffixes.compactMap { name, found -> LocalEntry? in
      guard let entry = LocalEntry(name, in: self), !entry.isAlive else { return nil }
      // A process listens on the socket before it creates the other files, so an entry that has other files but no
      // listener is dead.
      guard found != ["sock"] || !isSocketBeingCreated else { return nil }
      entry.remove()
      return entry
    }.sorted { $0.name < $1.name }
  }

  /// Returns the path of the socket where a process offers its cables to Wireshark.
  public func captureSocket(of process: Int32) -> String { "\(path)/capture-\(process).sock" }

  /// The processes that have a capture socket in this directory, including processes that were killed.
  public var capturingProcesses: [Int32] {
    fileNames().compactMap { file in
      guard file.hasPrefix("capture-"), file.hasSuffix(".sock") else { return nil }
      return Int32(file.dropFirst("capture-".count).dropLast(".sock".count))
    }.sorted()
  }

  private func sweep(capturesOf processes: [Int32]) {
    for socket in processes.map(captureSocket) where !UnixListener.isListened(at: socket) { unlink(socket) }
  }

  func fileNames() -> [String] { Folder.names(in: path) ?? [] }
}

/// A host's claim on a cable in the local directory: a locked file that contains the host's process ID.
///
/// The kernel releases the lock when the host process ends, for whatever reason.
package final class LocalClaim {
  package enum Outcome {
    /// This host may use the cable until the host releases the claim.
    case granted(LocalClaim)
    /// Another host is using the cable. The value is the host's process ID, if known.
    case inUse(pid: Int32?)
    case gone
  }

  private var descriptor: Int32

  private init(_ descriptor: Int32) {
    self.descriptor = descriptor
  }

  deinit { release() }

  package static func make(for entry: LocalEntry) throws(SystemError) -> Outcome {
    let number = open(entry.lockPath, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
    if number < 0, errno == ENOENT { return .gone }
    let file = try OwnedDescriptor(number, "open \(entry.lockPath)")
    guard flock(file.number, LOCK_EX | LOCK_NB) == 0 else {
      guard errno == EWOULDBLOCK else { throw .last("lock \(entry.lockPath)") }
      let holder = SmallFile.read(entry.lockPath).map { String(decoding: $0.dropLast(), as: UTF8.self) }
      return .inUse(pid: holder.flatMap { Int32($0) })
    }
    let text = Array("\(getpid())\n".utf8)
    ftruncate(file.number, 0)
    // If the write fails, other hosts' messages merely lack the process ID.
    _ = text.withUnsafeBytes { pwrite(file.number, $0.baseAddress, $0.count, 0) }
    return .granted(LocalClaim(file.release()))
  }

  /// Releases the cable, so that other hosts can claim it.
  package func release() {
    guard descriptor >= 0 else { return }
    close(descriptor)
    descriptor = -1
  }
}
