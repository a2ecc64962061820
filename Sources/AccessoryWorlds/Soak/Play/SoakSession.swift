import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import IAP2

/// One session as both ends know it: what each wrote and read, and why it was over for each.
///
/// Invariant, checked with every read: what one end has read is the beginning of what the other has written.
final class SoakSession {
  /// One end's half of the account.
  final class Half {
    /// Where its bytes lie in the pattern.
    let key: Int
    var written = 0
    var read = 0
    var end: SessionEnd?
    weak var session: Session?
    /// It came into being. The accessory's half does not when the session is refused or ignored.
    var isOpen = false

    /// Whether it is open and the other end has acknowledged all it wrote: then nothing will tell it that the other
    /// end is gone.
    var isAtRest: Bool { end == nil && (session?.unacknowledged ?? 0) == 0 }

    init(key: Int) {
      self.key = key
    }
  }

  let accessory: Int
  let id: UInt16
  let name: String
  let device: Half
  let simulator: Half
  /// The accessory sends back what it receives: its bytes are the device's.
  let isEcho: Bool
  /// The accessory leaves requests unanswered, or plays a session that is not on this account.
  let isIgnored: Bool
  /// Packets may be changed so that nobody can notice: then its bytes prove nothing.
  let isHostile: Bool
  /// How often a link had gone down when it was opened.
  let linkDownsBefore: Int

  init(accessory: Int, _ plan: SoakPlan, id: UInt16, number: Int, linkDowns: Int) {
    self.accessory = accessory
    self.id = id
    isEcho = plan.accessories[accessory].conduct == .echo
    isHostile = plan.isHostile
    let trouble = plan.accessories[accessory].profile.quirk(QuirkDefinition.session.name)?.choice("answer")
    isIgnored = trouble == "ignore" || trouble == "silent"
    linkDownsBefore = linkDowns
    name = "session \(id) of accessory \(accessory)"
    device = Half(key: number * 7_919)
    simulator = Half(key: isEcho ? number * 7_919 : number * 7_919 + 31_337)
  }

  /// Which end.
  enum Side {
    case device
    case simulator
  }

  subscript(side: Side) -> Half { side == .device ? device : simulator }

  func other(_ side: Side) -> Half { self[side == .device ? .simulator : .device] }

  /// Whether each end has read what the other wrote.
  var isDelivered: Bool { device.read == simulator.written && simulator.read == device.written }

  /// Whether nothing more can be expected of it.
  func isSettled(linkWentDown: Bool) -> Bool {
    switch (device.end == nil, simulator.isOpen && simulator.end == nil) {
    case (true, true): isDelivered
    case (false, false): true
    case (true, false): device.isAtRest && (linkWentDown || (isIgnored && !simulator.isOpen))
    case (false, true): simulator.isAtRest && linkWentDown
    }
  }

  /// What is wrong with how it came out; nil when nothing is.
  ///
  /// A link has no keep-alive: when one end has given it up and the other has nothing to send, the other does not know.
  /// That is no fault as long as the end that does not know waits for no acknowledgement.
  func fault(linkWentDown: Bool) -> SoakComplaint? {
    if simulator.isOpen, device.end == nil, let end = simulator.end {
      if linkWentDown, device.isAtRest { return nil }
      return SoakComplaint(
        .ending, "\(name) is over for the accessory (\(end)) and the device was never told: \(account)")
    }
    if simulator.isOpen, simulator.end == nil, let end = device.end {
      if linkWentDown, simulator.isAtRest { return nil }
      return SoakComplaint(
        .ending, "\(name) is over for the device (\(end)) and the accessory was never told: \(account)")
    }
    if device.end == nil, !simulator.isOpen, !linkWentDown, !isIgnored {
      return SoakComplaint(.ending, "\(name) is open for the device, and the accessory never heard of it")
    }
    if device.end == nil, simulator.isOpen, simulator.end == nil, !isDelivered {
      return SoakComplaint(
        .delivery, "\(name) is open and never delivered everything: \(account)")
    }
    // An orderly close comes behind everything that was written before it; an echo leaves what it cannot send back.
    if simulator.end == .closedByDevice, !isEcho, simulator.read < device.written {
      return SoakComplaint(
        .delivery, "\(name) was closed by the device in order, and bytes written before are missing: \(account)")
    }
    if device.end == .closedByAccessory, device.read < simulator.written {
      return SoakComplaint(
        .delivery, "\(name) was closed by the accessory in order, and bytes written before are missing: \(account)")
    }
    return nil
  }

  var account: String {
    "the accessory read \(simulator.read) of \(device.written) bytes, the device \(device.read) of \(simulator.written)"
  }
}
