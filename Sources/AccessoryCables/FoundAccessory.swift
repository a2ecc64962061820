import AccessoryCore
import LinuxIO

/// An accessory as its medium shows it before a connection.
///
/// These properties are hints; the identification of iAP2 decides.
public struct FoundAccessory: Equatable, Sendable {
  /// Different for every accessory, and for every attachment of the same one.
  public var key: String
  /// The same at each of its attachments: its serial number in a local directory, its port on USB.
  public var identity: String
  /// How it is addressed.
  public var address: Address
  /// The name that users see; empty where the medium does not know it.
  public var name = ""
  /// The manufacturer.
  public var manufacturer: String?
  /// The model; on USB vendor and product number, as `1209:0001`.
  public var model: String?
  /// The serial number.
  public var serial: String?
  /// The protocols that it offers now; nil where only its identification has them.
  public var protocols: [String]?
  /// Its card, in a local directory.
  public var card: LocalCard?
  /// Why it cannot be used now.
  public var trouble: TransportError?

  /// An accessory of which nothing is known but its place.
  public init(key: String, identity: String, address: Address) {
    self.key = key
    self.identity = identity
    self.address = address
  }

  /// Whether it only resembles an accessory: it stays unusable until something about it changes.
  public var isNearMiss: Bool { trouble.map { !$0.mayPass } ?? false }

  /// Whether it offers a protocol, as far as its medium knows. One that names none may be in the first half of a flicker.
  public func mayOffer(_ protocolName: String) -> Bool {
    protocols.map { $0.isEmpty || $0.contains(protocolName) } ?? true
  }
}

/// What happened at an address.
public enum AccessoryChange: Equatable, Sendable {
  /// An accessory was plugged in.
  case arrived(FoundAccessory)
  /// Something about it is different now; as it was before.
  case changed(FoundAccessory, from: FoundAccessory)
  /// It was unplugged.
  case left(FoundAccessory, reason: String)
  /// It came and went before anything could be read of it; as it was at another attachment, if that is known.
  case passed(FoundAccessory?)
  /// Something is not as it should be.
  case warning(String)
}

extension Address {
  /// Where it is, for messages: "the local directory /run/user/1000/easim", "USB", "unix:/tmp/a.sock".
  public var place: String {
    switch self {
    case .local(let directory, let serial):
      "the local directory \(LocalDirectory(directory))" + (serial.map { ", serial number \($0)" } ?? "")
    case .usb(.any): "USB"
    default: description
    }
  }

  /// Whether it names one accessory, and not a place that may have several.
  public var namesOneAccessory: Bool {
    if case .local(_, serial: .some) = self { true } else { false }
  }

  /// What to say when no accessory is there: "No Accessories Connected on USB".
  public var nothingThere: String {
    switch self {
    case .local(let directory, let serial?):
      "no accessory \(serial) in the local directory \(LocalDirectory(directory))"
    case .local(_, nil), .usb(.any): "No Accessories Connected in \(place)"
    default: "no accessory at \(self)"
    }
  }
}
