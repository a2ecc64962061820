import IAP2

/// The kinds of secrets that ``Redaction`` replaces.
public enum SecretKind: String, CaseIterable, Sendable {
  /// Serial numbers and device identifiers.
  case serial
  /// MAC addresses and pairing keys.
  case address
  /// Names of accessories, devices and people.
  case name
  /// Certificates and signatures.
  case certificate
  /// Network names and passphrases.
  case wifi
  /// Geographic positions.
  case location
  /// Other text, and values that are not described in the message catalog.
  case other
  /// Data that apps and accessories exchange.
  case payload

  /// The text that a replacement starts with.
  var label: String {
    switch self {
    case .serial: "serial"
    case .address: "address"
    case .name: "name"
    case .certificate: "certificate"
    case .wifi: "wifi"
    case .location: "place"
    case .other: "text"
    case .payload: "data"
    }
  }
}

/// A parameter in a control message: its position in the message, and its entry in the catalog.
struct ParameterPlace {
  let message: UInt16
  /// The numbers of the enclosing groups, followed by the parameter's own number.
  let path: [UInt16]
  let entry: MessageCatalog.ParameterEntry?

  /// Returns what kind of secret this parameter is, or nil if its value is not secret.
  ///
  /// Values known to be harmless are kept. All other values of three or more bytes are replaced, so parameters that are
  /// missing from the catalog cannot reveal anything.
  func kind(count: Int) -> SecretKind? {
    switch message {
    case 0xAA01, 0xAA03, 0xAA06: return .certificate
    case 0xAA02, 0x1D03: return nil
    case 0x5701, 0x5703:
      if let entry, entry.kind != .utf8 { return nil }
      return .wifi
    case 0x6800: return nil
    case 0x6801, 0x6802: return entry?.kind == .blob ? .payload : nil
    case 0xFFFB: return .location
    case 0x4E0A, 0xEA02: return nil
    default: break
    }
    guard let entry else { return count >= 3 ? .other : nil }
    switch entry.kind {
    case .u8, .u16, .u32, .u64, .i8, .i16, .number, .list, .none, .group: return nil
    case .utf8, .blob: break
    }
    let name = entry.name
    if name.contains("MAC") || name.contains("link key") || name == "Bluetooth id" { return .address }
    if name.contains("serial number") || name.hasSuffix("uid") || name.hasSuffix("UUID") || name == "USB id" {
      return .serial
    }
    if message == 0x1D01 || message == 0x1D06 {
      // The other values in an identification, such as protocols and versions, are the same for every unit of a
      // product.
      return path == [0] ? .name : nil
    }
    return name.hasSuffix("name") ? .name : .other
  }
}
