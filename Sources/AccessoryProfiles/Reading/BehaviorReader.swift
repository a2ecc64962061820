import AccessoryCore

extension Behavior {
  /// The keys of each kind of behaviour in the form of an object.
  static let shapes: [String: ObjectShape] = [
    "echo": ObjectShape("behavior echo", ["type"]),
    "sink": ObjectShape("behavior sink", ["type", "check"]),
    "source": ObjectShape("behavior source", ["type", "rate", "chunk", "pattern", "text", "total"]),
    "script": ObjectShape("behavior script", ["type", "framing", "rules", "otherwise"]),
    "exec": ObjectShape("behavior exec", ["type", "command", "arguments", "environment"]),
  ]
  static let framingShape = ObjectShape("framing", ["delimiter", "fixed"])
  static let ruleShape = ObjectShape("rule", ["request", "response", "delay"])
  static let bytesShape = ObjectShape("bytes", ["hex"])

  /// Reads the form of the command line: `echo`, `sink,check`, `source,rate=500,text=tick`, or `exec:` and a shell
  /// command. A script has rules, so it is written in a profile.
  public init(_ text: String) throws(SourceProblems) {
    let problems = ProblemCollector()
    let behavior = Behavior.read(JSON5Value(.text(text)), path: "behavior", problems)
    try problems.throwErrors()
    guard let behavior else { preconditionFailure("a behaviour that was not read has no reported problem") }
    self = behavior
  }

  /// Reads either form; nil, with a problem, when it is no behaviour.
  static func read(_ value: JSON5Value, path: String, _ problems: ProblemCollector) -> Behavior? {
    var object = value
    switch value.content {
    case .text(let text):
      if text.hasPrefix("exec:") { return shellCommand(text, at: value.position, path: path, problems) }
      let options = OptionText(text)
      if let advice = advice(for: options.name) {
        problems.error(at: value.position, path: path, advice)
        return nil
      }
      object.content = .object(members(of: options, at: value.position))
    case .object: break
    default:
      problems.error(
        at: value.position, path: path, "expected a behavior such as 'echo' or an object, found \(value.summary)")
      return nil
    }
    guard let type = object["type"] else {
      problems.error(at: value.position, path: path, "the key 'type' is missing")
      return nil
    }
    guard case .text(let name) = type.content else {
      problems.error(at: type.position, path: "\(path).type", "expected text, found \(type.summary)")
      return nil
    }
    guard let shape = shapes[name] else {
      let hint = ObjectReader.hint(for: name, in: names)
      problems.error(at: type.position, path: path, "unknown behavior '\(Excerpt.of(name))'\(hint)")
      return nil
    }
    let before = problems.errorCount
    guard let reader = ObjectReader(object, shape: shape, path: path, problems) else { return nil }
    let behavior = read(name, reader)
    return problems.errorCount == before ? behavior : nil
  }

  private static func read(_ name: String, _ reader: ObjectReader) -> Behavior? {
    switch name {
    case "echo": .echo
    case "sink": .sink(check: reader.boolean("check") ?? false)
    case "source": .source(source(reader))
    case "script": .script(script(reader))
    default: exec(reader)
    }
  }

  private static func shellCommand(
    _ text: String, at position: SourcePosition, path: String, _ problems: ProblemCollector
  ) -> Behavior? {
    let command = OptionText.trimmed(text.dropFirst("exec:".count))
    guard !command.isEmpty else {
      problems.error(at: position, path: path, "the command is missing: write 'exec:COMMAND'")
      return nil
    }
    return .exec(Program("/bin/sh", ["-c", command]))
  }

  /// What to write instead of the two behaviours that name and parameters cannot say.
  private static func advice(for name: String) -> String? {
    switch name {
    case "script": "a script has rules: write it in a profile, as { type: 'script', rules: [ … ] }"
    case "exec": "the command is missing: write 'exec:COMMAND'"
    default: nil
    }
  }

