import AccessoryFormats
import IAP2

/// A rule about control messages as files write it: what is sent by itself, and when.
public struct MessageRuleEntry: Equatable, Sendable {
  /// The message that is answered; nil for a rule of the connection.
  public var on: MessageName?
  /// What its parameters must be.
  public var with: [Named<MessageValue>] = []
  /// How long after it, or after the connection.
  public var after: Duration = .zero
  /// How often again.
  public var every: Duration?
  /// The message that ends it.
  public var until: MessageName?
  /// What is sent.
  public var send: MessageName
  /// Its parameters.
  public var parameters: [Named<MessageValue>] = []
  /// Whether only the parameters are sent that the message asks for.
  public var selects = false
  /// Whether it is sent to an end that did not declare it as well.
  public var ignoresDeclaration = false

  /// How messages are named, as in the rest of a profile.
  public typealias MessageName = Profile.MessageName

  /// A rule.
  public init(send: MessageName) {
    self.send = send
  }

  /// How it is written.
  public static let format = Record(
    "message rule", "a control message that is sent automatically: as an answer, on connecting, or repeatedly",
    Self(send: .unread)
  ) {
    Field("on", \.on, .optional(MessageName.format), "the message to answer; default: send on connecting")
    Field(
      "with", \.with, MessageValue.parameters,
      "required parameters of that message, by name or number; true for any value")
    Field("after", \.after, .duration(.zero...longest), "delay after that message, or after connecting")
    Field(
      "every", \.every, .optional(.duration(.milliseconds(10)...longest)),
      "the interval at which it is sent again; default: sent once")
    Field("until", \.until, .optional(MessageName.format), "the message from the other end that stops the repetition")
    Field("send", \.send, MessageName.format, "the message to send", isRequired: true)
    Field(
      "parameters", \.parameters, MessageValue.parameters,
      "its parameters, by name or number: a text, a number, true for a parameter without a value, hex for bytes and "
        + "unnamed parameters, an object for a group; '=name' copies one from the message being answered, '=time' is "
        + "the time")
    Field(
      "select", \.selects, .boolean,
      "whether to send only the parameters that the message requests with empty ones of the same numbers, as in "
        + "subscriptions")
    Field(
      "undeclared", \.ignoresDeclaration, .boolean,
      "in a device's rules: whether to send it also to accessories that do not declare they can receive it")
  }.checked { entry, object in
    entry.check(object)
    if object.value("on") == nil {
      for key in ["with", "select"] where object.value(key) != nil { object.error(key, "only for an answer ('on')") }
    }
  }

  private static let longest = Duration.seconds(24 * 3_600)

  /// Reports what is wrong with the parameters. Messages that cannot be read were reported.
  private func check(_ object: ObjectReader) {
    guard send != .unread, on != nil || object.value("on") == nil else { return }
    let asked = on?.messageID
    if let asked {
      Self.report("with", object) { () throws(OptionError) in _ = try MessageParameters(of: asked).conditions(with) }
    }
    checkParameters(object, answering: asked)
  }

  /// Reports what is wrong with the parameters that are sent, at the key `parameters` of an object.
  public func checkParameters(_ object: ObjectReader, answering asked: MessageID? = nil) {
    guard let message = send.messageID else { return }
    Self.report("parameters", object) { () throws(OptionError) in
      _ = try MessageParameters(of: message, answering: asked).elements(parameters)
    }
  }

  private static func report(_ key: String, _ object: ObjectReader, _ body: () throws(OptionError) -> Void) {
    do throws(OptionError) { try body() } catch { object.error(key, error.description) }
  }

  /// The rule as it is played.
  public func rule() throws(OptionError) -> MessageRule {
    let asked: MessageID?
    if let on { asked = try on.known() } else { asked = nil }
    let message = try send.known()
    var trigger = MessageRule.Trigger.connection
    if let asked { trigger = .message(asked, with: try MessageParameters(of: asked).conditions(with)) }
    var rule = MessageRule(
      trigger, send: message, try MessageParameters(of: message, answering: asked).elements(parameters))
    rule.after = Milliseconds(after.milliseconds)
    rule.every = every.map { Milliseconds($0.milliseconds) }
    if let until { rule.until = try until.known() }
    rule.selects = selects
    rule.ignoresDeclaration = ignoresDeclaration
    return rule
  }
}

extension Profile.MessageName {
  /// In place of a message that a file does not have; no message has this number.
  fileprivate static let unread = Self.id(0)

  /// The message's number; a name that no message has is an error.
  func known() throws(OptionError) -> MessageID {
    guard let messageID else { throw OptionError(MessageID.complaint(about: description)) }
    return messageID
  }
}

extension Duration {
  var milliseconds: Int64 {
    components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000
  }
}
