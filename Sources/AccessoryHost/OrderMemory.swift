import AccessoryProfiles
import IAP2

/// Remembers, for each address, the order of authentication and identification that the device found by trial.
///
/// ```
///   authentication first ── no answer ──▶ identification first ── no answer ──▶ authentication first, for good
///            │ ready                               │ ready
///            ▼                                     ▼
///   authentication first, for good        identification first, for good
/// ```
///
/// If an accessory is unplugged before it answers, the device cannot tell whether the accessory would have refused the
/// order. The device therefore tries the opposite order once.
struct OrderMemory {
  typealias Order = DevicePeer.Settings.Order

  private enum Entry {
    case trying(Order)
    case settled(Order)
  }

  /// The maximum number of addresses to remember. A limit is needed because each accessory in a local directory has its
  /// own address.
  private static let limit = 10_000

  private var entries: [String: Entry] = [:]

  /// Returns the order to use on the next link with the accessory at `place`, and whether the opposite order has
  /// already been tried.
  func next(at place: String) -> (order: Order, isLast: Bool) {
    switch entries[place] {
    case nil: (.authenticationFirst, false)
    case .trying(let order), .settled(let order): (order, true)
    }
  }

  /// Records that the accessory at `place` did not answer the first message. Returns the order to try next, or nil if
  /// both orders have been tried.
  mutating func ignored(at place: String) -> Order? {
    switch entries[place] {
    case nil:
      if entries.count >= Self.limit { entries.removeAll() }
      entries[place] = .trying(.identificationFirst)
      return .identificationFirst
    case .trying:
      entries[place] = .settled(.authenticationFirst)
      return nil
    case .settled: return nil
    }
  }

  /// Records that the accessory at `place` is ready. The order is remembered only if it was found by trial.
  mutating func ready(at place: String) {
    if case .trying(let order) = entries[place] { entries[place] = .settled(order) }
  }
}
