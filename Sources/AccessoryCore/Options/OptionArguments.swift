/// The values that the parameters of one quirk or fault have: those that were given, and for the rest the defaults.
public struct OptionArguments: Equatable, Sendable {
  /// One parameter that was given.
  public struct Argument: Equatable, Sendable {
    /// The parameter's name.
    public let name: String
    /// Its value.
    public let value: OptionValue

    /// A value for a parameter.
    public init(name: String, value: OptionValue) {
      self.name = name
      self.value = value
    }
  }

  /// What takes these arguments, for messages: "the quirk 'flicker'".
  public let owner: String
  /// All the parameters there are.
  public let parameters: [OptionParameter]
  /// Those that were given, in the order of the parameters.
  public let given: [Argument]

  /// Arguments for the parameters of `owner`; those not given have their defaults.
  public init(of owner: String, _ parameters: [OptionParameter], given: [Argument] = []) {
    self.owner = owner
    self.parameters = parameters
    self.given = parameters.compactMap { parameter in given.first { $0.name == parameter.name } }
  }

  /// The arguments with one more given; a parameter that there is not, or a value outside its domain, traps.
  public func setting(_ parameter: String, to value: OptionValue) -> OptionArguments {
    let known = parameters.first { $0.name == parameter }
    precondition(known?.admits(value) == true, "\(owner) takes no \(parameter)=\(value)")
    return OptionArguments(of: owner, parameters, given: [Argument(name: parameter, value: value)] + given)
  }

  /// Reads `name=value` and bare words, each of which is the value of the choice it belongs to.
  public init(of owner: String, _ parameters: [OptionParameter], _ text: OptionText) throws(OptionError) {
    var given: [Argument] = []
    for part in text.parameters {
      let argument: Argument
      do {
        argument = try Self.argument(part, of: owner, parameters)
      } catch {
        throw OptionError("column \(part.column): \(error)")
      }
      if given.contains(where: { $0.name == argument.name }) {
        throw OptionError("column \(part.column): \(argument.name) is given twice")
      }
      given.append(argument)
    }
    self.init(of: owner, parameters, given: given)
  }

  private static func argument(
    _ part: OptionText.Parameter, of owner: String, _ parameters: [OptionParameter]
  ) throws(OptionError) -> Argument {
    if let text = part.value {
      if let parameter = parameters.first(where: { $0.name == part.name }) {
        return Argument(name: part.name, value: try parameter.value(text))
      }
      let hint = Suggestion.hint(for: part.name, in: parameters.map(\.name))
      throw OptionError("\(owner) has no parameter '\(Excerpt.of(part.name))'\(hint)")
    }
    if let parameter = parameters.first(where: { $0.words.contains(part.name) }) {
      return Argument(name: parameter.name, value: .choice(part.name))
    }
    let words = parameters.flatMap(\.words) + parameters.map { "\($0.name)=" }
    let hint = Suggestion.hint(for: part.name, in: words)
    throw OptionError("'\(Excerpt.of(part.name))' says nothing to \(owner)\(hint)")
  }

  /// The value of a parameter, given or default.
  public func value(_ parameter: String) -> OptionValue {
    if let given = given.first(where: { $0.name == parameter }) { return given.value }
    guard let known = parameters.first(where: { $0.name == parameter }) else {
      preconditionFailure("\(owner) has no parameter '\(parameter)'")
    }
    return known.standard
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

  /// The value of a chance.
  public func chance(_ parameter: String) -> Chance {
    guard case .chance(let chance) = value(parameter) else { wrongKind(parameter) }
    return chance
  }

  /// `name` and what was given, in the form that is read.
  public func text(_ name: String) -> String {
    ([name] + given.map { "\($0.name)=\($0.value)" }).joined(separator: ",")
  }

  private func wrongKind(_ parameter: String) -> Never {
    preconditionFailure("the parameter '\(parameter)' of \(owner) is of another kind")
  }
}
