extension Profile {
  /// What an accessory is as a USB device.
  public struct USB: Equatable, Sendable {
    /// The bus speeds that have bulk endpoints.
    public enum Speed: String, CaseIterable, Sendable {
      /// 12 Mbit/s.
      case full
      /// 480 Mbit/s.
      case high
      /// 5 Gbit/s.
      case `super`
    }

    /// The vendor id; by default that of pid.codes, which lends it for tests.
    public var vendor: UInt16 = 0x1209
    /// The product id; by default pid.codes' first one for tests.
    public var product: UInt16 = 0x0001
    /// The manufacturer string; nil for the identity's.
    public var manufacturerString: String?
    /// The product string; nil for the identity's name.
    public var productString: String?
    /// The serial string; nil for the identity's.
    public var serialString: String?
    /// How fast the accessory can be.
    public var speed: Speed = .high

    /// The defaults.
    public init() {}
  }
}
