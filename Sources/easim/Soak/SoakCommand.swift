import AccessoryCore
import AccessoryWorlds
import Glibc

extension CommandSpec {
  /// `easim soak`.
  static let soak = CommandSpec(
    name: "soak",
    summary: "seeded random worlds in virtual time, every rule checked; failures made small and replayable",
    arguments: "[PROFILE]", argumentCount: 0...1,
    details: """
      From each seed comes a world: accessories, apps with sessions, faults on their cables, and things that happen. It
      is played in virtual time to its end, and after every step the rules must hold: every byte once and in order, or
      the session ended with a reason; each connect has its disconnect, and no connection ID comes twice; no session
      without its protocol; no window exceeded; nothing left over. With PROFILE the accessories are that profile.
      What the worlds reached is counted. A world that breaks a rule is made smaller for as long as it breaks the same
      rule, and printed as a scenario (for 'easim scenario run FILE') with the command that plays its seed again.
      Seeds are played in order; the same seeds are the same worlds on any machine and with any number of jobs.
      Exit codes: 0 every rule held, 1 one did not, or of 5,000 random worlds and more none reached some corner.
      Ctrl-C ends it, and it still reports; a second one also ends the shrinking.
      """,
    options: [
      OptionSpec(name: "--seeds", value: "N", summary: "so many worlds (default 10000)"),
      OptionSpec(name: "--for", value: "TIME", summary: "as many as there are in this time, instead of --seeds"),
      OptionSpec(name: "--seed", value: "FIRST", summary: "the first seed (default 0)"),
      OptionSpec(name: "--jobs", value: "N", summary: "so many worlds at a time (default: one for each processor)"),
      OptionSpec(
        name: "--forbid", value: "WHAT",
        summary: "reaching this breaks a rule, too: giveUp, or another word of coverage in --json",
        choices: SoakCoverage.Corner.allCases.map(\.word),
        isRepeatable: true),
      OptionSpec(
        name: "--save", value: "DIR", summary: "write failures to DIR/soak-SEED.json5 instead of printing them"),
      OptionSpec(name: "--transcript", value: "FILE|-", summary: "with --seeds 1: all that happens in it, in order"),
      .json,
    ],
    examples: [
      "easim soak --seeds 200", "easim soak lawk-view --seeds 50 --seed 1000",
      "easim soak --seed 23 --seeds 1 --transcript -",
      "easim soak --seeds 100 --forbid giveUp --save /tmp/given-up",
    ],
    run: { try SoakSession(SoakOptions($0, $1), $1).run() })
}

/// What a command line of `easim soak` asks for.
struct SoakOptions {
  let recipe: SoakRecipe
  let first: UInt64
  /// nil: until the time is over.
  let count: UInt64?
  let time: Duration?
  let jobs: Int
  let folder: String?
  let transcript: TranscriptFile?
  let isJSON: Bool

  init(_ arguments: ParsedArguments, _ console: Console) throws {
    var recipe = SoakRecipe()
    if let reference = arguments.words.first {
      recipe.profile = (reference, try Profiles.library.template(reference))
    }
    recipe.forbidden = arguments.all("--forbid").compactMap(SoakCoverage.Corner.named)
    self.recipe = recipe
    isJSON = arguments.has("--json")
    first = UInt64(try arguments.number("--seed", in: 0...Int.max) ?? 0)
    if arguments.has("--seeds"), arguments.has("--for") {
      throw UsageError("--seeds and --for exclude each other", arguments.command)
    }
    time = try arguments.duration("--for")
    if time == .zero { throw UsageError("--for 0 is no time", arguments.command) }
    let seeds = try arguments.number("--seeds", in: 1...1_000_000_000_000)
    count = time == nil ? UInt64(seeds ?? 10_000) : nil
    jobs = try arguments.number("--jobs", in: 1...1_024) ?? max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    folder = arguments.value("--save")
    if arguments.has("--transcript"), count != 1 {
      throw UsageError("--transcript shows one world: --seeds 1", arguments.command)
    }
    transcript = try TranscriptFile.asked(for: arguments, console)
    if let folder { try Self.make(folder, arguments.command) }
  }

  /// At once, and not after hours of playing.
  private static func make(_ folder: String, _ command: CommandSpec) throws {
    if mkdir(folder, 0o755) != 0, errno != EEXIST {
      throw UsageError("--save \(folder): \(String(cString: strerror(errno)))", command)
    }
    if access(folder, W_OK | X_OK) != 0 {
      throw UsageError("--save \(folder): \(String(cString: strerror(errno)))", command)
    }
  }
}
