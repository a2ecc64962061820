/// What a device asks of an accessory first, as users choose it.
public enum HostOrder: String, CaseIterable, Sendable {
  /// AA00 … AA05, then 1D00.
  case authentication
  /// 1D00, 1D01, 1D02, then AA00. Some accessories answer nothing before they are identified.
  case identification
  /// Authentication; for an accessory that ignores AA00 or hangs up on it, identification. See `OrderMemory`.
  case auto
}
