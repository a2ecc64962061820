/// One command of easim as data. The parser, `--help` and completion all use this table.
struct CommandSpec: Sendable {
  /// The word after `easim`.
  let name: String
  /// One line for the list of commands.
  let summary: String
  /// The positional arguments: "PROFILE…", "[ADDR]"; empty for none.
  let arguments: String
  /// How many positional arguments are accepted.
  let argumentCount: ClosedRange<Int>
  /// The text of `--help` below the usage line.
  let details: String
  /// The command's own options.
  let options: [OptionSpec]
  /// Commands that work as printed.
  let examples: [String]
  /// Runs the command.
  let run: @Sendable (ParsedArguments, Console) throws -> ExitCode

  /// All commands.
  static let all: [CommandSpec] = [
    .demo, .run, .list, .watch, .info, .send, .burst, .report, .console, .plug, .decode, .profile, .scenario, .soak,
    .doctor,
    .completion,
  ]

  /// The command's own options and the common ones.
  var allOptions: [OptionSpec] { options + [.help] }

  func option(_ name: String) -> OptionSpec? {
    allOptions.first { $0.name == name || $0.short == name }
  }
}

/// One option.
struct OptionSpec: Sendable {
  /// With its dashes: "--timeout".
  let name: String
  /// A short form: "-h".
  var short: String?
  /// The placeholder of its value in `--help`; nil when it takes no value.
  var value: String?
  /// One line.
  let summary: String
  /// The accepted values, for checking and completion; empty when any value is accepted.
  var choices: [String] = []
  /// Whether it may be given more than once.
  var isRepeatable = false

  static let help = OptionSpec(name: "--help", short: "-h", summary: "print this help")
  static let json = OptionSpec(name: "--json", summary: "print one JSON object per line on stdout")
  static let timeout = OptionSpec(
    name: "--timeout", value: "TIME", summary: "time limit for the whole command (default 10s)")
  static let transcript = OptionSpec(
    name: "--transcript", value: "FILE|-", summary: "write one line for each packet to FILE, or with - to stderr")
  static let protocolName = OptionSpec(
    name: "--protocol", value: "P", summary: "protocol of the session; needed when several fit")
  static let infoPlist = OptionSpec(
    name: "--info-plist", value: "FILE", summary: "use the protocols and background modes that this Info.plist declares"
  )
  static let allProtocols = OptionSpec(
    name: "--all-protocols", summary: "ignore the declarations of the Info.plist")
  static let allowRemote = OptionSpec(
    name: "--allow-remote", summary: "allow TCP connections to and from other machines")
  static let seed = OptionSpec(
    name: "--seed", value: "N", summary: "random seed; the same seed gives the same run")
}

/// The exit codes of easim.
enum ExitCode: Int32 {
  /// Done, and verified where there was something to verify.
  case done = 0
  /// A check failed.
  case checkFailed = 1
  /// Usage error, wrong input, or output that could not be written.
  case usage = 2
  /// No accessory found.
  case unreachable = 3
  /// The time limit was reached.
  case timedOut = 4
  /// The accessory disconnected.
  case gone = 5
}
