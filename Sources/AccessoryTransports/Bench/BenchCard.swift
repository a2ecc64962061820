import AccessoryCore
import Glibc

/// What an attached accessory says of itself on the bench, for hosts that look before they take a cable.
///
/// A hint and no more: what an app sees comes from identification alone.
///
/// ```json
/// {"v":1,"name":"李未可","serial":"…","manufacturer":"…","model":"…","protocols":["com.lawaken.iap2"],
///  "pid":4711,"processStart":218374,"attachedAt":1763691954.123456,"socket":"k3x9qa-2.sock"}
/// ```
public struct BenchCard: Equatable, Sendable {
  /// The version of the form that ``json`` has.
  public static let version = 1

  /// The name people see.
  public var name: String
  /// The serial number.
  public var serial: String
  /// The manufacturer.
  public var manufacturer: String
  /// The model number.
  public var model: String
  /// The protocols it offers now: none in the first half of a flicker.
  public var protocols: [String]
  /// The process that plays it.
  public var process: ProcessIdentity
  /// When it was attached, in microseconds since 1970: fine enough to keep the order of arrival.
  public var attachedAt: Int

  /// A card.
  public init(
    name: String, serial: String, manufacturer: String, model: String, protocols: [String], process: ProcessIdentity,
    attachedAt: Int
  ) {
    self.name = name
    self.serial = serial
    self.manufacturer = manufacturer
    self.model = model
    self.protocols = protocols
    self.process = process
    self.attachedAt = attachedAt
  }

  /// When it was attached, in seconds since 1970.
  public var attachedSeconds: Double { Double(attachedAt) / 1_000_000 }

  /// The card as it is written: one object on one line.
  public func json(socket: String) -> String {
    var object = JSONObject()
    object.add("v", Self.version)
    object.add("name", name)
    object.add("serial", serial)
    object.add("manufacturer", manufacturer)
    object.add("model", model)
    object.add("protocols", protocols)
    object.add("pid", Int(process.pid))
    object.add("processStart", Int(clamping: process.startTime))
    object.add("attachedAt", attachedSeconds)
    object.add("socket", socket)
    return object.text
  }
}

extension BenchEntry {
  /// Puts the card on the bench, or another in its place. Whoever reads it finds the one or the other, never a part.
  public func write(_ card: BenchCard) throws(SystemError) {
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

  /// The card as it stands, to be parsed; nil when there is none any more.
  public func readCard() throws(SystemError) -> [UInt8]? {
    if let bytes = SmallFile.read(cardPath) { return bytes }
    if errno == ENOENT { return nil }
    throw .last("read \(cardPath)")
  }
}
