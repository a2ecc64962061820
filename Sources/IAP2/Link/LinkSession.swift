/// One entry of the session table in a SYN: a number, what it carries, and in which version.
public struct LinkSession: Hashable, Sendable {
  /// What a link session carries.
  public enum Kind: Hashable, Sendable {
    /// Control messages; there is exactly one.
    case control
    /// File transfers.
    case fileTransfer
    /// External Accessory sessions, all of them.
    case externalAccessory
    /// A type nobody has described.
    case unknown(UInt8)

    /// The byte on the wire.
    public var rawValue: UInt8 {
      switch self {
      case .control: 0
      case .fileTransfer: 1
      case .externalAccessory: 2
      case .unknown(let value): value
      }
    }

    /// The kind for a byte on the wire.
    public init(rawValue: UInt8) {
      switch rawValue {
      case 0: self = .control
      case 1: self = .fileTransfer
      case 2: self = .externalAccessory
      default: self = .unknown(rawValue)
      }
    }
  }

  /// Any number but 0, which is the link's own.
  public var id: UInt8
  /// What it carries.
  public var kind: Kind
  /// 1, or 2 for some control and file-transfer sessions; what 2 changes is not public.
  public var version: UInt8

  /// An entry of the table.
  public init(id: UInt8, kind: Kind, version: UInt8 = 1) {
    self.id = id
    self.kind = kind
    self.version = version
  }
}
