import AccessoryCore
import AccessoryFormats
import Glibc
import LinuxIO

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

extension LocalEntry {
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
