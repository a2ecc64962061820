import AccessoryFormats

extension Script {
  /// One rule: a request, in which states it counts, and what follows.
  public struct Rule: Equatable, Sendable {
    /// The request, whole; exactly one of this, ``prefix`` and ``regex`` is given.
    public var request: [UInt8]?
    /// What the request begins with.
    public var prefix: [UInt8]?
    /// What the whole request matches.
    public var regex: BytePattern?
    /// The states in which the rule counts; empty for all.
    public var states: [String] = []
    /// How often it answers at most, from one change of the state to the next; nil for any number.
    public var times: Int?
    /// The answer; empty for none.
    public var response: [UInt8]
    /// How long after the request the answer goes out.
    public var delay: Duration
    /// Answers with inserted values, pauses and actions, instead of `response`.
    public var answers: [Answer] = []
    /// The state that follows at once; nil for none.
    public var next: String?

    /// A rule.
    public init(request: [UInt8], response: [UInt8], delay: Duration = .zero) {
      self.request = request
      self.response = response
      self.delay = delay
    }

    /// A rule for every request that begins with these bytes.
    public init(prefix: [UInt8], answers: [Answer]) {
      self.prefix = prefix
      self.answers = answers
      (response, delay) = ([], .zero)
    }

    /// A rule for every request that matches a pattern.
    public init(regex: BytePattern, answers: [Answer]) {
      self.regex = regex
      self.answers = answers
      (response, delay) = ([], .zero)
    }

    private init() { (response, delay) = ([], .zero) }

    private static let kinds = ["request", "prefix", "regex"]

    static let format = Record("rule", "a request and its answer", Rule()) {
      Field("request", \.request, .optional(.bytes), "the whole request, without the delimiter")
      Field("prefix", \.prefix, .optional(.bytes), "instead: the start of the request; the rest is `${1}`")
      Field(
        "regex", \.regex, .optional(.bytePattern),
        "instead: a regular expression that the whole request matches; its groups are `${1}`, `${2}`, … or `${name}`")
      Field(
        "in", \.states, .stateNames, "the state or states in which the rule applies; default: all")
      Field(
        "times", \.times, .optional(.integer(1...1_000_000)),
        "how many times it answers until the next `goto`, after which later rules apply; default: unlimited")
      Field("response", \.response, .bytes, "the answer, sent as it is, including any delimiter; default: none")
      Field(
        "delay", \.delay, .duration(.zero ... .seconds(3600)), "time from the request to the response")
      Field(
        "answers", \.answers, .answers,
        "instead of `response`: several answers, with inserted values, pauses and "
          + "actions")
      Field("goto", \.next, .optional(.stateName), "the next state, entered before anything is sent")
    }.checked(schema: [
      .init("anyOf", .array(kinds.map { .object([.init("required", .array([.text($0)]))]) }))
    ]) { rule, object in
      let given = kinds.filter { object.value($0) != nil }
      if given.isEmpty { object.error("a rule needs a 'request', a 'prefix' or a 'regex'") }
      for key in given.dropFirst() {
        object.error(
          key,
          "a rule has only one of 'request', 'prefix' and 'regex', but this one has '\(given[0])' "
            + "already")
      }
      if object.value("answers") != nil {
        if object.value("response") != nil {
          object.error("response", "a rule has either 'response' or 'answers': make this one the first answer")
        }
        if object.value("delay") != nil {
          object.error("delay", "'delay' belongs to a 'response'; an answer has 'after'")
        }
      }
    }
  }

  /// Something that is sent without a request, in each session of the script.
  public struct Timer: Equatable, Sendable {
    /// The states in which it runs; empty for all.
    public var states: [String] = []
    /// When it fires first, from the opening of the session or the beginning of the state.
    public var after: Duration?
    /// How often it fires then; nil for once.
    public var every: Duration?
    /// What is sent and done.
    public var answers: [Answer]
    /// The state that follows at once; nil for none.
    public var next: String?

    /// A timer.
    public init(after: Duration? = nil, every: Duration? = nil, answers: [Answer] = []) {
      (self.after, self.every, self.answers) = (after, every, answers)
    }

    static let format = Record("timer", "something that happens in each session without a request", Timer()) {
      Field("in", \.states, .stateNames, "the state or states in which it runs; default: all")
      Field(
        "after", \.after, .optional(.duration(.zero ... .seconds(86_400))),
        "when it first fires, counted from the start of the session or state; default: `every`"
      )
      Field(
        "every", \.every, .optional(.duration(.milliseconds(1) ... .seconds(86_400))),
        "the interval at which it fires again; default: it fires once")
      Field("answers", \.answers, .answers, "what to send and do")
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
}

extension Format<String> {
  /// The name of a state.
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
  /// A state, or a list of them.
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
  /// A regular expression.
  static let bytePattern = Format(.text(TextShape())) { value, place in
    guard case .text(let text) = value.content else { return place.expected("text", value) }
    do throws(BytePatternError) { return try BytePattern(text) } catch {
      place.error(value, "the regex '\(Excerpt.of(text))' is wrong \(error)")
      return nil
    }
  } write: {
    .text($0.text)
  }
}
