extension Profile {
  /// What an accessory says about power in its identification.
  public struct Power: Equatable, Sendable {
    /// Whether it can feed the device.
    public enum Capability: String, CaseIterable, Sendable {
      /// It gives no power.
      case none
      /// The reserved value 1.
      case reserved
      /// It can feed and charge the device.
      case advanced

      /// The number on the wire.
      public var wireValue: UInt8 {
        switch self {
        case .none: 0
        case .reserved: 1
        case .advanced: 2
        }
      }
    }

    /// Whether it can feed the device.
    public var capability: Capability = .none
    /// The most it draws from the device, in milliamperes.
    public var maximumCurrent: UInt16 = 0

    /// No power either way.
    public init() {}
  }
}
