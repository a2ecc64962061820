import AccessoryCore
import AccessoryWorlds
import Glibc

extension CommandSpec {
  /// `easim soak`.
  static let soak = CommandSpec(
    name: "soak",
    summary: "play random worlds in virtual time, check every rule, shrink failures",
    arguments: "[PROFILE]", argumentCount: 0...1,
    details: """
      Each seed gives a random world: accessories, apps with sessions, faults on the cables, and steps. It is played in
      virtual time to its end, and after every step the rules must hold, among them: every byte arrives once and in order,
      or the session ends with a reason; each connect has its disconnect; no connection ID is used twice; no window is
      exceeded. docs/soak.md lists them all. With PROFILE, all accessories have that profile.

      A world that breaks a rule is shrunk for as long as it breaks the same rule, and printed as a scenario (for 'easim
      scenario run FILE') with the command that repeats its seed. The same seeds give the same worlds on any machine and
      with any number of jobs.

      Exit codes: 0 every rule held, 1 a rule was broken, or 5,000 or more random worlds missed a corner of the protocol.
      Ctrl-C ends the run and still reports; a second one also ends the shrinking.
      """,
    options: [
      OptionSpec(name: "--seeds", value: "N", summary: "number of worlds (default 10000)"),
      OptionSpec(name: "--for", value: "TIME", summary: "run for TIME instead of a number of worlds"),
      OptionSpec(name: "--seed", value: "FIRST", summary: "the first seed (default 0)"),
      OptionSpec(name: "--jobs", value: "N", summary: "number of worlds at a time (default: one per processor)"),
      OptionSpec(
        name: "--forbid", value: "WHAT",
        summary: "treat this as a broken rule: giveUp, or another word of the coverage in --json",
        choices: SoakCoverage.Corner.allCases.map(\.word),
        isRepeatable: true),
      OptionSpec(
        name: "--save", value: "DIR", summary: "write failures to DIR/soak-SEED.json5 instead of printing them"),
      OptionSpec(name: "--transcript", value: "FILE|-", summary: "with --seeds 1: write everything that happens"),
      .json,
    ],
    examples: [
      "easim soak --seeds 200", "easim soak lawk-view --seeds 50 --seed 1000",
      "easim soak --seed 23 --seeds 1 --transcript -",
      "easim soak --seeds 100 --forbid giveUp --save /tmp/given-up",
    ],
    run: { try SoakSession(SoakOptions($0, $1), $1).run() })
}

/// The options of `easim soak`.
struct SoakOptions {
  let recipe: SoakRecipe
  let first: UInt64
  /// The number of worlds; nil with a time instead.
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

  /// Checked at the start, and not after hours.
  private static func make(_ folder: String, _ command: CommandSpec) throws {
    if mkdir(folder, 0o755) != 0, errno != EEXIST {
      throw UsageError("--save \(folder): \(String(cString: strerror(errno)))", command)
    }
    if access(folder, W_OK | X_OK) != 0 {
      throw UsageError("--save \(folder): \(String(cString: strerror(errno)))", command)
    }
  }
}
