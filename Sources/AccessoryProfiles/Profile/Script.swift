import AccessoryCore

/// Request and response rules: how a session's bytes are cut into requests, and what each is answered with.
public struct Script: Equatable, Sendable {
  /// How requests are recognised in a stream without boundaries.
  public enum Framing: Equatable, Sendable {
    /// Each request ends with these bytes, which are not part of what the rules are compared with. Answers are sent as
    /// they are written: one that ends with the delimiter says so.
    case delimiter([UInt8])
    /// Each request has this many bytes.
    case fixed(Int)
    /// A request begins where the last one ended and is complete as soon as its bytes are those of a rule; what can
    /// no longer become the request of any rule is one unknown request.
    case any
  }

  /// One rule.
  public struct Rule: Equatable, Sendable {
    /// The request, whole.
    public var request: [UInt8]
    /// The answer; empty for none.
    public var response: [UInt8]
    /// How long after the request the answer goes out.
    public var delay: Duration

    /// A rule.
    public init(request: [UInt8], response: [UInt8], delay: Duration = .zero) {
      self.request = request
      self.response = response
      self.delay = delay
    }

    static let format = Record("rule", "a request and its answer", Rule(request: [], response: [])) {
      Field("request", \.request, .bytes, "the request, whole, without the delimiter", isRequired: true)
      Field("response", \.response, .bytes, "the answer, with its delimiter; none when left out")
      Field(
        "delay", \.delay, .duration(.zero ... .seconds(3600)), "how long after the request the answer goes out")
    }
  }

  /// How requests are recognised.
  public var framing: Framing
  /// The rules; the first one with an equal request answers.
  public var rules: [Rule]
  /// The answer to a request that no rule knows; nil for none.
  public var otherwise: [UInt8]?

  /// A script.
  public init(framing: Framing = .any, rules: [Rule], otherwise: [UInt8]? = nil) {
    self.framing = framing
    self.rules = rules
    self.otherwise = otherwise
  }

  static let format = Record("script", "answers requests by rules", Script(rules: [])) {
    Field(
      "framing", \.framing, .framing,
      "how requests are told apart: 'any' is complete as soon as it is the request of a rule")
    Field(
      "rules", \.rules, .list(of: .object(Rule.format)), "the first whose request is equal answers", isRequired: true)
    Field("otherwise", \.otherwise, .optional(.bytes), "the answer to any other request; none when left out")
  }
}

extension Format<Script.Framing> {
  /// `'any'`, or an object with exactly one key.
  fileprivate static let framing = Format(.either([.words(["any"]), .record(FramingParts.format.shape)])) {
    value, place in
    switch value.content {
    case .text("any"): return .any
    case .object:
      guard let parts = FramingParts.format.format.read(value, at: place) else { return nil }
      return parts.delimiter.map(Script.Framing.delimiter) ?? parts.fixed.map(Script.Framing.fixed)
    case .null, .boolean, .number, .text, .array:
      return place.expected("'any', { delimiter: … } or { fixed: … }", value)
    }
  } write: { framing in
    switch framing {
    case .any: .text("any")
    case .delimiter(let bytes): FramingParts.format.tree(FramingParts(delimiter: bytes))
    case .fixed(let count): FramingParts.format.tree(FramingParts(fixed: count))
    }
  }
}

/// The keys of a framing that is an object.
private struct FramingParts: Equatable {
  var delimiter: [UInt8]?
  var fixed: Int?

  static let format = Record("framing", "what ends a request", FramingParts()) {
    Field(
      "delimiter", \.delimiter, .optional(.bytes(named: "delimiter", atLeast: 1)), "the bytes that end each request")
    Field("fixed", \.fixed, .optional(.integer(1...65_536)), "how many bytes each request has")
  }.checked(schema: [.init("minProperties", .number(1)), .init("maxProperties", .number(1))]) { _, object in
    guard case .object(let members) = object.tree.content else { return }
    let given = ["delimiter", "fixed"].filter { object.value($0) != nil }
    if given.count == 2 || members.isEmpty {
      object.problems.error(
        at: object.position, path: object.path, "expected exactly one of 'delimiter' and 'fixed'")
    }
  }
}
