import AccessoryCore
import AccessorySoak
import Glibc

extension CommandSpec {
  /// `easim soak`.
  static let soak = CommandSpec(
    name: "soak",
    summary: "play random worlds in virtual time, check every rule, shrink failures",
    details: """
      Each seed gives a random world: accessories, apps with sessions, faults on the cables, and steps. It is played in
      virtual time, and the rules are checked after every step, among them: every byte arrives once and in order, or the
      session ends with a reason; each connect has its disconnect; no connection ID is used twice; no window is exceeded.
      docs/soak.md lists all rules. With PROFILE, all accessories have that profile.

      A world that breaks a rule is shrunk to a smaller one that still breaks it, and printed as a scenario (for 'easim
      scenario run FILE') with the command that repeats its seed. The same seeds give the same worlds on any machine and
      with any number of jobs.

      The exit code is 1 when a rule was broken, or when 5,000 or more random worlds did not reach each of these cases of
      the protocol. --forbid makes one of them a failure:

      \(SoakCoverage.Corner.allCases.map { "  \($0.word): \($0.name)" }.joined(separator: "\n"))

      Ctrl-C ends the run and still reports; a second one also ends the shrinking.
      """,
    examples: [
      "easim soak --seeds 200", "easim soak lawk-view --seeds 50 --seed 1000",
      "easim soak --seed 23 --seeds 1 --transcript -",
      "easim soak --seeds 100 --forbid giveUp --save /tmp/given-up",
    ],
    run: { (options: SoakOptions, console) in try SoakSession(SoakRun(options, console), console).run() })
}

/// The options of `easim soak`.
struct SoakOptions: CommandOptions {
  var profile: String?
  var count: UInt64 = 10_000
  var time: Duration?
  var first: UInt64 = 0
  var jobs: Int?
  var forbidden: [SoakCoverage.Corner] = []
  var folder: String?
  var reports: [String] = []
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [Operand(optional: "PROFILE", \.profile, .optional(.text))]
  static let options: [Option<Self>] = [
    Option("--seeds", \.count, .integer(1...1_000_000_000_000), "number of worlds"),
    Option("--for", \.time, .optional(.someTime), "run for TIME instead of a number of worlds"),
    Option("--seed", \.first, .integer(0...UInt64(Int.max)), as: "FIRST", "the first seed"),
    Option(
      "--jobs", \.jobs, .optional(.integer(1...1_024)), "number of worlds at a time",
      standard: "one per processor"),
    Option(
      each: "--forbid", \.forbidden, .words(SoakCoverage.Corner.allCases.map { ($0.word, $0) }), as: "WHAT",
      "fail when WHAT happens, a word of the list above"),
    Option(
      "--save", \.folder, .optional(.text), as: "DIR", "write failures to DIR/soak-SEED.json5 instead of printing them"),
    Option(each: "--report", \.reports, .text, as: "FILE.xml", "write the result as JUnit XML, a case for each rule"),
    .transcript.described("with --seeds 1: write everything that happens"), .json,
  ]
  static let rules: [OptionRule] = [.exclusive(["--seeds", "--for"])]
}

/// One run of `easim soak`, as its options ask for it.
struct SoakRun {
  let recipe: SoakRecipe
  let first: UInt64
  /// The number of worlds; nil with a time instead.
  let count: UInt64?
  let time: Duration?
  let jobs: Int
  let folder: String?
  let transcript: TranscriptFile?
  let reports: [ReportFile<JUnitForm>]

  init(_ options: SoakOptions, _ console: Console) throws {
    var recipe = SoakRecipe()
    if let reference = options.profile {
      recipe.profile = (reference, try Profiles.library.template(reference))
    }
    recipe.forbidden = options.forbidden
    self.recipe = recipe
    first = options.first
    time = options.time
    count = time == nil ? options.count : nil
    jobs = options.jobs ?? max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    folder = options.folder
    if options.shared.transcript != nil, count != 1 {
      throw UsageError("--transcript shows one world only: add --seeds 1")
    }
    transcript = try TranscriptFile.asked(for: options.shared, console)
    reports = try options.reports.map { try ReportFile("--report", $0) }
    if let folder { try Self.make(folder) }
  }

  /// Checked at the start, and not after hours.
  private static func make(_ folder: String) throws {
    if mkdir(folder, 0o755) != 0, errno != EEXIST {
      throw UsageError("--save \(folder): \(String(cString: strerror(errno)))")
    }
    if access(folder, W_OK | X_OK) != 0 {
      throw UsageError("--save \(folder): \(String(cString: strerror(errno)))")
    }
  }
}
