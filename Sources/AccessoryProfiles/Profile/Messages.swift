import AccessoryCore

extension Profile {
  /// The control messages that an accessory declares in its identification. A device sends only what is declared as
  /// received.
  public struct Messages: Equatable, Sendable {
    /// What it sends: by default the status of a session (0xEA03).
    public var sent: [MessageName] = [.id(0xEA03)]
    /// What it receives: by default the start and the stop of a session (0xEA00, 0xEA01).
    public var received: [MessageName] = [.id(0xEA00), .id(0xEA01)]

    /// What every accessory with External Accessory sessions declares.
    public init() {}
  }

  /// A control message, by its number or by the name that the protocol's message table gives it. The table belongs to
  /// the protocol, so a name is looked up where the profile is played.
  public enum MessageName: Equatable, Hashable, Sendable, CustomStringConvertible {
    /// By number.
    case id(UInt16)
    /// By name: `StartExternalAccessoryProtocolSession`.
    case name(String)

    /// The name, or the number as `0xEA00`.
    public var description: String {
      switch self {
      case .id(let id): "0x" + Hex.number(id)
      case .name(let name): name
      }
    }
  }
}
