import AccessoryCore
import LinuxIO

/// What a medium shows about an accessory before a connection is made.
///
/// Everything that a medium shows is only a hint, because the iAP2 identification is authoritative.
public struct FoundAccessory: Equatable, Sendable {
  /// A key that differs for every accessory, and for every attachment of the same accessory.
  public var key: String
  /// An identity that stays the same for every attachment of an accessory: the serial number in a local directory, or
  /// the port on USB.
  public var identity: String
  /// The address that selects this accessory.
  public var address: Address
  /// The name shown to users; empty if the medium does not know it.
  public var name = ""
  /// The manufacturer.
  public var manufacturer: String?
  /// The model. On USB, the model is the vendor and product numbers, as in `1209:0001`.
  public var model: String?
  /// The serial number.
  public var serial: String?
  /// The protocols that the accessory currently offers; nil if the medium does not show them.
  public var protocols: [String]?
  /// The accessory's card, if it is in a local directory.
  public var card: LocalCard?
  /// Why the accessory cannot be used at present; nil if it can be used.
  public var trouble: TransportError?

  /// Creates an accessory of which only the location is known.
  public init(key: String, identity: String, address: Address) {
    self.key = key
    self.identity = identity
    self.address = address
  }

  /// Whether the device merely resembles an accessory; such a device stays unusable until something about it changes.
  public var isNearMiss: Bool { trouble.map { !$0.mayPass } ?? false }

  /// Returns true if the accessory might offer a protocol, according to its medium. An accessory that shows no
  /// protocols might offer any protocol, because that accessory may be in the first half of a flicker.
  public func mayOffer(_ protocolName: String) -> Bool {
    protocols.map { $0.isEmpty || $0.contains(protocolName) } ?? true
  }
}

/// A change at an address.
public enum AccessoryChange: Equatable, Sendable {
  case arrived(FoundAccessory)
  /// Something about an accessory has changed; the second value is the accessory's previous state.
  case changed(FoundAccessory, from: FoundAccessory)
  case left(FoundAccessory, reason: String)
  /// An accessory appeared and disappeared before anything could be read from it. The value describes an earlier
  /// attachment of the same accessory, if there was one.
  case passed(FoundAccessory?)
  case warning(String)

  /// The accessory that changed; nil if it is unknown.
  var accessory: FoundAccessory? {
    switch self {
    case .arrived(let accessory), .changed(let accessory, _), .left(let accessory, _): accessory
    case .passed(let accessory): accessory
    case .warning: nil
    }
  }
}

extension Address {
  /// A description of the address for messages, for example "the local directory /run/user/1000/easim", "USB" or
  /// "unix:/tmp/a.sock".
  public var place: String {
    switch self {
    case .local(let directory, let serial):
      "the local directory \(LocalDirectory(directory))" + (serial.map { ", serial number \($0)" } ?? "")
    case .usb(.any): "USB"
    default: description
    }
  }

  /// Whether the address names a single accessory, rather than a place where several may be plugged in.
  public var namesOneAccessory: Bool {
    if case .local(_, serial: .some) = self { true } else { false }
  }

  /// The message for an address without an accessory, for example "No Accessories Connected on USB".
  public var nothingThere: String {
    switch self {
    case .local(let directory, let serial?):
      "no accessory \(serial) in the local directory \(LocalDirectory(directory))"
    case .local(_, nil), .usb(.any): "No Accessories Connected in \(place)"
    default: "no accessory at \(self)"
    }
  }
}
