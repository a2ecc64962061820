import AccessoryCore

/// An `EAAccessory` as Apple's own debug description prints it, byte for byte.
///
/// The three known generations of the layout differ only in the lines that they contain. The line for each field ends
/// with a space, two fields have no space after the colon, missing values are printed as `(null)`, and the protocols
/// are printed in Foundation's format for arrays.
///
/// ```swift
/// var dump = AccessoryDescription(identity: glasses.identity, protocols: ["com.lawaken.iap2"])
/// dump.connectionID = 33_685_633
/// print(dump.text)    // <EAAccessory: 0x282afdab0> { …
/// ```
public struct AccessoryDescription: Equatable, Sendable {
  /// The known layouts, oldest first.
  public enum Generation: Equatable, Sendable, CaseIterable {
    /// The layout of iOS 12, with `delegate` but without `regioncode`.
    case a
    /// The layout with both `delegate` and `regioncode`.
    case b
    /// The layout with `regioncode` but without `delegate`.
    case c
  }

  /// The accessory's identity.
  public var identity: Profile.Identity
  /// The protocols that are currently available. During the first connection of a flicker, the list is empty.
  public var protocols: [String]
  /// The address of the object in memory, which is meaningful only in the process that printed it.
  public var address: UInt64 = 0
  /// Whether the accessory is attached.
  public var isConnected = true
  /// The connection ID.
  public var connectionID: UInt64 = 0
  /// The length of the certificate's serial number in bytes.
  public var certSerial = Profile.Authentication.Generation.current.certSerial
  /// The length of the certificate in bytes.
  public var certData = Profile.Authentication.Generation.current.certData
  /// The description of the delegate, or nil if there is none.
  public var delegate: String?
  /// The layout of the description.
  public var generation: Generation = .b

  /// Creates the description of an attached accessory that has a current coprocessor.
  public init(identity: Profile.Identity, protocols: [String]) {
    self.identity = identity
    self.protocols = protocols
  }

  /// The description as text, without a trailing line break.
  public var text: String {
    var text = "<EAAccessory: 0x\(String(address, radix: 16))> { \n"
    text += "  connected:\(isConnected ? "YES" : "NO") \n  connectionID:\(connectionID) \n"
    func line(_ field: String, _ value: String?) { text += "  \(field): \(value ?? "(null)") \n" }
    line("name", identity.name)
    line("manufacturer", identity.manufacturer)
    line("modelNumber", identity.modelNumber)
    line("serialNumber", identity.serialNumber)
    line("ppid", identity.productPlanUID)
    if generation != .a { line("regioncode", identity.regionCode) }
    line("firmwareRevisionActive", identity.firmwareRevision)
    line("firmwareRevisionPending", identity.firmwareRevisionPending)
    line("hardwareRevision", identity.hardwareRevision)
    line("dockType", identity.dockType)
    line("certSerial", "\(certSerial) bytes")
    line("certData", "\(certData) bytes")
    line("protocols", PropertyListText.array(protocols))
    if generation != .c { line("delegate", delegate) }
    return text + "}"
  }
}

/// Formats strings and lists in the old ASCII property list format, as Foundation's `description` does.
package enum PropertyListText {
  /// Formats a list with one element per line, indented by four spaces. An element that contains anything other than
  /// letters and digits is quoted. Protocol names contain dots, so they are always quoted.
  package static func array(_ elements: [String]) -> String {
    let lines = elements.map { "    \(element($0))" }.joined(separator: ",\n")
    return elements.isEmpty ? "(\n)" : "(\n\(lines)\n)"
  }

  private static func element(_ text: String) -> String {
    let isPlain = !text.isEmpty && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
    return isPlain ? text : "\"\(escaped(text))\""
  }

  private static func escaped(_ text: String) -> String {
    text.utf16.map { unit in
      switch unit {
      case 0x22: return "\\\""
      case 0x5C: return "\\\\"
      case 0x0A: return "\\n"
      case 0x20...0x7E: return String(UnicodeScalar(UInt8(unit)))
      default: return "\\U" + Hex.number(unit, uppercase: false)
      }
    }.joined()
  }

  /// Resolves escapes. A backslash that begins no escape is kept, because names may contain unescaped backslashes.
  package static func unescaped(_ text: some StringProtocol) -> String {
    var units: [UInt16] = []
    var rest = Array(text.utf16)[...]
    while let unit = rest.popFirst() {
      if unit == 0x5C, let (value, length) = escape(rest) {
        units.append(value)
        rest = rest.dropFirst(length)
      } else {
        units.append(unit)
      }
    }
    return String(decoding: units, as: UTF16.self)
  }

  /// Decodes the escape whose backslash precedes `rest`. `length` is the number of units after the backslash.
  private static func escape(_ rest: ArraySlice<UInt16>) -> (value: UInt16, length: Int)? {
    switch rest.first {
    case 0x22: return (0x22, 1)
    case 0x5C: return (0x5C, 1)
    case 0x6E: return (0x0A, 1)
    case 0x55:
      let digits = String(decoding: rest.dropFirst().prefix(4), as: UTF16.self)
      guard digits.count == 4, digits.allSatisfy({ $0.isASCII && $0.isHexDigit }) else { return nil }
      return UInt16(digits, radix: 16).map { ($0, 5) }
    default: return nil
    }
  }
}
