import AccessoryFormats
import IAP2

/// A message rule, as written in files. The rule says which control message to send automatically, and when.
public struct MessageRuleEntry: Equatable, Sendable {
  /// The message that the rule answers, or nil if the rule applies when the accessory connects.
  public var on: Profile.MessageName?
  /// The conditions that the parameters of the received message must meet.
  public var with: [Named<MessageValue>] = []
  /// How long to wait after the received message, or after the accessory connects.
  public var after: Duration = .zero
  /// How often to repeat the message, or nil to send it only once.
  public var every: Duration?
  /// The message that stops the rule.
  public var until: Profile.MessageName?
  /// The message to send.
  public var send: Profile.MessageName
  /// The parameters of the message to send.
  public var parameters: [Named<MessageValue>] = []
  /// Whether to send only the parameters that the received message requests.
  public var selects = false
  /// Whether to send the message even if the peer has not declared that it can receive the message.
  public var ignoresDeclaration = false

  /// Creates a rule.
  public init(send: Profile.MessageName) {
    self.send = send
  }

  /// The format of message rules in files.
  public static let format = Record(
    "message rule", "a control message that is sent automatically, as an answer, on connecting or repeatedly",
    Self(send: .unread)
  ) {
    Field("on", \.on, .optional(Profile.MessageName.format), "the message to answer; default: send on connecting")
    Field(
      "with", \.with, MessageValue.parameters,
      "parameters that the message to answer must contain, by name or number; true means any value")
    Field(
      "after", \.after, .duration(.zero...longest),
      "how long to wait after receiving the message to answer, or after connecting")
    Field(
      "every", \.every, .optional(.duration(.milliseconds(10)...longest)),
      "the interval at which to repeat the message; default: the message is sent only once")
    Field(
      "until", \.until, .optional(Profile.MessageName.format),
      "the message from the other end that stops the repetition")
    Field("send", \.send, Profile.MessageName.format, "the message to send", isRequired: true)
    Field(
      "parameters", \.parameters, MessageValue.parameters,
      "the message's parameters, by name or number: text, a number, true for a parameter without a value, hex for "
        + "bytes and unnamed parameters, or an object for a group; '=name' copies a parameter from the message being "
        + "answered, and '=time' inserts the time")
    Field(
      "select", \.selects, .boolean,
      "whether to send only the requested parameters; as in a subscription, a message requests parameters by including "
        + "empty ones with the same numbers"
    )
    Field(
      "undeclared", \.ignoresDeclaration, .boolean,
      "in a device's rules: whether to send the message even to accessories that do not declare it")
  }.checked { entry, object in
    entry.check(object)
    if object.value("on") == nil {
      for key in ["with", "select"] where object.value(key) != nil { object.error(key, "only for an answer ('on')") }
    }
  }

  private static let longest = Duration.seconds(24 * 3_600)

  /// Reports mistakes in the parameters. Message names that could not be read have already been reported.
  private func check(_ object: ObjectReader) {
    guard send != .unread, on != nil || object.value("on") == nil else { return }
    let asked = on?.messageID
    if let asked {
      Self.report("with", object) { () throws(OptionError) in _ = try MessageParameters(of: asked).conditions(with) }
    }
    checkParameters(object, answering: asked)
  }

  /// Reports mistakes in the parameters to send, which `object` holds under the key `parameters`.
  public func checkParameters(_ object: ObjectReader, answering asked: MessageID? = nil) {
    guard let message = send.messageID else { return }
    Self.report("parameters", object) { () throws(OptionError) in
      _ = try MessageParameters(of: message, answering: asked).elements(parameters)
    }
  }

  private static func report(_ key: String, _ object: ObjectReader, _ body: () throws(OptionError) -> Void) {
    do throws(OptionError) { try body() } catch { object.error(key, error.description) }
  }

  /// Converts the entry into the rule that peers apply.
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

