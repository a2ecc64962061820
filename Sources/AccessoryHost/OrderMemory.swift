import AccessoryProfiles
import IAP2

/// Which order the accessories at each address are asked in, where the device finds that out.
///
/// ```
///   authentication first ── no answer ──▶ identification first ── no answer ──▶ authentication first, for good
///            │ ready                               │ ready
///            ▼                                     ▼
///   authentication first, for good        identification first, for good
/// ```
///
/// An accessory that is pulled before its first answer looks like one that hangs up, so the other order is tried once.
struct OrderMemory {
  typealias Order = DevicePeer.Settings.Order

  private enum Entry {
    case trying(Order)
    case settled(Order)
  }

  /// The most addresses that are remembered; the accessories of a local directory have one each.
  private static let limit = 10_000

  private var entries: [String: Entry] = [:]

  /// The order for the next link with the accessory at `place`, and whether there is another to try.
  func next(at place: String) -> (order: Order, isLast: Bool) {
    switch entries[place] {
    case nil: (.authenticationFirst, false)
    case .trying(let order), .settled(let order): (order, true)
    }
  }

  /// The accessory at `place` did not answer the first message. Returns the order to try next, if there is another.
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

  /// The accessory at `place` is ready. Only an order that had to be found out is kept.
  mutating func ready(at place: String) {
    if case .trying(let order) = entries[place] { entries[place] = .settled(order) }
  }
}
