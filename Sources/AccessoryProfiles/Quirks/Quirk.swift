import AccessoryCore

/// An oddity of a role's conduct, by name with parameters: what `--quirk flicker,auth=never,cycles=3` says.
///
/// A quirk is data and always valid: its name and parameters are in ``QuirkDefinition/all``, and its values within
/// their ranges. What is not given has the definition's default.
///
/// ```swift
/// let quirk = try Quirk("flicker,cycles=3")
/// quirk.count("cycles")      // 3
/// quirk.duration("gap")      // 300 ms, the default
/// ```
public struct Quirk: Equatable, Sendable, CustomStringConvertible {
  /// What kind of quirk it is.
  public let definition: QuirkDefinition
  /// The parameters that were given, in the definition's order.
  public let given: [Argument]

  /// One parameter that was given.
  public struct Argument: Equatable, Sendable {
    /// The parameter's name.
    public let name: String
    /// Its value.
    public let value: QuirkValue
  }

  /// The quirk's name: `flicker`.
  public var name: String { definition.name }

  /// A quirk with all its defaults.
  public init(_ definition: QuirkDefinition) {
    self.definition = definition
    given = []
  }

  init(_ definition: QuirkDefinition, given: [Argument]) {
    self.definition = definition
    self.given = given
  }

  /// The quirk with one parameter given; a parameter it does not have, or a value outside its domain, traps.
  public func setting(_ parameter: String, to value: QuirkValue) -> Quirk {
    let known = definition.parameters.first { $0.name == parameter }
    precondition(known?.admits(value) == true, "the quirk '\(name)' takes no \(parameter)=\(value)")
    let others = given.filter { $0.name != parameter } + [Argument(name: parameter, value: value)]
    return Quirk(definition, given: definition.parameters.compactMap { one in others.first { $0.name == one.name } })
  }

  /// The value of a choice.
  public func choice(_ parameter: String) -> String {
    guard case .choice(let word) = value(parameter) else { wrongKind(parameter) }
    return word
  }

  /// The value of a count.
  public func count(_ parameter: String) -> Int {
    guard case .count(let count) = value(parameter) else { wrongKind(parameter) }
    return count
  }

  /// The value of a duration.
  public func duration(_ parameter: String) -> Duration {
    guard case .duration(let duration) = value(parameter) else { wrongKind(parameter) }
    return duration
  }

  /// The value of a parameter, given or default.
  public func value(_ parameter: String) -> QuirkValue {
    if let given = given.first(where: { $0.name == parameter }) { return given.value }
    guard let known = definition.parameters.first(where: { $0.name == parameter }) else {
      preconditionFailure("the quirk '\(name)' has no parameter '\(parameter)'")
    }
    return known.standard
  }

  private func wrongKind(_ parameter: String) -> Never {
    preconditionFailure("the parameter '\(parameter)' of the quirk '\(name)' is of another kind")
  }

  /// The form of the command line, with the parameters that were given.
  public var description: String {
    ([name] + given.map { "\($0.name)=\($0.value)" }).joined(separator: ",")
  }
}

/// The value of a quirk's parameter.
public enum QuirkValue: Equatable, Sendable, CustomStringConvertible {
  /// One of a few words.
  case choice(String)
  /// A whole number.
  case count(Int)
  /// A length of time.
  case duration(Duration)

  /// The value as it is written: `never`, `3`, `250ms`.
  public var description: String {
    switch self {
    case .choice(let word): word
    case .count(let count): "\(count)"
    case .duration(let duration): DurationText.format(duration)
    }
  }
}