  /// The parameters as they are sent on the wire, or an empty list if they cannot be sent.
  package var elements: [MessageRule.Element] { (try? rule())?.parameters ?? [] }
}

extension Profile.MessageName {
  /// A placeholder for a missing message name. No message has this number.
  fileprivate static let unread = Self.id(0)

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

/// The value of a parameter of a control message, as written in files and commands. The encoding depends on the
/// parameter. See ``MessageParameters``.
public enum MessageValue: Equatable, Sendable {
  /// A string. For a text parameter, the string is the value. For any other parameter, the string contains a number or
  /// bytes in hex. `=name` copies a parameter from the message being answered, and `=time` inserts the current time.
  case text(String)
  case number(Int64)
  /// A boolean value. For a parameter that has no value, the boolean says whether the parameter is present.
  case boolean(Bool)
  /// Several parameters that have the same number, or a list of message numbers.
  case list([MessageValue])
  /// The parameters in a group, or bytes as `{ hex: "0a 0b" }`.
  case group([Named<MessageValue>])

  /// The format of parameters that are given by name or number. The schema describes the parameters only as an object,
  /// because which parameters are valid depends on the message.
  public static let parameters: Format<[Named<MessageValue>]> = {
    let named = Format<[Named<MessageValue>]>.named(of: format(depth: 3))
    return Format(shape) { value, place in
      named.read(value, at: place)
    } write: {
      named.write($0)
    }
  }()

  /// The range of integers that a JSON number can represent exactly.
  private static let range = -(Int64(1) << 53)...(Int64(1) << 53)
  private static let expectation = "text, a whole number, true or false, a list or an object"

  /// Returns the format of a value. `depth` limits the nesting of lists and groups. No known message needs more than
  /// two levels of nesting.
  private static func format(depth: Int) -> Format<MessageValue> {
    Format(shape) { value, place in
      switch value.content {
      case .text(let text): return .text(text)
      case .boolean(let boolean): return .boolean(boolean)
      case .number(let number):
        if let integer = number.integer, range.contains(integer) { return .number(integer) }
      case .array where depth > 0:
        return Format<[MessageValue]>.list(of: format(depth: depth - 1)).read(value, at: place).map(MessageValue.list)
      case .object where depth > 0:
        return Format<[Named<MessageValue>]>.named(of: format(depth: depth - 1)).read(value, at: place)
          .map(MessageValue.group)
      case .null, .array, .object: break
      }
      return place.expected(expectation, value)
    } write: { value in
      value.tree
    }
  }

  private static let shape = Shape.document("parameters")

  private var tree: JSON5Value {
    switch self {
    case .text(let text): .text(text)
    case .number(let number): JSON5Value(.number(JSON5Number(number)))
    case .boolean(let boolean): .boolean(boolean)
    case .list(let values): .array(values.map(\.tree))
    case .group(let members): .object(members.map { JSON5Member($0.name, $0.value.tree) })
    }
  }
}

extension [Named<MessageValue>] {
  /// Parses words from the command line, such as `battery-percent=50` or, for a parameter in a group,
  /// `playback.status=2`.
  public init(words: [String]) throws(OptionError) {
    self = []
    for word in words {
      guard let mark = word.firstIndex(of: "="), mark != word.startIndex else {
        throw OptionError("'\(Excerpt.of(word))': expected NAME=VALUE")
      }
      let path = word[..<mark].split(separator: ".", omittingEmptySubsequences: false).map(String.init)
      add(path[...], .text(String(word[word.index(after: mark)...])))
    }
  }

  private mutating func add(_ path: ArraySlice<String>, _ value: MessageValue) {
    guard let key = path.first else { return }
    if path.count == 1 { return append(Named(key, value)) }
    var group: [Named<MessageValue>] = []
    let index = firstIndex { $0.name == key }
    if let index, case .group(let old) = self[index].value { group = old }
    group.add(path.dropFirst(), value)
    if let index { self[index].value = .group(group) } else { append(Named(key, .group(group))) }
  }
}
