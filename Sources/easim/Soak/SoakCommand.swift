import AccessoryFormats
import AccessorySoak

extension CommandSpec {
  static let soak = CommandSpec(
    name: "soak",
    summary: "run random worlds in virtual time, check every rule, shrink failures",
    details: """
      Each seed gives a random world: accessories, apps with sessions, faults on the cables, and steps. easim plays it in
      virtual time and checks the rules after every step, among them: every byte arrives once and in order, or the session
      ends with a reason; each connect is followed by a disconnect; no connection ID is used twice; no window is exceeded.
      docs/scale.md lists all rules. With PROFILE, all accessories have that profile.

      If a world breaks a rule, easim shrinks it to a smaller one that still breaks the rule, and prints that world as a
      scenario (for 'easim scenario run FILE') with the command that repeats its seed. The same seeds give the same worlds on
      any machine and with any number of jobs.

      The exit code is 1 if a rule was broken, if the run was stopped before its end, if there was no world to play (in a
      shard of few worlds; --allow-empty makes that 0), or if 5,000 or more random worlds did not reach each of the following
      cases. --forbid CASE makes one of them a failure:

      \(SoakCoverage.Corner.allCases.map { "  \($0.word): \($0.name)" }.joined(separator: "\n"))

      --shard I/N plays part I of N of the worlds. By default, the job's environment selects the part: JOB_COMPLETION_INDEX
      with EASIM_SHARDS, CI_NODE_INDEX with CI_NODE_TOTAL, or SLURM_ARRAY_TASK_ID; --shard 1/1 plays all. 'easim report
      merge' combines the .json reports of all parts into the report that a single run would write, byte for byte.

      Ctrl-C ends the run and still prints the result; a second Ctrl-C also ends the shrinking. A stopped run does not
      pass.
      """,
    examples: [
      "easim soak --seeds 200", "easim soak lawk-view --seeds 50 --seed 1000",
      "easim soak --seed 23 --seeds 1 --transcript -",
      "easim soak --seeds 100 --forbid giveUp --save /tmp/given-up",
      "easim soak --seeds 1000 --shard 3/8 --report /tmp/soak-3.json",
    ],
    run: { (options: SoakOptions, console) in try SoakSession(options, console).run() })
}

struct SoakOptions: CommandOptions {
  var profile: String?
  var count: UInt64 = 10_000
  var time: Duration?
  var first: UInt64 = 0
  var jobs: Int?
  var forbidden: [SoakCoverage.Corner] = []
  var folder: String?
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [Operand(optional: "PROFILE", \.profile, .optional(.text))]
  static let options: [Option<Self>] = [
    Option("--seeds", \.count, .integer(1...1_000_000_000_000), "number of worlds"),
    Option("--for", \.time, .optional(.someTime), "run for TIME instead of a number of worlds"),
    Option("--seed", \.first, .integer(0...UInt64(Int.max)), as: "FIRST", "the first seed"),
    Option(
      "--jobs", \.jobs, .optional(.integer(1...1_024)), "number of worlds run in parallel",
      standard: "one per processor"),
    Option(
      each: "--forbid", \.forbidden, .words(SoakCoverage.Corner.allCases.map { ($0.word, $0) }), as: "WHAT",
      "fail if WHAT happens (a word from the list above)"),
    Option(
      "--save", \.folder, .optional(.text), as: "DIR",
      "write failures to DIR as soak-SEED.json5, and their captures as soak-SEED.pcapng"),
    .report.described("write the result: .json, .html, or .xml (JUnit, one case per rule)"),
    .shard.described("run part I of N of the worlds"), .allowEmpty,
    .transcript.described("with --seeds 1: write everything that happens"),
    .capture.described("with --seeds 1: record every byte as pcapng for Wireshark"),
    .trace.described("write the first failed world to FILE as one HTML page; with --seeds 1, the only world"),
    .traceLimit, .json,
  ]
  static let rules: [OptionRule] = [
    .exclusive(["--seeds", "--for"]), .exclusive(["--shard", "--transcript"]), .exclusive(["--shard", "--capture"]),
    .exclusive(["--shard", "--for"], because: "to divide the worlds, their number must be known: add --seeds"),
  ]
}
