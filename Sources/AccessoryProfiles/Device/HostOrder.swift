/// What a device does first: authentication or identification.
public enum HostOrder: String, CaseIterable, Sendable {
  /// The device begins with authentication: AA00 … AA05, then 1D00.
  case authentication
  /// The device begins with identification: 1D00, 1D01, 1D02, then AA00. Some accessories ignore other messages until
  /// they are identified.
  case identification
  /// The device tries authentication first. If the accessory ignores AA00 or disconnects, the device begins with
  /// identification instead. See `OrderMemory`.
  case auto
}
