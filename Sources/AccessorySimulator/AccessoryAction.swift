import AccessoryProfiles
import IAP2

/// An action on an accessory. Users, programs and the accessory itself can start one.
///
/// `WorldAction` includes these actions. They are defined in this lower layer because scripts use them, too.
public enum AccessoryAction: Equatable, Sendable {
  case plugIn
  /// The accessory is unplugged cleanly, so bytes in transit are still delivered.
  case unplug(Script.Answer.Absence = .stays)
  /// The accessory is unplugged and plugged in again with a flicker: the profile's flicker if there is one, otherwise
  /// the default flicker.
  case flicker
  case closeSessions
  /// The accessory forgets its sessions. On the device, the sessions stay open but get no more answers.
  case forgetSessions
  case quirk(Quirk)
  /// The accessory sends a control message, or the action changes what the accessory's rules send.
  case message(OutgoingMessage)

  /// Whether the accessory must be plugged in (true) or unplugged (false) for the action, or nil if the action is
  /// possible in both cases.
  public var needsPlug: Bool? {
    switch self {
    case .plugIn: false
    case .unplug, .flicker: true
    case .closeSessions, .forgetSessions, .quirk, .message: nil
    }
  }
}

/// A control message that a user or a program has one side send.
public struct OutgoingMessage: Equatable, Sendable {
  /// The rule entry that describes the message, in the same form as in a profile.
  public let entry: MessageRuleEntry

  /// Creates a message from a rule's entry. The conditions under which the rule sends the message are ignored.
  public init(_ entry: MessageRuleEntry) { self.entry = entry }

  /// The number of the message, or nil if the entry names a message that does not exist.
  public var message: MessageID? { entry.send.messageID }
  /// The message's parameters. Empty if the parameters in the entry cannot be sent.
  public var parameters: [MessageRule.Element] { (try? entry.rule())?.parameters ?? [] }
}

extension SimulatedAccessory {
  /// Performs an action, or throws an error if a port cannot be opened. If the action unplugs the accessory, `reason`
  /// is reported as the reason.
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
