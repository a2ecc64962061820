import AccessoryCore
import LinuxIO

/// What a medium reveals about an accessory before a connection is made.
///
/// The medium's information is only a hint. The iAP2 identification is authoritative.
public struct FoundAccessory: Equatable, Sendable {
  /// A key that is unique to one attachment of an accessory.
  public var key: String
  /// An identity that all attachments of an accessory share: the serial number in a local directory, or the USB port.
  public var identity: String
  /// The address that selects this accessory.
  public var address: Address
  /// The name shown to users, or an empty string if the medium does not know the name.
  public var name = ""
  /// The manufacturer.
  public var manufacturer: String?
  /// The model or, on USB, the vendor and product IDs, such as `1209:0001`.
  public var model: String?
  /// The serial number.
  public var serial: String?
  /// The protocols that the accessory currently offers, or nil if the medium does not show protocols.
  public var protocols: [String]?
  /// The accessory's card, if it is in a local directory.
  public var card: LocalCard?
  /// Why the accessory cannot be used at the moment, or nil if it can be used.
  public var trouble: TransportError?

  /// Creates an accessory that is known only by its address.
  public init(key: String, identity: String, address: Address) {
    self.key = key
    self.identity = identity
    self.address = address
  }

  /// Whether the device merely resembles an accessory and cannot be used until something about it changes.
  public var isNearMiss: Bool { trouble.map { !$0.mayPass } ?? false }

  /// Returns true if the accessory might offer a protocol. An accessory that shows no protocols might offer any
  /// protocol, because it may be in the first half of a flicker.
  public func mayOffer(_ protocolName: String) -> Bool {
    protocols.map { $0.isEmpty || $0.contains(protocolName) } ?? true
  }
}

/// A change at an address, such as an arrival.
public enum AccessoryChange: Equatable, Sendable {
  case arrived(FoundAccessory)
  /// The information that the medium shows about an accessory has changed. `from` is the previous information.
  case changed(FoundAccessory, from: FoundAccessory)
  case left(FoundAccessory, reason: String)
  /// An accessory appeared and then disappeared before its information could be read. The value describes an earlier
  /// attachment of the accessory, if there was one.
  case passed(FoundAccessory?)
  case warning(String)

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

  /// Whether the address names a single accessory rather than a place where there may be several.
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
