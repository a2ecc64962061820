import AccessoryCore

extension Profile {
  /// A transport component that an accessory declares. The USB modes are named from the Apple device's side: an
  /// accessory that is a USB device declares `usbHost`.
  public struct Transport: Equatable, Sendable {
    /// The kinds of transports.
    public enum Kind: Equatable, Sendable {
      /// The device is the USB host.
      case usbHost
      /// The device is the USB device.
      case usbDevice
      /// Bluetooth, with the accessory's address.
      case bluetooth(MACAddress)
      /// A serial line.
      case serial

      /// The names that profiles use.
      static let names = ["usbHost", "usbDevice", "bluetooth", "serial"]

      var name: String {
        switch self {
        case .usbHost: "usbHost"
        case .usbDevice: "usbDevice"
        case .bluetooth: "bluetooth"
        case .serial: "serial"
        }
      }
    }

    /// What it is.
    public var kind: Kind
    /// The component's number, different for each of an accessory.
    public var id: UInt16
    /// The component's name.
    public var name: String
    /// Whether iAP2 runs over it.
    public var supportsIAP2: Bool

    /// A transport component.
    public init(_ kind: Kind, id: UInt16, name: String, supportsIAP2: Bool = true) {
      self.kind = kind
      self.id = id
      self.name = name
      self.supportsIAP2 = supportsIAP2
    }
  }

  /// A Bluetooth address: six bytes, written `02:00:5E:10:00:01`.
  public struct MACAddress: Equatable, Hashable, Sendable, CustomStringConvertible {
    /// The six bytes as one number.
    public var value: UInt64

    /// An address from the low 48 bits of a number.
    public init(_ value: UInt64) {
      self.value = value & 0xFFFF_FFFF_FFFF
    }

    /// Reads six pairs of hex digits with colons; nil for anything else.
    public init?(_ text: String) {
      let pairs = text.split(separator: ":", omittingEmptySubsequences: false)
      guard pairs.count == 6 else { return nil }
      var value: UInt64 = 0
      for pair in pairs {
        guard pair.utf8.count == 2, pair.allSatisfy({ $0.isASCII && $0.isHexDigit }),
          let byte = UInt64(pair, radix: 16)
        else { return nil }
        value = value << 8 | byte
      }
      self.value = value
    }

    /// The bytes as they go into identification.
    public var bytes: [UInt8] {
      (0..<6).map { UInt8(truncatingIfNeeded: value >> (40 - 8 * $0)) }
    }

    /// Six pairs of hex digits with colons.
    public var description: String {
      bytes.map { Hex.number($0) }.joined(separator: ":")
    }
  }
}
