import AccessoryFormats
import AccessoryRuns

/// Describes the options of a command. An option has a property that it sets, a format for its value, and one line of
/// help. The property's initial value is the default.
///
/// ```swift
/// struct LampOptions: CommandOptions {
///   var brightness = 50
///   var color: Lamp.Color?
///   var shared = SharedOptions()
///
///   static let options: [Option<Self>] = [
///     Option("--brightness", \.brightness, .integer(0...100), "per cent of full power"),
///     Option("--color", \.color, .optional(.choice), "its color"),
///     .timeout, .json,
///   ]
/// }
/// ```
///
/// The parser, the help text and completion all use this description. ``rules`` restricts which options can be
/// combined.
protocol CommandOptions: Sendable {
  init()
  var shared: SharedOptions { get set }
  static var operands: [Operand<Self>] { get }
  static var options: [Option<Self>] { get }
  static var rules: [OptionRule] { get }
}

extension CommandOptions {
  static var operands: [Operand<Self>] { [] }
  static var rules: [OptionRule] { [] }

  static var operandSpecs: [OperandSpec] { operands.map(\.spec) }
  static var optionSpecs: [OptionSpec] { options.map(\.spec) }
}

struct Option<Root: CommandOptions>: Sendable {
  var spec: OptionSpec
  /// Stores the value, which is an empty string for an option without a value.
  let take: @Sendable (String, inout Root) throws -> Void

  init(_ name: String, short: String? = nil, _ path: Property<Root, Bool>, _ summary: String) {
    spec = OptionSpec(name: name, short: short, summary: summary)
    take = { _, root in root[keyPath: path] = true }
  }

  /// Creates an option with a value.
  ///
  /// - Parameters:
  ///   - placeholder: the name of the value in help, if the format has none.
  ///   - standard: the default shown in help, if it is not the property's initial value.
  init<Value>(
    _ name: String, _ path: Property<Root, Value>, _ format: Format<Value>, as placeholder: String? = nil,
    _ summary: String, standard: String? = nil
  ) {
    spec = OptionSpec(
      name: name, value: placeholder ?? format.shape.placeholder, summary: summary,
      standard: standard ?? format.word(of: Root()[keyPath: path]), choices: format.shape.onlyChoices)
    take = { word, root in root[keyPath: path] = try format.read(word: word) }
  }

  /// Creates an option whose value is any text.
  init(
    _ name: String, _ path: Property<Root, String?>, as placeholder: String, _ summary: String,
    standard: String? = nil
  ) {
    self.init(name, path, .optional(.text), as: placeholder, summary, standard: standard)
  }

  init<Value>(
    each name: String, _ path: Property<Root, [Value]>, _ format: Format<Value>, as placeholder: String? = nil,
    _ summary: String
  ) {
    spec = OptionSpec(
      name: name, value: placeholder ?? format.shape.placeholder, summary: summary,
      choices: format.shape.onlyChoices, isRepeatable: true)
    take = { word, root in root[keyPath: path].append(try format.read(word: word)) }
  }

  /// Creates an option whose value `read` parses. If `read` throws an `OptionError`, the error is reported for this
  /// option's value; any other error is reported for the whole command line.
  init<Value>(
    _ name: String, _ path: Property<Root, Value>, as placeholder: String, _ summary: String,
    isRepeatable: Bool = false, reading read: @escaping @Sendable (inout Value, String) throws -> Void
  ) {
    spec = OptionSpec(name: name, value: placeholder, summary: summary, isRepeatable: isRepeatable)
    take = { word, root in try read(&root[keyPath: path], word) }
  }

  func described(_ summary: String) -> Option { with(\.summary, summary) }
  func heading(_ title: String) -> Option { with(\.group, title) }
  func standard(_ text: String?) -> Option { with(\.standard, text) }

  private func with<Value>(_ path: WritableKeyPath<OptionSpec, Value>, _ value: Value) -> Option {
    var option = self
    option.spec[keyPath: path] = value
    return option
  }
}

/// One or more words that are neither options nor values of options.
struct Operand<Root: CommandOptions>: Sendable {
  let spec: OperandSpec
  let take: @Sendable (String, inout Root) throws -> Void

  /// Creates a required operand. Completion offers `offered`, or the words of the format if `offered` is nil.
  init<Value>(
    _ path: Property<Root, Value>, _ format: Format<Value>, as placeholder: String? = nil, offered: [String]? = nil
  ) {
    spec = OperandSpec(
      placeholder: placeholder ?? format.shape.placeholder, count: 1...1, choices: offered ?? format.shape.onlyChoices)
    take = { word, root in root[keyPath: path] = try format.read(word: word) }
  }

  init<Value>(optional placeholder: String, _ path: Property<Root, Value>, _ format: Format<Value>) {
    self.init(placeholder: "[\(placeholder)]", 0...1, path) { $0 = try format.read(word: $1) }
  }

  init<Value>(
    each placeholder: String, _ count: ClosedRange<Int>, _ path: Property<Root, [Value]>, _ format: Format<Value>
  ) {
    self.init(placeholder: placeholder, count, path) { $0.append(try format.read(word: $1)) }
  }

