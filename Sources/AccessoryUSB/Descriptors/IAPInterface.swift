/// An interface that carries iAP2, found in a device's descriptors, with what it takes to use it.
public struct IAPInterface: Equatable, Sendable {
  /// The configuration that it is in.
  public var configuration: UInt8
  /// The interface's number.
  public var number: UInt8
  /// The alternate setting that has the bulk pair.
  public var alternate: UInt8
  /// Where the host reads.
  public var incoming: USBEndpoint
  /// Where the host writes.
  public var outgoing: USBEndpoint

  /// The number of the string that names it; 0 for none.
  public var nameIndex: UInt8
  /// The native transports of the same device.
  public var natives: [NativeInterface] = []
}

/// An interface that carries the sessions of one External Accessory protocol by itself: native transport. Its name is
/// the protocol's.
public struct NativeInterface: Equatable, Sendable {
  /// The interface's number.
  public var number: UInt8
  /// The alternate setting that has the bulk pair; choosing it begins a session, and choosing 0 ends it.
  public var alternate: UInt8
  /// Where the host reads.
  public var incoming: USBEndpoint
  /// Where the host writes.
  public var outgoing: USBEndpoint
  /// The number of the string that names it; 0 for none.
  public var nameIndex: UInt8
}

/// What a device is to a host of accessories.
public enum IAPFinding: Equatable, Sendable {
  /// An accessory.
  case accessory(IAPInterface)
  /// Almost one; the sentence fragment names what is missing.
  case nearMiss(String)
  /// Something else altogether.
  case unrelated
}

extension USBDescriptors {
  /// Looks for an interface that carries iAP2.
  ///
  /// - Parameter active: the current configuration. It is preferred, because selecting another one takes every other
  /// interface away from the programs that use it.
  public func findIAP(active: UInt8?) -> IAPFinding {
    let ordered = configurations.filter { $0.value == active } + configurations.filter { $0.value != active }
    var reason: String?
    for configuration in ordered {
      for interface in configuration.interfaces where interface.kind == .iAP {
        if let pair = interface.bulkPair {
          return .accessory(
            IAPInterface(
              configuration: configuration.value, number: interface.number, alternate: interface.alternate,
              incoming: pair.incoming, outgoing: pair.outgoing, nameIndex: interface.nameIndex,
              natives: configuration.nativeInterfaces))
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
  /// The native transports that can be used: of each interface the first alternate setting with a bulk pair.
  var nativeInterfaces: [NativeInterface] {
    var found: [NativeInterface] = []
    for interface in interfaces where interface.kind == .native {
      guard let pair = interface.bulkPair, !found.contains(where: { $0.number == interface.number }) else { continue }
      found.append(
        NativeInterface(
          number: interface.number, alternate: interface.alternate, incoming: pair.incoming, outgoing: pair.outgoing,
          nameIndex: interface.nameIndex))
    }
    return found
  }
}

extension USBInterface {
  /// Why this is not a bulk pair, for messages.
  fileprivate var missingForBulkPair: String {
    let bulk = endpoints.filter { $0.isBulk && $0.packetSize > 0 && $0.address & 0x0F != 0 }
    switch (bulk.contains(where: \.isIncoming), bulk.contains { !$0.isIncoming }) {
    case (true, false): return "no bulk OUT endpoint"
    case (false, true): return "no bulk IN endpoint"
    default: return "no bulk endpoints"
    }
  }
}
