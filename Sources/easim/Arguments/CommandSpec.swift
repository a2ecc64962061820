/// An entry in the table of easim's commands, which the parser, `--help` and completion use.
///
/// Options and details are created only when they are needed. Creating them for all commands would take longer than
/// most commands take to run, because some options list the names of profiles, faults and control methods.
struct CommandSpec: Sendable {
  let name: String
  let summary: String
  var details: String { makeDetails() }
  let examples: [String]
  var operands: [OperandSpec] { optionsType.operandSpecs }
  var options: [OptionSpec] { optionsType.optionSpecs + [.help] }
  /// Parses the words and runs the command, or returns nil if the words ask for help.
  let run: @Sendable ([String], Console) throws -> ExitCode?

  private let makeDetails: @Sendable () -> String
  let optionsType: any CommandOptions.Type

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
