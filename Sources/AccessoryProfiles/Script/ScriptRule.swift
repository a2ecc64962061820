import AccessoryCore
import AccessoryFormats

extension Script {
  /// One rule: a request, the states in which it is answered, and the answers.
  public struct Rule: Equatable, Sendable {
    /// The complete request. Exactly one of `request`, ``prefix`` and ``regex`` must be given.
    public var request: [UInt8]?
    /// The bytes that the request begins with.
    public var prefix: [UInt8]?
    /// The regular expression that must match the whole request.
    public var regex: BytePattern?
    /// The states in which the rule applies. If the list is empty, the rule applies in all states.
    public var states: [String] = []
    /// How many times the rule answers before the state changes, or nil if there is no limit.
    public var times: Int?
    /// The answer. If the answer is empty, nothing is sent.
    public var response: [UInt8] = []
    /// How long to wait after the request before sending the answer.
    public var delay = Duration.zero
    /// Answers that can contain inserted values, pauses and actions. They replace `response`.
    public var answers: [Answer] = []
    /// The state that the script enters immediately, or nil if the state does not change.
    public var next: String?

    /// Creates a rule.
    public init(request: [UInt8], response: [UInt8], delay: Duration = .zero) {
      self.request = request
      self.response = response
      self.delay = delay
    }

    /// Creates a rule for every request that matches a pattern.
    public init(regex: BytePattern, answers: [Answer]) {
      self.regex = regex
      self.answers = answers
    }

    private init() {}

    private static let kinds = ["request", "prefix", "regex"]

    static let format = Record("rule", "a request and its answer", Rule()) {
      Field("request", \.request, .optional(.bytes), "the whole request, without the delimiter")
      Field(
        "prefix", \.prefix, .optional(.bytes),
        "instead of `request`: the start of the request; answers can use the rest as `${1}`")
      Field(
        "regex", \.regex, .optional(.bytePattern),
        "instead of `request`: a regular expression that must match the whole request; answers can use its groups as "
          + "`${1}`, `${2}`, … or `${name}`"
      )
      Field(
        "in", \.states, .stateNames, "the state or states in which the rule applies; default: all")
      Field(
        "times", \.times, .optional(.integer(1...1_000_000)),
        "how many times the rule answers before later rules take over; `goto` resets the count; default: unlimited")
      Field("response", \.response, .bytes, "the answer, sent as is, including any delimiter; default: none")
      Field(
        "delay", \.delay, .duration(.zero ... .seconds(3600)), "time from the request to the response")
      Field(
        "answers", \.answers, .answers,
        "instead of `response`: several answers, with inserted values, pauses and actions")
      Field("goto", \.next, .optional(.stateName), "the next state, entered before anything is sent")
    }.checked(schema: [
      .init("anyOf", .array(kinds.map { .object([.init("required", .array([.text($0)]))]) }))
    ]) { rule, object in
      let given = kinds.filter { object.value($0) != nil }
      if given.isEmpty { object.error("a rule needs a 'request', a 'prefix' or a 'regex'") }
      for key in given.dropFirst() {
        object.error(
          key,
          "a rule can have only one of 'request', 'prefix' and 'regex', but this one has '\(given[0])' already")
      }
      if object.value("answers") != nil {
        if object.value("response") != nil {
          object.error("response", "a rule can have only one of 'response' and 'answers': make this the first answer")
        }
        if object.value("delay") != nil {
          object.error("delay", "'delay' is for a 'response': use 'after' in an answer")
        }
      }
    }
  }

  /// A timer that sends answers without a request, in each session that runs the script.
  public struct Timer: Equatable, Sendable {
    /// The states in which the timer runs. If the list is empty, the timer runs in all states.
    public var states: [String] = []
    /// The delay before the timer first fires, measured from when the session is opened or the state is entered.
    public var after: Duration?
    /// The interval between firings, or nil if the timer fires only once.
    public var every: Duration?
    /// The answers to send and the actions to perform.
    public var answers: [Answer]
    /// The state that the script enters immediately, or nil if the state does not change.
    public var next: String?

    /// Creates a timer.
    public init(after: Duration? = nil, every: Duration? = nil, answers: [Answer] = []) {
      (self.after, self.every, self.answers) = (after, every, answers)
    }

    static let format = Record("timer", "answers and actions that each session triggers without a request", Timer()) {
      Field("in", \.states, .stateNames, "the state or states in which the timer runs; default: all")
      Field(
        "after", \.after, .optional(.duration(.zero ... .seconds(86_400))),
        "time from the start of the session or state until the timer first fires; default: `every`"
      )
      Field(
        "every", \.every, .optional(.duration(.milliseconds(1) ... .seconds(86_400))),
        "the interval at which the timer repeats; default: the timer fires only once")
      Field("answers", \.answers, .answers, "the answers to send and actions to take")
      Field("goto", \.next, .optional(.stateName), "the next state, entered before anything is sent")
    }.checked(schema: [
      .init(
        "anyOf",
        .array(
          ["after", "every"].flatMap { when in
            ["answers", "goto"].map { .object([.init("required", .array([.text(when), .text($0)]))]) }
          }))
    ]) { _, object in
      if object.value("after") == nil, object.value("every") == nil {
        object.error("a timer needs 'after', 'every' or both")
      }
      if object.value("answers") == nil, object.value("goto") == nil {
        object.error("this timer does nothing: give 'answers' or 'goto'")
      }
    }
  }

  /// One item in a list of answers: bytes to send, or an action that the accessory performs.
  public struct Answer: Equatable, Sendable {
    /// Whether and when an accessory that unplugs itself is plugged in again.
    public enum Absence: Equatable, Sendable {
      case stays
      case returns(after: Duration)
    }

