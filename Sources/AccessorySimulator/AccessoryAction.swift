import AccessoryProfiles
import IAP2

/// An action on an accessory, started by a user, a program, or the accessory itself.
///
/// `WorldAction` includes these actions, which are defined in this lower layer because scripts use them, too.
public enum AccessoryAction: Equatable, Sendable {
  case plugIn
  /// The accessory is unplugged cleanly: bytes in transit are still delivered.
  case unplug(Script.Answer.Absence = .stays)
  /// The accessory is unplugged and plugged in again, with the profile's flicker or, if it has none, the default
  /// flicker.
  case flicker
  case closeSessions
  /// The accessory forgets its sessions, which stay open on the device but get no more answers.
  case forgetSessions
  case quirk(Quirk)
  /// The accessory sends a control message, or changes what its rules send.
  case message(OutgoingMessage)

  /// Whether the accessory must be plugged in (true) or unplugged (false) for the action; nil for either.
  public var needsPlug: Bool? {
    switch self {
    case .plugIn: false
    case .unplug, .flicker: true
    case .closeSessions, .forgetSessions, .quirk, .message: nil
    }
  }
}

/// A control message that one side sends on request.
public struct OutgoingMessage: Equatable, Sendable {
  /// The rule entry that describes the message, as in files.
  public let entry: MessageRuleEntry

  /// Creates a message from a rule's entry, ignoring the conditions under which the rule sends it.
  public init(_ entry: MessageRuleEntry) { self.entry = entry }

  /// The message's number; nil if the entry names a message that does not exist.
  public var message: MessageID? { entry.send.messageID }
  /// The message's parameters; empty if the entry's parameters cannot be sent.
  public var parameters: [MessageRule.Element] { (try? entry.rule())?.parameters ?? [] }
}

extension SimulatedAccessory {
  /// Performs an action; throws if a port cannot be opened. `reason` is reported if the action unplugs the accessory.
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
