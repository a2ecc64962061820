import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import IAP2

/// One session as seen from both sides: what each side wrote and read, and why the session ended for that side.
///
/// Invariant, checked with every read: what one side has read is a prefix of what the other has written.
final class SoakAccount {
  final class Half {
    let stream: UniqueStream
    var written = 0
    var read = 0
    var end: SessionEnd?
    weak var session: Session?
    /// Whether the session was opened on this side. A session that the accessory refuses or ignores is not opened.
    var isOpen = false

    /// Whether the session is open on this side and everything that this side wrote has been acknowledged. In this
    /// state, this side cannot find out that the peer is gone.
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
  /// Whether the accessory echoes, so that its bytes are the device's own.
  let isEcho: Bool
  /// Whether the accessory leaves requests unanswered, or handles a session without this record.
  let isIgnored: Bool
  /// Whether packets may be changed unnoticed, so that the bytes prove nothing.
  let isHostile: Bool
  /// How many times the link had gone down before the session was opened.
  let linkDownsBefore: Int

  init(accessory: Int, _ plan: SoakPlan, id: UInt16, number: Int, linkDowns: Int) {
    self.accessory = accessory
    self.id = id
    isEcho = plan.accessories[accessory].streams == nil
    isHostile = plan.isHostile
    let trouble = plan.accessories[accessory].profile.quirks.session?.answer
    isIgnored = trouble == .ignore || trouble == .silent
    linkDownsBefore = linkDowns
    name = "session \(id) of accessory \(accessory)"
    device = Half(UniqueStream(seed: plan.seed, session: 2 * number))
    // An echo sends back the device's bytes.
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

  /// What is wrong with the result; nil if nothing is.
  ///
  /// A link has no keep-alive, so a side with nothing to send cannot know that its peer has given up. It is therefore
  /// correct that its session stays open, as long as it is not waiting for an acknowledgement.
  func fault(linkWentDown: Bool) -> SoakViolation? {
    for (half, other, names) in [
      (simulator, device, ("accessory", "device")), (device, simulator, ("device", "accessory")),
    ] where simulator.isOpen && other.end == nil {
      guard let end = half.end else { continue }
      if linkWentDown, other.isAtRest { return nil }
      return SoakViolation(
        .ending, "\(name) ended for the \(names.0) (\(end)), but not for the \(names.1): \(account)")
    }
    if device.end == nil, !simulator.isOpen, !linkWentDown, !isIgnored {
      return SoakViolation(.ending, "\(name) is open for the device, but was never opened for the accessory")
    }
    if device.end == nil, simulator.isOpen, simulator.end == nil, !isDelivered {
      return SoakViolation(
        .delivery, "\(name) is open, but not everything was delivered: \(account)")
    }
    // A clean close must arrive after everything that was written before it. An echo is an exception, because it drops
    // the bytes that it can no longer send back.
    if simulator.end == .closedByDevice, !isEcho, simulator.read < device.written {
      return SoakViolation(
        .delivery, "\(name) was closed in order by the device, but earlier bytes are missing: \(account)")
    }
    if device.end == .closedByAccessory, device.read < simulator.written {
      return SoakViolation(
        .delivery, "\(name) was closed in order by the accessory, but earlier bytes are missing: \(account)")
    }
    return nil
  }

  var account: String {
    "the accessory read \(simulator.read) of \(device.written) bytes, the device \(device.read) of \(simulator.written)"
  }
}
