import AccessoryFormats

struct CommandLineReader<Options: CommandOptions> {
  private var given: [(option: Option<Options>, value: String)] = []
  private var asksForHelp = false
  private var words: [String] = []

  /// Returns the options, or nil if the user asks for help. The error for an unknown word suggests the nearest valid
  /// word.
  static func read(_ words: [String]) throws -> Options? {
    let reader = try CommandLineReader(words)
    return reader.asksForHelp ? nil : try reader.options()
  }

  /// Separates the words into options and operands, without reading their values yet.
  private init(_ words: [String]) throws {
    var rest = words[...]
    while let word = rest.popFirst() {
      if word == "--" {
        self.words += rest
        break
      }
      guard word.hasPrefix("-"), word.count > 1 else {
        self.words.append(word)
        continue
      }
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      try take(parts[0], inline: parts.count > 1 ? parts[1] : nil, from: &rest)
    }
  }

  private mutating func take(_ name: String, inline: String?, from rest: inout ArraySlice<String>) throws {
    if name == OptionSpec.help.name || name == OptionSpec.help.short {
      if inline != nil { throw UsageError("--help takes no value") }
      asksForHelp = true
      return
    }
    guard let option = Options.options.first(where: { $0.spec.name == name || $0.spec.short == name }) else {
      throw UsageError("unknown option '\(name)'\(hint(for: name))")
    }
    let spec = option.spec
    guard let placeholder = spec.value else {
      if inline != nil { throw UsageError("\(spec.name) takes no value") }
      given.append((option, ""))
      return
    }
    guard let value = inline ?? rest.popFirst() else {
      throw UsageError("\(spec.name) needs a value: \(spec.name) \(placeholder)")
    }
    if !spec.isRepeatable, given.contains(where: { $0.option.spec.name == spec.name }) {
      throw UsageError("\(spec.name) is given twice")
    }
    given.append((option, value))
  }

  /// Returns a hint that names either the option that the user probably meant or the commands with that option.
  private func hint(for name: String) -> String {
    let names = Options.options.map(\.spec.name) + [OptionSpec.help.name]
    let near = Suggestion.nearest(to: name, in: names)
    let others = CommandSpec.all.filter { $0.hasOption(name) }.map { "'easim \($0.name)'" }
    // An option of another command with exactly this name is a better suggestion than an option of this command that
    // merely begins with the name.
    guard near?.hasPrefix(name) ?? true, !others.isEmpty else { return Suggestion.nearHint(for: name, in: names) }
    return ": it is an option of \(others.joined(separator: ", "))"
  }

  private func options() throws -> Options {
    var options = Options()
    let operands = try operands()
    for (option, value) in given {
      try Self.naming("\(option.spec.name) \(value.isEmpty ? "''" : value): ") { try option.take(value, &options) }
    }
    let names = Set(given.map(\.option.spec.name))
    for rule in Options.rules {
      if let complaint = rule.complaint(given: names) { throw UsageError(complaint) }
    }
    for (operand, word) in operands {
      try Self.naming("'\(word)': ") { try operand.take(word, &options) }
    }
    return options
  }

  private func operands() throws(UsageError) -> [(operand: Operand<Options>, word: String)] {
    var rest = words[...]
    var found: [(operand: Operand<Options>, word: String)] = []
    for operand in Options.operands {
      let taken = rest.prefix(operand.spec.count.upperBound)
      guard taken.count >= operand.spec.count.lowerBound else {
        throw UsageError("\(operand.spec.placeholder) is missing")
      }
      found += taken.map { (operand, $0) }
      rest = rest.dropFirst(taken.count)
    }
    if let extra = rest.first { throw UsageError("unexpected argument '\(extra)'") }
    return found
  }

  private static func naming(_ place: String, _ read: () throws -> Void) throws {
    do { try read() } catch let error as OptionError { throw UsageError("\(place)\(error)") }
  }
}

enum CommandWords {
  /// The reason easim rejects the command line before parsing it, or nil if every word is valid UTF-8. Swift
  /// replaces invalid bytes, so a word with such bytes would name the wrong file or send the wrong bytes to an
  /// accessory.
  static var complaint: String? {
    let words = UnsafeBufferPointer(start: CommandLine.unsafeArgv, count: Int(CommandLine.argc))
    for (index, word) in words.enumerated() {
      guard let word, String(validatingCString: word) == nil else { continue }
      return "argument \(index) is not UTF-8: pass bytes for an accessory with --hex or --file"
    }
    return nil
  }
}
