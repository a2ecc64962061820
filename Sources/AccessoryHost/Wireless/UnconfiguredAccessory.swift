/// An accessory with Wi-Fi that no network knows yet, as it announces itself.
public struct UnconfiguredAccessory: Hashable, Sendable {
  /// What it says it can do once it is on the network.
  public struct Abilities: OptionSet, Hashable, Sendable {
    /// The bits, as Apple numbers them.
    public var rawValue: UInt

    /// Abilities from their bits.
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// It plays what is sent by AirPlay.
    public static let airPlay = Abilities(rawValue: 1 << 0)
    /// It prints what is sent by AirPrint.
    public static let airPrint = Abilities(rawValue: 1 << 1)
    /// It takes part in a HomeKit home.
    public static let homeKit = Abilities(rawValue: 1 << 2)
  }

  /// The name people see.
  public var name: String
  /// Manufacturer.
  public var manufacturer: String
  /// Model.
  public var model: String
  /// The name of the network that it spans for its own configuration.
  public var ssid: String
  /// Its address, which tells it from all others.
  public var macAddress: String
  /// What it can do.
  public var abilities: Abilities

  /// An accessory that waits to be configured.
  public init(
    name: String, manufacturer: String = "easim", model: String = "EW-1", ssid: String? = nil, macAddress: String,
    abilities: Abilities = []
  ) {
    self.name = name
    self.manufacturer = manufacturer
    self.model = model
    self.ssid = ssid ?? "\(name) Setup"
    self.macAddress = macAddress
    self.abilities = abilities
  }
}
