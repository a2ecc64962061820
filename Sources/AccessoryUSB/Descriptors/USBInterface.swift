import AccessoryCore
import AccessoryFormats

/// One alternate setting of one interface, as a configuration descriptor declares it.
public struct USBInterface: Equatable, Sendable {
  /// The interface's number.
  public var number: UInt8
  /// Which of its alternate settings this is.
  public var alternate: UInt8
  /// Class, subclass and protocol.
  public var kind: Kind
  /// The number of the string that names it; 0 for none.
  public var nameIndex: UInt8
  /// The endpoints, in the order of their descriptors.
  public var endpoints: [USBEndpoint]

  /// What an interface says it is.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    /// bInterfaceClass.
    public var classCode: UInt8
    /// bInterfaceSubClass.
    public var subclass: UInt8
    /// bInterfaceProtocol.
    public var protocolCode: UInt8

    /// Makes a kind.
    public init(_ classCode: UInt8, _ subclass: UInt8, _ protocolCode: UInt8) {
      self.classCode = classCode
      self.subclass = subclass
      self.protocolCode = protocolCode
    }

    /// iAP2: the link of an accessory that is a USB device.
    public static let iAP = Kind(0xFF, 0xF0, 0x00)
    /// A native transport: alternate 0 without endpoints, alternate 1 with a bulk pair.
    public static let native = Kind(0xFF, 0xF0, 0x01)

    /// "FF/F0/00".
    public var description: String {
      [classCode, subclass, protocolCode].map { Hex.number($0) }.joined(separator: "/")
    }
  }

  /// Makes an interface.
  public init(number: UInt8, alternate: UInt8 = 0, kind: Kind, nameIndex: UInt8 = 0, endpoints: [USBEndpoint] = []) {
    self.number = number
    self.alternate = alternate
    self.kind = kind
    self.nameIndex = nameIndex
    self.endpoints = endpoints
  }

  /// The first bulk endpoint of each direction, where there are both.
  public var bulkPair: (incoming: USBEndpoint, outgoing: USBEndpoint)? {
    let bulk = endpoints.filter { $0.isBulk && $0.packetSize > 0 && $0.address & 0x0F != 0 }
    guard let incoming = bulk.first(where: \.isIncoming), let outgoing = bulk.first(where: { !$0.isIncoming }) else {
      return nil
    }
    return (incoming, outgoing)
  }
}

/// An endpoint, as its descriptor declares it.
public struct USBEndpoint: Equatable, Sendable {
  /// Number and direction: bit 7 is set where the host reads.
  public var address: UInt8
  /// bmAttributes; its two lowest bits say how it transfers.
  public var attributes: UInt8
  /// The largest packet in bytes.
  public var packetSize: UInt16

  /// Makes an endpoint.
  public init(address: UInt8, attributes: UInt8 = 2, packetSize: UInt16) {
    self.address = address
    self.attributes = attributes
    self.packetSize = packetSize
  }

  /// Whether the host reads from it.
  public var isIncoming: Bool { address & 0x80 != 0 }
  /// Whether it is a bulk endpoint.
  public var isBulk: Bool { attributes & 3 == 2 }
}

/// How fast a USB device is, as far as an accessory is concerned.
public enum USBSpeed: Equatable, Sendable {
  /// 12 Mbit/s, bulk packets of 64 bytes.
  case full
  /// 480 Mbit/s, bulk packets of 512 bytes.
  case high

  /// The largest bulk packet, which is also the size that every bulk endpoint of this speed declares here.
  public var bulkPacketSize: UInt16 { self == .full ? 64 : 512 }
}
