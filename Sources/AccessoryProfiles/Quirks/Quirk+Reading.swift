import AccessoryCore

extension Quirk {
  /// Reads the form of the command line: a name, then parameters as `name=value`. A bare word is the value of the
  /// choice it belongs to, so `authentication,never` is `authentication,answer=never`.
  public init(_ text: String) throws(SourceProblems) {
    let problems = ProblemCollector()
    let quirk = Quirk.read(JSON5Value(.text(text)), path: "quirk", problems)
    try problems.throwErrors()
    guard let quirk else { preconditionFailure("a quirk that was not read has no reported problem") }
    self = quirk
  }

  /// The keys of a quirk in the form of an object.
  static func shape(of definition: QuirkDefinition) -> ObjectShape {
    ObjectShape("quirk \(definition.name)", ["name"] + definition.parameters.map(\.name))
  }

  /// Reads either form; nil, with a problem, when it is no quirk.
  static func read(_ value: JSON5Value, path: String, _ problems: ProblemCollector) -> Quirk? {
    let before = problems.errorCount
    guard let name = name(of: value, path: path, problems) else { return nil }
    guard let definition = QuirkDefinition.named(name) else {
      let hint = ObjectReader.hint(for: name, in: QuirkDefinition.all.map(\.name))
      problems.error(at: value.position, path: path, "unknown quirk '\(Excerpt.of(name))'\(hint)")
      return nil
    }
    var object = value
    if case .text(let text) = value.content {
      guard let members = members(of: OptionText(text), definition, at: value.position, path: path, problems) else {
        return nil
      }
      object.content = .object(members)
    }
    guard let reader = ObjectReader(object, shape: shape(of: definition), path: path, problems) else { return nil }
    let given = definition.parameters.compactMap { parameter in
      parameter.value(from: reader).map { OptionArguments.Argument(name: parameter.name, value: $0) }
    }
    return problems.errorCount == before ? Quirk(definition, given: given) : nil
  }

  private static func name(of value: JSON5Value, path: String, _ problems: ProblemCollector) -> String? {
    switch value.content {
    case .text(let text): return OptionText(text).name
    case .object:
      guard let name = value["name"] else {
        problems.error(at: value.position, path: path, "the key 'name' is missing")
        return nil
      }
      if case .text(let text) = name.content { return text }
      problems.error(at: name.position, path: "\(path).name", "expected text, found \(name.summary)")
    default:
      problems.error(
        at: value.position, path: path,
        "expected a quirk such as 'flicker,cycles=3' or an object, found \(value.summary)")
    }
    return nil
  }

  private static func members(
    of options: OptionText, _ definition: QuirkDefinition, at position: SourcePosition, path: String,
    _ problems: ProblemCollector
  ) -> [JSON5Member]? {
    var members = [JSON5Member("name", JSON5Value(.text(options.name), at: position), at: position)]
    for part in options.parameters {
      let word = part.name
      if let value = part.value {
        members.append(JSON5Member(word, OptionText.value(value, at: position), at: position))
      } else if let parameter = definition.parameters.first(where: { $0.words.contains(word) }) {
        members.append(JSON5Member(parameter.name, JSON5Value(.text(word), at: position), at: position))
      } else {
        let words = definition.parameters.flatMap(\.words)
        let hint = ObjectReader.hint(for: word, in: words + definition.parameters.map { "\($0.name)=" })
        problems.error(
          at: position, path: path, "'\(Excerpt.of(word))' says nothing to the quirk '\(definition.name)'\(hint)")
        return nil
      }
    }
    return members
  }
}

extension OptionParameter {
  func value(from reader: ObjectReader) -> OptionValue? {
    switch domain {
    case .choice(let words): reader.choice(name, of: words).map(OptionValue.choice)
    case .count(let range): reader.integer(name, in: range).map(OptionValue.count)
    case .duration(let range): reader.duration(name, in: range).map(OptionValue.duration)
    case .chance: chance(from: reader).map(OptionValue.chance)
    }
  }

  private func chance(from reader: ObjectReader) -> Chance? {
    guard let text = reader.text(name) else { return nil }
    do { return try Chance(text) } catch { reader.error(name, error.description) }
    return nil
  }
}
