/// One command of easim as data. The parser, `--help` and completion all use this table.
///
/// Options and details are computed each time they are needed. Building them for all commands would take longer than
/// most commands run, because some list the names of profiles, faults and control methods.
struct CommandSpec: Sendable {
  /// The word after `easim`.
  let name: String
  /// One line for the list of commands.
  let summary: String
  /// The text of `--help` below the usage line.
  var details: String { makeDetails() }
  /// Example commands that work as printed.
  let examples: [String]
  /// The operands: words without an option.
  var operands: [OperandSpec] { optionsType.operandSpecs }
  /// The command's own options and `--help`.
  var options: [OptionSpec] { optionsType.optionSpecs + [.help] }
  /// Mistakes in the command's description.
  var flaws: [String] { optionsType.flaws }
  /// Reads the words and runs the command; nil if they ask for help.
  let run: @Sendable ([String], Console) throws -> ExitCode?

  private let makeDetails: @Sendable () -> String
  private let optionsType: any CommandOptions.Type

  /// Creates a command whose options are described by their type.
  init<Options: CommandOptions>(
    name: String, summary: String, details: @escaping @autoclosure @Sendable () -> String, examples: [String],
    run: @escaping @Sendable (Options, Console) throws -> ExitCode
  ) {
    (self.name, self.summary, self.examples) = (name, summary, examples)
    (makeDetails, optionsType) = (details, Options.self)
    self.run = { words, console in
      guard let options = try CommandLineReader<Options>.read(words) else { return nil }
      console.isJSON = options.shared.isJSON
      console.showsMessages = !options.shared.hidesMessages
      return try run(options, console)
    }
  }

  /// Returns true if the command has an option with this name.
  func hasOption(_ name: String) -> Bool { options.contains { $0.name == name } }
}

/// An option as help and completion see it.
struct OptionSpec: Sendable {
  /// The name with its dashes: "--timeout".
  let name: String
  /// A short form: "-h".
  var short: String?
  /// The placeholder of the value in `--help`; nil if the option takes no value.
  var value: String?
  /// One line.
  var summary: String
  /// The default value, as a user would type it.
  var standard: String?
  /// The accepted values, for completion; empty if other values are accepted too.
  var choices: [String] = []
  /// Whether the option may be given more than once.
  var isRepeatable = false
  /// The heading above the option in help; nil means the heading of the option before it.
  var group: String?

  static let help = OptionSpec(name: "--help", short: "-h", summary: "print this help")
}

/// An operand as help and completion see it.
struct OperandSpec: Sendable {
  /// As shown in the usage line: "PROFILE…", "[ADDR]".
  let placeholder: String
  /// How many words the operand may consist of.
  let count: ClosedRange<Int>
  /// The accepted words; empty if any word is accepted.
  var choices: [String] = []
}
