import AccessoryProfiles
import IAP2

/// What an accessory does at its own end, by its user, by a program, or by itself.
///
/// `WorldAction` has this as its part about accessories. It is down here because scripts ask for it, too, and worlds are
/// above them.
public enum AccessoryAction: Equatable, Sendable {
  /// It is plugged in, unless it is already.
  case plugIn
  /// It is unplugged in order: bytes on the way are still delivered.
  case unplug(Script.Answer.Absence = .stays)
  /// It is unplugged and plugged in again with a flicker: its own, or the usual one.
  case flicker
  /// It closes its sessions and stays connected.
  case closeSessions
  /// It forgets its sessions: they stay open at the device, and nothing is answered on them.
  case forgetSessions
  /// It has this quirk from now on.
  case quirk(Quirk)
  /// It sends a control message, or changes what its rules send.
  case message(OutgoingMessage)

  /// Whether it is for accessories that are plugged in, or for those that are not; nil for both.
  public var needsPlug: Bool? {
    switch self {
    case .plugIn: false
    case .unplug, .flicker: true
    case .closeSessions, .forgetSessions, .quirk, .message: nil
    }
  }
}

/// A control message that an end sends when it is asked to.
public struct OutgoingMessage: Equatable, Sendable {
  /// As files write it.
  public let entry: MessageRuleEntry

  /// The message that a rule sends, without what makes the rule send it.
  public init(_ entry: MessageRuleEntry) { self.entry = entry }

  /// The message; nil where the entry names none that exists.
  public var message: MessageID? { entry.send.messageID }
  /// Its parameters; none where those of the entry cannot be sent.
  public var parameters: [MessageRule.Element] { (try? entry.rule())?.parameters ?? [] }
}

extension SimulatedAccessory {
  /// Does something. A port that cannot be opened is an error; `reason` is why it is unplugged.
  public func perform(_ action: AccessoryAction, _ reason: String = "unplugged") throws {
    switch action {
    case .plugIn: if !isAttached { try plugIn() }
    case .unplug(let absence):
      unplug(reason)
      if case .returns(let after) = absence { comeBack(after: after) }
    case .flicker: flickerNow()
    case .closeSessions: closeSessions()
    case .forgetSessions: forgetSessions()
    case .quirk(let quirk): play(quirk)
    case .message(let sent):
      if let message = sent.message { say(message, sent.parameters) }
    }
  }
}