  private static func members(of options: OptionText, at position: SourcePosition) -> [JSON5Member] {
    let type = JSON5Member("type", JSON5Value(.text(options.name), at: position), at: position)
    return [type]
      + options.parameters.map { part in
        let content: JSON5Value =
          switch part.value {
          case nil: JSON5Value(.boolean(true), at: position)
          case let value? where part.name == "text": JSON5Value(.text(value), at: position)
          case let value?: OptionText.value(value, at: position)
          }
        return JSON5Member(part.name, content, at: position)
      }
  }

  private static func source(_ reader: ObjectReader) -> Source {
    var source = Source()
    if let rate = reader.integer("rate", in: Source.rateRange) { source.rate = rate }
    if let chunk = reader.integer("chunk", in: Source.chunkRange) { source.chunk = chunk }
    source.total = reader.integer("total", in: Source.totalRange)
    if let text = reader.text("text") {
      source.pattern = .text(text)
      if reader.value("pattern") != nil {
        reader.error("pattern", "a source repeats a text or makes a pattern: leave out 'text' or 'pattern'")
      }
    } else if let pattern = reader.choice("pattern", of: ["counting", "random"]) {
      source.pattern = pattern == "random" ? .random : .counting
    }
    return source
  }

  private static func exec(_ reader: ObjectReader) -> Behavior? {
    guard reader.require("command"), let command = reader.text("command") else { return nil }
    let arguments = (reader.array("arguments") ?? []).compactMap { reader.element($0) }
    let environment = (reader.array("environment") ?? []).compactMap { reader.element($0) }
    return .exec(Program(command, arguments, environment: environment))
  }

  // MARK: Scripts

  private static func script(_ reader: ObjectReader) -> Script {
    reader.require("rules")
    let rules = (reader.array("rules") ?? []).compactMap { element -> Script.Rule? in
      guard let rule = ObjectReader(element.value, shape: ruleShape, path: element.path, reader.problems) else {
        return nil
      }
      guard rule.require("request"), let request = rule.bytes("request") else { return nil }
      let delay = rule.duration("delay", in: .zero ... .seconds(3600))
      return Script.Rule(request: request, response: rule.bytes("response") ?? [], delay: delay ?? .zero)
    }
    return Script(framing: framing(reader) ?? .any, rules: rules, otherwise: reader.bytes("otherwise"))
  }

  private static func framing(_ reader: ObjectReader) -> Script.Framing? {
    guard let value = reader.value("framing") else { return nil }
    if case .text("any") = value.content { return .any }
    guard case .object(let members) = value.content else {
      reader.error("framing", "expected 'any', { delimiter: … } or { fixed: … }, found \(value.summary)")
      return nil
    }
    guard let framing = reader.object("framing", framingShape) else { return nil }
    if let delimiter = framing.bytes("delimiter"), framing.value("fixed") == nil {
      return .delimiter(delimiter)
    }
    if let fixed = framing.integer("fixed", in: Script.fixedRange), framing.value("delimiter") == nil {
      return .fixed(fixed)
    }
    if members.isEmpty || framing.value("fixed") != nil && framing.value("delimiter") != nil {
      reader.error("framing", "expected exactly one of 'delimiter' and 'fixed'")
    }
    return nil
  }
}

extension ObjectReader {
  /// Bytes: a text, which stands for its UTF-8, or `{ hex: "0a 0b" }`.
  func bytes(_ key: String) -> [UInt8]? {
    guard let value = value(key) else { return nil }
    switch value.content {
    case .text(let text): return Array(text.utf8)
    case .object:
      guard let reader = object(key, Behavior.bytesShape), reader.require("hex"), let text = reader.text("hex") else {
        return nil
      }
      do {
        return try Hex.parse(text)
      } catch {
        reader.error("hex", error.description)
      }
    default: error(key, "expected text or { hex: … }, found \(value.summary)")
    }
    return nil
  }

  /// An element of a list as text.
  func element(_ element: (path: String, value: JSON5Value)) -> String? {
    if case .text(let text) = element.value.content { return text }
    problems.error(at: element.value.position, path: element.path, "expected text, found \(element.value.summary)")
    return nil
  }
}