    /// The bytes to send, or nil to send none.
    public var send: ScriptTemplate?
    /// The protocol whose sessions send the answer, or nil to send it only in the session that made the request.
    public var protocolName: String?
    /// Whether to send the answer without a frame around it.
    public var isUnframed = false
    /// The pause before this answer.
    public var after = Duration.zero
    /// The state that the script enters, or nil if the state does not change.
    public var next: String?
    /// A quirk that the accessory has after this answer.
    public var quirk: Quirk?
    /// The reason for closing the session, or nil to keep the session open.
    public var close: String?
    /// How long the accessory stays unplugged after it unplugs itself, or nil if it stays plugged in.
    public var unplug: Absence?

    /// Creates an answer that sends bytes.
    public init(_ send: ScriptTemplate? = nil, after: Duration = .zero) { (self.send, self.after) = (send, after) }

    static let format = Record(
      "answer", "an answer, or just its text; if an answer has several keys, they take effect in this order", Answer()
    ) {
      Field("after", \.after, .duration(.zero ... .seconds(3600)), "how long to wait after the previous answer")
      Field(
        "send", \.send, .optional(.template), "the bytes to send: text with inserted values, or { hex: … }")
      Field(
        "to", \.protocolName, .optional(.text),
        "the protocol whose open sessions receive the answer; default: the session that asked")
      Field("unframed", \.isUnframed, .boolean, "whether to send the answer as is, without a frame")
      Field("goto", \.next, .optional(.stateName), "the next state")
      Field("quirk", \.quirk, .optional(.oneOf(Quirk.format)), "a quirk to add to the accessory")
      Field(
        "close", \.close, .optional(.text),
        "closes the session; the timeline shows this text as the reason")
      Field(
        "unplug", \.unplug, .optional(.absence),
        "unplugs the accessory for this long; with `stay`, until it is plugged in again")
    }.checked { answer, object in
      let actions = ["send", "goto", "quirk", "close", "unplug"]
      if !actions.contains(where: { object.value($0) != nil }), object.value("after") == nil {
        object.error("this answer does nothing: give \(actions.map { "'\($0)'" }.joined(separator: ", "))")
      }
      for key in ["to", "unframed"] where object.value(key) != nil && object.value("send") == nil {
        object.error(key, "there is nothing to 'send'")
      }
    }
  }
}

extension Format<String> {
  static let stateName = parsed(
    TextShape("state name", pattern: "^[A-Za-z][A-Za-z0-9_-]*$", length: 1...40),
    expected: "a state's name: a letter, then letters, digits, - and _, at most 40",
    { text in
      let isName =
        text.utf8.count <= 40 && text.first.map { $0.isASCII && $0.isLetter } ?? false
        && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
      return isName ? text : nil
    }, text: { $0 })
}

extension Format<[String]> {
  static let stateNames: Format = {
    let list = Format.list(of: .stateName, count: 1...64)
    return Format(.either([Format<String>.stateName.shape, list.shape])) { value, place in
      switch value.content {
      case .array: list.read(value, at: place)
      case .text: Format<String>.stateName.read(value, at: place).map { [$0] }
      case .null, .boolean, .number, .object: place.expected("a state or a list of states", value)
      }
    } write: { names in
      names.count == 1 ? .text(names[0]) : list.write(names)
    }
  }()
}

extension Format<BytePattern> {
  static let bytePattern = Format(.text(TextShape())) { value, place in
    guard case .text(let text) = value.content else { return place.expected("text", value) }
    do throws(OptionError) { return try BytePattern(text) } catch {
      place.error(value, "the regex '\(Excerpt.of(text))' is invalid \(error)")
      return nil
    }
  } write: {
    .text($0.text)
  }
}

extension Format<[Script.Answer]> {
  /// The format of a list of answers. Each answer is written as an object or as just the data to send.
  static let answers: Format = {
    let sent = Format<ScriptTemplate>.template
    let whole = Script.Answer.format.format
    return list(
      of: Format<Script.Answer>(.either([sent.shape, whole.shape])) { value, place in
        switch value.content {
        case .object where value["hex"] == nil: return whole.read(value, at: place)
        case .object, .text: return sent.read(value, at: place.key("send")).map { Script.Answer($0) }
        case .null, .boolean, .number, .array:
          return place.expected("an answer: text, { hex: … } or an object", value)
        }
      } write: { answer in
        if let template = answer.send, answer == Script.Answer(template) { return sent.write(template) }
        return whole.write(answer)
      })
  }()
}

extension Format<Script.Answer.Absence> {
  fileprivate static let absence: Format = {
    let time = Format<Duration>.duration(.zero ... .seconds(86_400))
    return Format(.either([.words(["stay"]), time.shape])) { value, place in
      value.content == .text("stay") ? .stays : time.read(value, at: place).map { .returns(after: $0) }
    } write: { absence in
      switch absence {
      case .stays: .text("stay")
      case .returns(let after): time.write(after)
      }
    }
  }()
}

extension Format<ScriptTemplate> {
  static let template = Format(Format<[UInt8]>.bytes.shape) { value, place in
    guard case .text(let text) = value.content else {
      return Format<[UInt8]>.bytes.read(value, at: place).map(ScriptTemplate.init(bytes:))
    }
    do throws(OptionError) { return try ScriptTemplate(text) } catch {
      place.error(value, error.description)
      return nil
    }
  } write: { template in
    switch template.source {
    case .text(let text): .text(text)
    case .bytes(let bytes): .object([JSON5Member("hex", .text(Hex.spaced(bytes)))])
    }
  }
}
