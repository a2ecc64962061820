import AccessoryCore
import AccessoryFormats
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

  /// Writes the card to the local directory, replacing any existing card. Readers always see a complete card.
  package func write(_ card: LocalCard) throws(SystemError) {
    let text = Array((card.json(socket: socketFile) + "\n").utf8)
    let draft = try OwnedDescriptor(
      open(draftPath, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600), "write \(draftPath)")
    guard text.withUnsafeBytes({ Glibc.write(draft.number, $0.baseAddress, $0.count) }) == text.count else {
      let error = SystemError.last("write \(draftPath)")
      unlink(draftPath)
      throw error
    }
    guard rename(draftPath, cardPath) == 0 else {
      let error = SystemError.last("move \(draftPath) to \(cardPath)")
      unlink(draftPath)
      throw error
    }
  }

  /// Returns the current contents of the card, or nil if the card has been removed.
  package func readCard() throws(SystemError) -> [UInt8]? {
    if let bytes = SmallFile.read(cardPath) { return bytes }
    if errno == ENOENT { return nil }
    throw .last("read \(cardPath)")
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

/// The description of an attached accessory, which hosts can read in the local directory before they claim a cable.
///
/// The card is only a hint. Everything that apps see comes from the accessory's identification.
///
/// ```json
/// {"v":1,"name":"李未可","serial":"…","manufacturer":"…","model":"…","protocols":["com.lawaken.iap2"],
///  "pid":4711,"processStart":218374,"attachedAt":1763691954.123456,"socket":"k3x9qa-2.sock"}
/// ```
public struct LocalCard: Equatable, Sendable {
  /// The version of the format that ``json`` writes.
  public static let version = 1

  /// What hosts can see. The list of protocols is empty during the first half of a flicker.
  public var appearance: PortAppearance
  /// The ID of the process that simulates the accessory.
  public var process: ProcessIdentity
  /// When the accessory was attached, in microseconds since 1970 (precise enough to sort accessories by arrival).
  public var attachedAt: Int

  /// Creates a card.
  public init(_ appearance: PortAppearance, process: ProcessIdentity, attachedAt: Int) {
    (self.appearance, self.process, self.attachedAt) = (appearance, process, attachedAt)
  }

  /// When the accessory was attached, in seconds since 1970.
  public var attachedSeconds: Double { Double(attachedAt) / 1_000_000 }

  /// Returns the contents of the card's file: one JSON object on one line.
  public func json(socket: String) -> String {
    String(JSON5Writer.write(CardFile.format.tree(CardFile(card: self, socket: socket)), as: .jsonLine).dropLast())
  }

  /// Reads a card from the local directory. Unknown keys, which a later version may have written, are ignored.
  ///
  /// - Throws: A ``LocalCardError`` that names the card and describes its problem.
  package init(reading bytes: [UInt8], of entry: LocalEntry) throws(LocalCardError) {
    let tree: JSON5Value
    do { tree = try JSON5.read(bytes, file: entry.cardPath) } catch { throw LocalCardError("\(error)") }
    if case .number(let number)? = tree["v"]?.content, let version = number.integer, version != Self.version {
      throw LocalCardError("\(entry.cardPath): written by another version of easim (v \(version))")
    }
    let file: CardFile
    do { file = try CardFile.format.readKnown(tree) } catch { throw LocalCardError("\(error.problems[0])") }
    guard file.socket == entry.socketFile else {
      throw LocalCardError("\(entry.cardPath): its socket must be \(entry.socketFile) in the same directory")
    }
    self = file.card
  }
}

/// Why a card cannot be used.
public struct LocalCardError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The card's name and its problem.
  public let description: String

  init(_ description: String) {
    self.description = description
  }
}

private struct CardFile: Equatable {
  var version = LocalCard.version
  var card: LocalCard
  var socket: String

  static let empty = CardFile(
    card: LocalCard(PortAppearance(), process: ProcessIdentity(pid: 1, startTime: 0), attachedAt: 0), socket: "")

  static let format = Record("card", "an attached accessory's entry in the local directory", empty) {
    Field("v", \.version, .integer(1...Int(Int32.max)), "the version of the format", isRequired: true)
    Field("name", \.card.appearance.name, .text, "the name people see", isRequired: true)
    Field("serial", \.card.appearance.serial, .text, "the serial number", isRequired: true)
    Field("manufacturer", \.card.appearance.manufacturer, .text, "the manufacturer", isRequired: true)
    Field("model", \.card.appearance.model, .text, "the model number", isRequired: true)
    Field("protocols", \.card.appearance.protocols, .list(of: .text), "its current protocols", isRequired: true)
    Field("pid", \.card.process.pid, .integer(1...Int32.max), "the process that runs the accessory", isRequired: true)
    Field(
      "processStart", \.card.process.startTime, .integer(0...UInt64(Int64.max)), "when that was started",
      isRequired: true)
    Field(
      "attachedAt", \.attachedAt, .number(0...1e12), "when the accessory was attached, in seconds since 1970",
      isAlwaysWritten: true)
    Field(
      "socket", \.socket, .text, "the file name of the accessory's socket, in the card's directory", isRequired: true)
  }

  private var attachedAt: Double {
    get { card.attachedSeconds }
    set { card.attachedAt = Int((newValue * 1_000_000).rounded()) }
  }
}
