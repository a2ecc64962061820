import AccessoryCore

/// The words of a command line, sorted by the command's table.
struct ParsedArguments {
  let command: CommandSpec
  /// Words without an option, in order.
  private(set) var words: [String] = []
  private var values: [String: [String]] = [:]

  /// Sorts `words` by `command`'s table; what the table does not know is an error with the nearest right word.
  init(_ words: some Sequence<String>, for command: CommandSpec) throws(UsageError) {
    self.command = command
    var rest = Array(words)[...]
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
    if has("--help") { return }
    try checkWords()
  }

  private mutating func take(_ name: String, inline: String?, from rest: inout ArraySlice<String>) throws(UsageError) {
    guard let option = command.option(name) else {
      let near = Suggestion.nearest(to: name, in: command.allOptions.map(\.name))
      throw UsageError("unknown option '\(name)'" + (near.map { ", did you mean '\($0)'?" } ?? ""), command)
    }
    guard let placeholder = option.value else {
      if inline != nil { throw UsageError("\(option.name) takes no value", command) }
      values[option.name, default: []].append("")
      return
    }
    guard let value = inline ?? rest.popFirst() else {
      throw UsageError("\(option.name) needs a value: \(option.name) \(placeholder)", command)
    }
    if !option.choices.isEmpty, !option.choices.contains(value) {
      let near = Suggestion.nearest(to: value, in: option.choices).map { ", did you mean '\($0)'?" } ?? ""
      throw UsageError(
        "\(option.name) \(value): expected \(option.choices.joined(separator: ", "))\(near)", command)
    }
    if !option.isRepeatable, values[option.name] != nil { throw UsageError("\(option.name) is given twice", command) }
    values[option.name, default: []].append(value)
  }

  private func checkWords() throws(UsageError) {
    if words.count > command.argumentCount.upperBound {
      let extra = words[command.argumentCount.upperBound]
      throw UsageError("unexpected argument '\(extra)'", command)
    }
    if words.count < command.argumentCount.lowerBound { throw UsageError("\(command.arguments) is missing", command) }
  }

  /// Whether an option was given.
  func has(_ name: String) -> Bool { values[name] != nil }

  /// An option's value.
  func value(_ name: String) -> String? { values[name]?.last }

  /// All values of an option that may be repeated.
  func all(_ name: String) -> [String] { values[name] ?? [] }

  /// An option's value as a length of time.
  func duration(_ name: String) throws(UsageError) -> Duration? {
    guard let text = value(name) else { return nil }
    do { return try DurationText.parse(text) } catch { throw UsageError("\(name) \(text): \(error)", command) }
  }

  /// An option's value as a number in a range.
  func number(_ name: String, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
    guard let text = value(name) else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw UsageError(
        "\(name) \(text): expected a number from \(range.lowerBound) to \(range.upperBound)", command)
    }
    return number
  }

  /// The words as addresses.
  func address(_ text: String) throws(UsageError) -> Address {
    do { return try Address(parsing: text) } catch { throw UsageError("\(error)", command) }
  }
}

/// What is wrong with a command line.
struct UsageError: Error {
  let message: String
  let command: CommandSpec?

  init(_ message: String, _ command: CommandSpec?) {
    self.message = message
    self.command = command
  }
}