  /// Creates operands that `read` parses. If `read` throws an `OptionError`, the error is reported for the word; any
  /// other error is reported for the whole command line.
  init<Value>(
    placeholder: String, _ count: ClosedRange<Int>, _ path: Property<Root, Value>,
    reading read: @escaping @Sendable (inout Value, String) throws -> Void
  ) {
    spec = OperandSpec(placeholder: placeholder, count: count)
    take = { word, root in try read(&root[keyPath: path], word) }
  }
}

enum OptionRule: Sendable {
  /// The user may give at most one of these options. The reason appears in the error message.
  case exclusive([String], because: String? = nil)
  case needs(String, String)

  var names: [String] {
    switch self {
    case .exclusive(let names, _): names
    case .needs(let name, let other): [name, other]
    }
  }

  func complaint(given: Set<String>) -> String? {
    switch self {
    case .exclusive(let names, let reason):
      let both = names.filter(given.contains)
      guard both.count > 1 else { return nil }
      return "\(both.joined(separator: " and ")) cannot be combined" + (reason.map { ": \($0)" } ?? "")
    case .needs(let name, let other):
      return given.contains(name) && !given.contains(other) ? "\(name) needs \(other)" : nil
    }
  }
}

extension Shape {
  fileprivate var onlyChoices: [String] {
    if case .words(let words) = self { words } else { [] }
  }
}

/// An entry in the table of easim's commands, which the parser, `--help` and completion use.
///
/// Options and details are created only when they are needed. Creating them for all commands would take longer than
/// most commands take to run, because some options list the names of profiles, faults and control methods.
struct CommandSpec: Sendable {
  let name: String
  let summary: String
  var details: String { makeDetails() }
  let examples: [String]
  /// The type of the reports that the command writes and that 'easim report' reads, or nil if there are none.
  let report: (any Report.Type)?
  var operands: [OperandSpec] { optionsType.operandSpecs }
  var options: [OptionSpec] { optionsType.optionSpecs + [.help] }
  /// Parses the words and runs the command, or returns nil if the words ask for help.
  let run: @Sendable ([String], Console) throws -> ExitCode?

  private let makeDetails: @Sendable () -> String
  let optionsType: any CommandOptions.Type

  init<Options: CommandOptions>(
    name: String, summary: String, details: @escaping @autoclosure @Sendable () -> String, examples: [String],
    report: (any Report.Type)? = nil, run: @escaping @Sendable (Options, Console) throws -> ExitCode
  ) {
    (self.name, self.summary, self.examples, self.report) = (name, summary, examples, report)
    (makeDetails, optionsType) = (details, Options.self)
    self.run = { words, console in
      guard let options = try CommandLineReader<Options>.read(words) else { return nil }
      console.isJSON = options.shared.isJSON
      console.showsMessages = !options.shared.hidesMessages
      return try run(options, console)
    }
  }

  func hasOption(_ name: String) -> Bool { options.contains { $0.name == name } }
}

struct OptionSpec: Sendable {
  let name: String
  var short: String?
  /// The placeholder for the value in `--help`, or nil if the option takes no value.
  var value: String?
  var summary: String
  var standard: String?
  /// The values that completion offers, or an empty array if the option also accepts other values.
  var choices: [String] = []
  var isRepeatable = false
  /// The heading above the option in help, or nil to use the previous option's heading.
  var group: String?

  static let help = OptionSpec(name: "--help", short: "-h", summary: "print this help")
}

struct OperandSpec: Sendable {
  /// The placeholder in the usage line, such as "PROFILE…" or "[ADDR]".
  let placeholder: String
  let count: ClosedRange<Int>
  /// The words that the operand accepts, or an empty array if it accepts any word.
  var choices: [String] = []
}

struct CommandLineReader<Options: CommandOptions> {
  private var given: [(option: Option<Options>, value: String)] = []
  private var asksForHelp = false
  private var words: [String] = []

  static func read(_ words: [String]) throws -> Options? {
    let reader = try CommandLineReader(words)
    return reader.asksForHelp ? nil : try reader.options()
  }

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
    var outputs: [String: String] = [:]
    for (option, value) in given where ["--capture", "--transcript", "--trace", "--report"].contains(option.spec.name) {
      guard let other = outputs.updateValue(option.spec.name, forKey: value), value != "-", !value.hasPrefix("/dev/")
      else { continue }
      throw UsageError("\(other) and \(option.spec.name) would both write to \(value)")
    }
    for rule in Options.rules {
      if let complaint = rule.complaint(given: names) { throw UsageError(complaint) }
    }
    for (operand, word) in operands {
      try Self.naming("'\(word)': ") { try operand.take(word, &options) }
    }
    return options
  }

  private func operands() throws -> [(operand: Operand<Options>, word: String)] {
    var rest = words[...]
    var found: [(operand: Operand<Options>, word: String)] = []
    for operand in Options.operands {
      let taken = rest.prefix(operand.spec.count.upperBound)
      guard taken.count >= operand.spec.count.lowerBound else {
        // A wrong word is worth more to the user than a missing one.
        var options = Options()
        for (operand, word) in found { try Self.naming("'\(word)': ") { try operand.take(word, &options) } }
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
