import AccessoryCore
import AccessoryFormats

/// One alternate setting of one interface, as declared in a configuration descriptor.
struct USBInterface: Equatable, Sendable {
  var number: UInt8
  var alternate: UInt8 = 0
  var kind: Kind
  /// The index of the string that names the interface; 0 means none.
  var nameIndex: UInt8 = 0
  var endpoints: [USBEndpoint] = []

  struct Kind: Hashable, Sendable, CustomStringConvertible {
    var classCode: UInt8
    var subclass: UInt8
    var protocolCode: UInt8

    init(_ classCode: UInt8, _ subclass: UInt8, _ protocolCode: UInt8) {
      self.classCode = classCode
      self.subclass = subclass
      self.protocolCode = protocolCode
    }

    /// The interface that carries the iAP2 link.
    static let iAP = Kind(0xFF, 0xF0, 0x00)
    /// A native transport. Alternate setting 0 has no endpoints, and setting 1 has a pair of bulk endpoints.
    static let native = Kind(0xFF, 0xF0, 0x01)

    /// The interface's class, subclass and protocol, such as "FF/F0/00".
    var description: String {
      [classCode, subclass, protocolCode].map { Hex.number($0) }.joined(separator: "/")
    }
  }

  var bulkPair: BulkPair? {
    guard let incoming = bulkEndpoint(isIncoming: true), let outgoing = bulkEndpoint(isIncoming: false) else {
      return nil
    }
    return BulkPair(
      number: number, alternate: alternate, incoming: incoming, outgoing: outgoing, nameIndex: nameIndex)
  }

  private func bulkEndpoint(isIncoming: Bool) -> USBEndpoint? {
    endpoints.first { $0.isIncoming == isIncoming && $0.isBulk && $0.packetSize > 0 && $0.address & 0x0F != 0 }
  }

  fileprivate var missingForBulkPair: String {
    switch (bulkEndpoint(isIncoming: true), bulkEndpoint(isIncoming: false)) {
    case (.some, nil): "no bulk OUT endpoint"
    case (nil, .some): "no bulk IN endpoint"
    default: "no bulk endpoints"
    }
  }
}

/// An interface's pair of bulk endpoints and the settings needed to use it. On a native transport, selecting the pair's
/// alternate setting begins a session, and selecting setting 0 ends it.
struct BulkPair: Equatable {
  var number: UInt8
  /// The alternate setting in which the endpoints exist.
  var alternate: UInt8
  /// The endpoint from which the host reads.
  var incoming: USBEndpoint
  /// The endpoint to which the host writes.
  var outgoing: USBEndpoint
  /// The index of the string that names the interface; 0 means none.
  var nameIndex: UInt8
}

struct USBEndpoint: Equatable, Sendable {
  /// The endpoint's number and direction. Bit 7 of the number is set if the host reads from the endpoint.
  var address: UInt8
  /// The transfer type, in the two lowest bits. The transfer type 2 means bulk.
  var attributes: UInt8 = 2
  var packetSize: UInt16

  var isIncoming: Bool { address & 0x80 != 0 }
  var isBulk: Bool { attributes & 3 == 2 }
}

/// The USB speeds at which accessories connect.
public enum USBSpeed: Equatable, Sendable {
  /// 12 Mbit/s, with bulk packets of 64 bytes.
  case full
  /// 480 Mbit/s, with bulk packets of 512 bytes.
  case high

  var bulkPacketSize: UInt16 { self == .full ? 64 : 512 }
}

enum IAPFinding: Equatable {
  case accessory(IAPInterfaces)
  /// The device resembles an accessory but lacks something. The associated sentence fragment says what the device
  /// lacks.
  case nearMiss(String)
  case unrelated
}

/// The interfaces on which an accessory offers iAP2 and native transports.
struct IAPInterfaces: Equatable {
  var configuration: UInt8
  var main: BulkPair
  /// The usable native transports. Each interface is listed with its first alternate setting that has a pair of bulk
  /// endpoints.
  var natives: [BulkPair] = []
}

extension USBDescriptors {
  /// Finds an interface that carries iAP2.
  ///
  /// - Parameter active: the current configuration, which is preferred because switching to another one would take
  ///   interfaces away from other programs.
  func findIAP(active: UInt8?) -> IAPFinding {
    let ordered = configurations.filter { $0.value == active } + configurations.filter { $0.value != active }
    var reason: String?
    for configuration in ordered {
      for interface in configuration.interfaces where interface.kind == .iAP {
        if let main = interface.bulkPair {
          return .accessory(
            IAPInterfaces(configuration: configuration.value, main: main, natives: configuration.nativeInterfaces))
        }
        reason = reason ?? "interface \(interface.number) is \(interface.kind) and has \(interface.missingForBulkPair)"
      }
    }
    if let reason { return .nearMiss(reason) }
    for configuration in ordered {
      for interface in configuration.interfaces where interface.kind == .native {
        return .nearMiss("interface \(interface.number) is a native transport, but the device has no iAP interface")
      }
    }
    return .unrelated
  }
}

extension USBDescriptors.Configuration {
  fileprivate var nativeInterfaces: [BulkPair] {
    interfaces.filter { $0.kind == .native }.compactMap(\.bulkPair).reduce(into: []) { found, pair in
      if !found.contains(where: { $0.number == pair.number }) { found.append(pair) }
    }
  }
}
