/// The step with which a device begins, as users choose it.
public enum HostOrder: String, CaseIterable, Sendable {
  /// The device begins with authentication: AA00 … AA05, then 1D00.
  case authentication
  /// The device begins with identification: 1D00, 1D01, 1D02, then AA00. Some accessories do not answer anything until
  /// they are identified.
  case identification
  /// The device begins with authentication; for an accessory that ignores AA00 or hangs up on it, with identification.
  /// See `OrderMemory`.
  case auto
}
