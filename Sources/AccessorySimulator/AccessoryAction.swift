import AccessoryProfiles
import IAP2

/// An action on an accessory. An action can be started by a user, a program, or the accessory itself.
///
/// `WorldAction` includes these actions. These actions are defined in this lower layer because scripts use them, too.
public enum AccessoryAction: Equatable, Sendable {
  case plugIn
  /// The accessory is unplugged cleanly, so bytes in transit are still delivered.
  case unplug(Script.Answer.Absence = .stays)
  /// The accessory is unplugged and plugged in again with the profile's flicker or, if the profile has none, with the
  /// default flicker.
  case flicker
  /// The accessory restarts, as it does after a crash or a firmware update: it disappears without closing its sessions,
  /// and comes back two seconds later.
  case restart
  case closeSessions
  /// The accessory forgets its sessions. On the device, the forgotten sessions stay open but get no more answers.
  case forgetSessions
  case quirk(Quirk)
  /// The accessory sends a control message, or the action changes what the accessory's rules send. The conditions under
  /// which the rule sends the message are ignored.
  case message(MessageRuleEntry)

  /// Whether the accessory must be plugged in (true) or unplugged (false) for the action, or nil if the action is
  /// possible in both cases.
  public var needsPlug: Bool? {
    switch self {
    case .plugIn: false
    case .unplug, .flicker, .restart: true
    case .closeSessions, .forgetSessions, .quirk, .message: nil
    }
  }
}

extension SimulatedAccessory {
  /// Performs an action, or throws an error if a port cannot be opened. `reason` is reported if the action is an
  /// unplug.
  public func perform(_ action: AccessoryAction, _ reason: String = "unplugged") throws {
    switch action {
    case .plugIn: if !isAttached { try plugIn() }
    case .unplug(let absence):
      unplug(reason)
      if case .returns(let after) = absence { comeBack(after: after) }
    case .flicker: flickerNow()
    case .restart:
      guard isAttached else { return }
      unplug("the accessory restarts")
      comeBack(after: .seconds(2))
    case .closeSessions: closeSessions()
    case .forgetSessions: forgetSessions()
    case .quirk(let quirk): play(quirk)
    case .message(let sent):
      if let message = sent.send.messageID { send(message, sent.elements) }
    }
  }
}
