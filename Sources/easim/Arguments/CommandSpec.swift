/// One command of easim as data: what the parser accepts, what `--help` prints and what completion offers are this
/// one table.
struct CommandSpec: Sendable {
  /// The word after `easim`.
  let name: String
  /// One line for the list of commands.
  let summary: String
  /// The words that stand without an option: "PROFILE…", "[ADDR]"; empty for none.
  let arguments: String
  /// How many of them there may be.
  let argumentCount: ClosedRange<Int>
  /// What `--help` says below the usage line.
  let details: String
  /// The command's own options.
  let options: [OptionSpec]
  /// Commands that work as printed.
  let examples: [String]
  /// Does it.
  let run: @Sendable (ParsedArguments, Console) throws -> ExitCode

  /// Every command there is.
  static let all: [CommandSpec] = [
    .demo, .run, .list, .watch, .info, .send, .burst, .report, .console, .plug, .decode, .profile, .scenario, .soak,
    .doctor,
    .completion,
  ]

  /// The command's own options and those that every command has.
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
  /// What stands for its value in `--help`; nil when it takes none.
  var value: String?
  /// One line.
  let summary: String
  /// The only values there are, for checking and completion; empty when anything goes.
  var choices: [String] = []
  /// Whether it may be given more than once.
  var isRepeatable = false

  static let help = OptionSpec(name: "--help", short: "-h", summary: "print this")
  static let json = OptionSpec(name: "--json", summary: "print one JSON object per line on stdout")
  static let timeout = OptionSpec(
    name: "--timeout", value: "TIME", summary: "how long to wait in all, such as 10s (default 10s)")
  static let transcript = OptionSpec(
    name: "--transcript", value: "FILE|-", summary: "write every packet, one line each, to FILE, or to stderr with -")
  static let protocolName = OptionSpec(
    name: "--protocol", value: "P", summary: "the protocol; may be left out when only one fits")
  static let infoPlist = OptionSpec(
    name: "--info-plist", value: "FILE", summary: "the app's Info.plist: its declared protocols and background modes")
  static let allProtocols = OptionSpec(
    name: "--all-protocols", summary: "show every accessory and open every session, whatever the Info.plist declares")
  static let allowRemote = OptionSpec(name: "--allow-remote", summary: "let TCP reach beyond this machine")
  static let seed = OptionSpec(
    name: "--seed", value: "N", summary: "what chance grows from; the same seed repeats itself")
}

/// How easim ends.
enum ExitCode: Int32 {
  /// Done, and verified where something was to be verified.
  case done = 0
  /// A check failed.
  case checkFailed = 1
  /// Wrong usage, wrong input, or output that could not be written.
  case usage = 2
  /// No such accessory in reach.
  case unreachable = 3
  /// Time ran out.
  case timedOut = 4
  /// The accessory went away.
  case gone = 5
}
