import AccessoryCore
import Glibc
import LinuxIO

/// The files of one attached accessory in the local directory: three files of one short random name, all removed when
/// it detaches.
///
/// | file | contents |
/// |---|---|
/// | `NAME.sock` | the socket of the cable: created first, removed last |
/// | `NAME.lock` | locked by the host that has the cable |
/// | `NAME.json` | the card, which always appears whole |
///
/// An attachment is alive while a process listens on its socket, whatever process numbers say: so stale files are
/// recognised without trusting the card.
///
/// A name is six letters for the accessory and a count of its attachments: `k3x9qa-2`. No name is used twice. Files
/// with other names are never touched.
public struct LocalEntry: Hashable, Sendable {
  /// The directory it is in.
  public let directory: LocalDirectory
  /// Its name, without a suffix.
  public let name: String

  private static let letters = "abcdefghijkmnpqrstuvwxyz23456789"
  private static let letterCount = 6
  private static let mostDigits = 9
  static let longestName = letterCount + 1 + mostDigits
  static let longestSuffix = ".sock".utf8.count
  private static let suffixes = ["sock", "lock", "json", "tmp"]
  /// A socket younger than this, without a card yet, may be about to be listened on.
  private static let youth: Int = 2

  /// An entry by its name; nil when it can be none.
  public init?(_ name: String, in directory: LocalDirectory) {
    let parts = name.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].count == Self.letterCount, parts[0].allSatisfy(Self.letters.contains),
      1...Self.mostDigits ~= parts[1].utf8.count,
      parts[1].utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 })
    else { return nil }
    self.name = name
    self.directory = directory
  }

  /// The entry whose card has this file name; nil for every other file.
  public init?(card file: String, in directory: LocalDirectory) {
    guard file.hasSuffix(".json") else { return nil }
    self.init(String(file.dropLast(".json".count)), in: directory)
  }

  /// The socket's file name.
  public var socketFile: String { "\(name).sock" }
  /// The lock's path.
  public var lockPath: String { "\(directory.path)/\(name).lock" }
  /// The socket's path.
  public var socketPath: String { "\(directory.path)/\(socketFile)" }
  /// The card's path.
  public var cardPath: String { "\(directory.path)/\(name).json" }
  /// Where the card is written before it is moved into place.
  var draftPath: String { "\(directory.path)/\(name).tmp" }

  /// The letters that all attachments of one accessory have in common.
  public var accessoryName: Substring { name.prefix { $0 != "-" } }

  /// Letters for an accessory, by the system's chance: a world's own chance would give two processes with one seed one
  /// name.
  public static func freshAccessoryName() -> String {
    String((0..<letterCount).map { _ in letters.randomElement() ?? "a" })
  }

  // MARK: Life and death

  /// Whether a process listens on the socket.
  public var isAlive: Bool { UnixListener.isListened(at: socketPath) }

  /// Removes the files in an order in which no host is led astray: the card first.
  public func remove() {
    for path in [cardPath, draftPath, lockPath, socketPath] { unlink(path) }
  }

  static func isSuffix(_ suffix: Substring) -> Bool { suffixes.contains { $0 == suffix } }

  static func isYoung(_ path: String) -> Bool {
    var status = stat()
    guard lstat(path, &status) == 0 else { return false }
    return time(nil) - status.st_ctim.tv_sec < Self.youth
  }
}

extension LocalDirectory {
  /// Every entry that has a card, by name.
  public func entries() -> [LocalEntry] {
    fileNames().compactMap { LocalEntry(card: $0, in: self) }.sorted { $0.name < $1.name }
  }

  /// Removes what processes left that are gone, and returns what that was.
  @discardableResult
  public func sweep() -> [LocalEntry] {
    var suffixes: [String: Set<Substring>] = [:]
    for file in fileNames() {
      guard let dot = file.lastIndex(of: ".") else { continue }
      let suffix = file[file.index(after: dot)...]
      guard LocalEntry.isSuffix(suffix) else { continue }
      suffixes[String(file[..<dot]), default: []].insert(suffix)
    }
    sweepCaptures()
    return suffixes.compactMap { name, found -> LocalEntry? in
      guard let entry = LocalEntry(name, in: self), !entry.isAlive else { return nil }
      // The socket is listened on before anything else is made, so with another file it is dead for certain.
      guard found != ["sock"] || !LocalEntry.isYoung(entry.socketPath) else { return nil }
      entry.remove()
      return entry
    }.sorted { $0.name < $1.name }
  }

  /// The socket at which a process offers its cables to Wireshark.
  public func captureSocket(of process: Int32) -> String { "\(path)/capture-\(process).sock" }

  /// The processes that have such a socket. Some may have been killed.
  public var capturingProcesses: [Int32] {
    fileNames().compactMap { file in
      guard file.hasPrefix("capture-"), file.hasSuffix(".sock") else { return nil }
      return Int32(file.dropFirst("capture-".count).dropLast(".sock".count))
    }.sorted()
  }

  private func sweepCaptures() {
    for process in capturingProcesses {
      let socket = captureSocket(of: process)
      // Between making a socket and listening on it the process is there, with another number where it has a namespace.
      let isGone = kill(process, 0) != 0 && errno == ESRCH
      if !UnixListener.isListened(at: socket), isGone || !LocalEntry.isYoung(socket) { unlink(socket) }
    }
  }

  func fileNames() -> [String] { Folder.names(in: path) ?? [] }
}
