import AccessoryCore

/// A disturbance of a channel, by name with parameters: the value of `--fault loss,chance=5%,in`.
///
/// A fault is data and always valid: its name and parameters are in ``FaultDefinition/all``, its values within their
/// ranges. ``FaultChannel`` applies it, for simulated and real accessories alike.
///
/// ```swift
/// let slow = try Fault("rate,bytes=7500,for=20s")
/// let channel = FaultChannel(around: socket, [slow], random: SeededRandom(seed: 7), on: loop)
/// ```
///
/// Every fault has three parameters: the `direction` in which it acts (`in` is what this end receives, `out` what it
/// sends), `after` how long it begins, counted from the start of the channel, and `for` how long it lasts (0ms: until
/// the channel ends).
public struct Fault: Equatable, Sendable, CustomStringConvertible {
  /// What kind of fault it is.
  public let definition: FaultDefinition
  /// The values of its parameters.
  public let arguments: OptionArguments

  /// The directions of a channel, seen from the end that the fault is at.
  public enum Direction: String, Sendable, CaseIterable {
    /// What this end receives.
    case `in`
    /// What this end sends.
    case out
  }

  /// A fault with all its defaults.
  public init(_ definition: FaultDefinition) {
    self.definition = definition
    arguments = OptionArguments(of: "the fault '\(definition.name)'", definition.parameters)
  }

  /// Reads `NAME,parameter=value,…`. A bare word is the value of the choice it belongs to, so `loss,in` is
  /// `loss,direction=in`.
  public init(_ text: String) throws(FaultTextError) {
    let options = OptionText(text)
    guard let definition = FaultDefinition.named(options.name) else {
      let hint = Suggestion.hint(for: options.name, in: FaultDefinition.all.map(\.name))
      throw FaultTextError(text, "unknown fault '\(Excerpt.of(options.name))'\(hint)")
    }
    self.definition = definition
    do {
      arguments = try OptionArguments(of: "the fault '\(definition.name)'", definition.parameters, options)
    } catch {
      throw FaultTextError(text, error.description)
    }
  }

  private init(_ definition: FaultDefinition, _ arguments: OptionArguments) {
    self.definition = definition
    self.arguments = arguments
  }

  /// The fault with one parameter given; a parameter it does not have, or a value outside its domain, traps.
  public func setting(_ parameter: String, to value: OptionValue) -> Fault {
    Fault(definition, arguments.setting(parameter, to: value))
  }

  /// The fault's name: `loss`.
  public var name: String { definition.name }

  /// The directions it acts in.
  public var directions: [Direction] {
    Direction(rawValue: arguments.choice("direction")).map { [$0] } ?? Direction.allCases
  }

  /// How long after the channel's start it begins.
  public var after: Duration { arguments.duration("after") }

  /// How long it lasts; nil for as long as the channel.
  public var length: Duration? {
    let length = arguments.duration("for")
    return length == .zero ? nil : length
  }

  /// The form of the command line, with the parameters that were given.
  public var description: String { arguments.text(name) }
}

extension [Fault] {
  /// The bytes a second that a line with these faults carries at least; nil where none of them says. For
  /// `LinkSettings.lineRate`: an end that knows its line does not overfill it.
  public var lineRate: Int? {
    filter { $0.definition == .rate }.map { $0.arguments.count("bytes") }.min()
  }
}

/// Why a text is not a fault; the description is a sentence that quotes it.
public struct FaultTextError: Error, Equatable, Sendable, CustomStringConvertible {
  /// What is wrong, where, and the right form.
  public let description: String

  init(_ text: String, _ what: String) {
    description = "fault '\(Excerpt.of(text))': \(what)"
  }
}
