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
  /// The values of its parameters.
  public let arguments: OptionArguments

  /// The quirk's name: `flicker`.
  public var name: String { definition.name }

  /// A quirk with all its defaults.
  public init(_ definition: QuirkDefinition) {
    self.init(definition, given: [])
  }

  init(_ definition: QuirkDefinition, given: [OptionArguments.Argument]) {
    self.definition = definition
    arguments = OptionArguments(of: "the quirk '\(definition.name)'", definition.parameters, given: given)
  }

  /// The quirk with one parameter given; a parameter it does not have, or a value outside its domain, traps.
  public func setting(_ parameter: String, to value: OptionValue) -> Quirk {
    Quirk(definition, given: arguments.setting(parameter, to: value).given)
  }

  /// The value of a choice.
  public func choice(_ parameter: String) -> String { arguments.choice(parameter) }

  /// The value of a count.
  public func count(_ parameter: String) -> Int { arguments.count(parameter) }

  /// The value of a duration.
  public func duration(_ parameter: String) -> Duration { arguments.duration(parameter) }

  /// The value of a parameter, given or default.
  public func value(_ parameter: String) -> OptionValue { arguments.value(parameter) }

  /// The form of the command line, with the parameters that were given.
  public var description: String { arguments.text(name) }
}
