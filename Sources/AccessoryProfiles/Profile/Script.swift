/// Request and response rules: how a session's bytes are cut into requests, and what each is answered with.
public struct Script: Equatable, Sendable {
  /// How requests are told apart in a stream that keeps no boundaries.
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
  }

  /// How requests are told apart.
  public var framing: Framing
  /// The rules; the first whose request is equal answers.
  public var rules: [Rule]
  /// The answer to a request that no rule knows; nil for none.
  public var otherwise: [UInt8]?

  /// A script.
  public init(framing: Framing, rules: [Rule], otherwise: [UInt8]? = nil) {
    self.framing = framing
    self.rules = rules
    self.otherwise = otherwise
  }

  static let fixedRange = 1...65_536
}
