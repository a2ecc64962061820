import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import IAP2

/// A record of one session: what each end wrote and read, and why the session ended at each end.
///
/// Invariant, which is checked at every read: the bytes that one end has read are a prefix of the bytes that the other
/// end has written.
final class SoakAccount {
  final class Half {
    let stream: UniqueStream
    var written = 0
    var read = 0
    var end: SessionEnd?
    weak var session: Session?
    /// Whether the session was opened at this end. If the accessory refuses or ignores a session, the session is not
    /// opened at the accessory's end.
    var isOpen = false

    /// Whether the session is open at this end and everything that this end wrote has been acknowledged. In this state,
    /// an end cannot detect that its peer is gone.
    var isAtRest: Bool { end == nil && (session?.unacknowledged ?? 0) == 0 }

    init(_ stream: UniqueStream) {
      self.stream = stream
    }
  }

  let accessory: Int
  let id: UInt16
  let name: String
  let device: Half
  let simulator: Half
  /// Whether the accessory echoes the bytes from the device.
  let isEcho: Bool
  /// Whether the accessory leaves requests unanswered or handles the session without this record.
  let isIgnored: Bool
  /// Whether packets may be corrupted without either end noticing. If so, wrong bytes do not break a rule.
  let isHostile: Bool
  /// How many times the link had already gone down when this session was opened.
  let linkDownsBefore: Int

  /// - Parameter isHostile: the plan's ``SoakPlan/isHostile``.
  init(accessory: Int, _ plan: SoakPlan, isHostile: Bool, id: UInt16, number: Int, linkDowns: Int) {
    self.accessory = accessory
    self.id = id
    isEcho = plan.accessories[accessory].streams == nil
    self.isHostile = isHostile
    let trouble = plan.accessories[accessory].profile.quirks.session?.answer
    isIgnored = trouble == .ignore || trouble == .silent
    linkDownsBefore = linkDowns
    name = "session \(id) of accessory \(accessory)"
    device = Half(UniqueStream(seed: plan.seed, session: 2 * number))
    // An echo sends back the bytes that it receives from the device.
    simulator = Half(UniqueStream(seed: plan.seed, session: 2 * number + (isEcho ? 0 : 1)))
  }

  subscript(end: Cable.End) -> Half { end == .device ? device : simulator }

  func open(_ end: Cable.End, _ session: Session, _ record: SoakRecord) {
    self[end].isOpen = true
    self[end].session = session
    record.leaks.watch(session, "session", Int(id))
  }

  var isDelivered: Bool { device.read == simulator.written && simulator.read == device.written }

  func isSettled(linkWentDown: Bool) -> Bool {
    switch (device.end == nil, simulator.isOpen && simulator.end == nil) {
    case (true, true): isDelivered
    case (false, false): true
    case (true, false): device.isAtRest && (linkWentDown || (isIgnored && !simulator.isOpen))
    case (false, true): simulator.isAtRest && linkWentDown
    }
  }

  /// Returns the rule that the outcome of the session breaks, or nil if it breaks none.
  ///
  /// A link has no keep-alive, so one side cannot tell that the other has given up unless it is waiting for an
  /// acknowledgement. At an end that is not waiting for an acknowledgement, the session may stay open.
  func fault(linkWentDown: Bool) -> SoakViolation? {
    for (half, other, names) in [
      (simulator, device, ("accessory", "device")), (device, simulator, ("device", "accessory")),
    ] where simulator.isOpen && other.end == nil {
      guard let end = half.end else { continue }
      if linkWentDown, other.isAtRest { return nil }
      return SoakViolation(
        .ending, "\(name) ended for the \(names.0) (\(end)) but not for the \(names.1): \(account)")
    }
    if device.end == nil, !simulator.isOpen, !linkWentDown, !isIgnored {
      return SoakViolation(.ending, "\(name) is open for the device, but was never opened for the accessory")
    }
    if device.end == nil, simulator.isOpen, simulator.end == nil, !isDelivered {
      return SoakViolation(
        .delivery, "\(name) is open, but some bytes were not delivered: \(account)")
    }
    // Bytes that were written before a clean close must arrive before the close. An echo is an exception because it
    // drops bytes that it can no longer send back.
    if simulator.end == .closedByDevice, !isEcho, simulator.read < device.written {
      return SoakViolation(
        .delivery, "\(name) was closed cleanly by the device, but earlier bytes are missing: \(account)")
    }
    if device.end == .closedByAccessory, device.read < simulator.written {
      return SoakViolation(
        .delivery, "\(name) was closed cleanly by the accessory, but earlier bytes are missing: \(account)")
    }
    return nil
  }

  var account: String {
    "the accessory read \(simulator.read) of \(device.written) bytes, the device \(device.read) of \(simulator.written)"
  }
}
