/// The control byte of a link packet.
public struct ControlBits: OptionSet, Hashable, Sendable {
  /// The byte as on the wire.
  public let rawValue: UInt8

  /// Makes the bits from the byte on the wire.
  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// Synchronise: the payload is a ``LinkParameters``.
  public static let syn = ControlBits(rawValue: 0x80)
  /// The acknowledgement number counts.
  public static let ack = ControlBits(rawValue: 0x40)
  /// Extended acknowledgement: the payload is a list of sequence numbers.
  public static let eak = ControlBits(rawValue: 0x20)
  /// Reset: the device ends the link.
  public static let rst = ControlBits(rawValue: 0x10)
  /// Sleep: the device suspends the link.
  public static let slp = ControlBits(rawValue: 0x08)
}

extension ControlBits: CustomStringConvertible {
  /// The names of the bits, joined by "+"; "none" without any.
  public var description: String {
    let names: [(ControlBits, String)] = [(.syn, "SYN"), (.ack, "ACK"), (.eak, "EAK"), (.rst, "RST"), (.slp, "SLP")]
    var parts = names.filter { contains($0.0) }.map(\.1)
    let unknown = rawValue & 0x07
    if unknown != 0 { parts.append("0x0\(unknown)") }
    return parts.isEmpty ? "none" : parts.joined(separator: "+")
  }
}
