import AccessoryCheck
import AccessoryCore
import AccessoryFormats
import AccessoryRuns
import Glibc

extension CommandSpec {
  static let check = CommandSpec(
    name: "check", summary: "check an accessory against the rules of iAP2 and print what to change",
    details: """
      Connect to the accessory at ADDR (default: the only local one) repeatedly, as an Apple device would, and run numbered
      cases: detection, SYN, packets, loss, authentication, identification, sessions, data, unplugging. A failed case shows
      the packets that prove the failure and what to change in the firmware; a skipped case shows the reason. docs/check.md
      lists all cases and the source of each rule. A broken rule is an error, a warning (some devices or lines are affected)
      or a note. Only errors fail the check, unless you pass --strict.

      --cases FILE.py adds your own cases, written with the Python package: functions marked with @check.case("1", "answers
      VERSION") that send and receive in a session (docs/check.md). In --baseline FILE, {firmware} stands for the accessory's
      firmware version.

      Without --hostile, easim does only what an Apple device could do. Cases about data need an accessory that sends back
      what it receives.

      --shard I/N runs part I of N of the cases, for example with one unit of the firmware on each machine;
      'easim report merge' merges the .json reports (docs/scale.md).

      Exit codes: 0 at least one case passed, and no case failed; 1 a case failed, the run was stopped, or nothing was
      compared (--allow-empty makes that 0); 2 usage error; 3 no accessory found; 5 the accessory did not come back. Ctrl-C
      ends the run and prints the results so far.
      """,
    examples: [
      "easim check --list", "easim check unix:/tmp/echo-1.sock --only 201-211 --report /tmp/check.html",
      "easim check unix:/tmp/echo-1.sock --only certificate,signature --report /tmp/check.json",
    ],
    run: runCheck)
}

private func runCheck(_ options: CheckOptions, _ console: Console) throws -> ExitCode {
  let runtime = try CommandRuntime(console, seed: options.shared.seed)
  let own = try options.ownCases.map { try readCases($0, on: runtime, console) }
  defer { own?.close() }
  var cases = CheckCase.all + (own?.cases ?? [])
  if let text = options.selection {
    do throws(OptionError) { cases = try CheckCase.selected(by: text, own: own?.cases ?? []) } catch {
      throw UsageError("--only: \(error)")
    }
  }
  if options.lists {
    for rule in cases { console.out(console.isJSON ? rule.json.text : rule.line) }
    return .done
  }
  var output = try RunOutput<CheckReport>(options.shared, dividing: cases.count, console)
  if let junit = options.junit { try output.add("--junit", junit, .xml) }
  if !output.shard.isWhole, options.isHostile, options.attacks > 0, options.shared.seed == nil {
    throw UsageError("the shards of --hostile need the same seed: add --seed N")
  }
  return try CheckSession(options, cases, output, runtime, console).run()
}

/// Starts the Python process that runs the user's own test cases.
private func readCases(_ file: String, on runtime: CommandRuntime, _ console: Console) throws -> OwnCases {
  let python = getenv("EASIM_PYTHON").map { String(cString: $0) } ?? "python3"
  do {
    return try OwnCases(file, python: python, on: runtime.loop) { console.err("python: \($0)") }
  } catch let mistake as OptionError {
    throw UsageError("--cases: \(mistake)")
  }
}

struct CheckOptions: CommandOptions {
  var address = Address.standardLocal
  var selection: String?
  var ownCases: String?
  var isForFeatures = false
  var lists = false
  var stepLimit = Duration.seconds(20)
  var pace = Duration.milliseconds(200)
  var echo = CheckSettings.Echo.tried
  var isHostile = false
  var isStrict = false
  var attacks = 200
  var most = 5
  var junit: String?
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [.address(\.address)]
  static let options: [Option<Self>] = [
    Option("--only", \.selection, .optional(.text), as: "N,N-M,NAME", "run these cases: 101, 300-399, syn-version"),
    Option(
      "--cases", \.ownCases, .optional(.text), as: "FILE",
      "add your own cases from a Python file; --only own runs only your cases"),
    Option("--features", \.isForFeatures, "omit cases about features that the accessory does not declare"),
    Option("--list", \.lists, "list the cases without connecting"),
    Option("--echo", \.echo, .choice, "whether sessions echo what they receive; try finds out"),
    Option("--pace", \.pace, .duration, "how long to wait before plugging in again"),
    Option("--timeout", \.stepLimit, .someTime, "time limit for each of the accessory's steps"),
    Option("--strict", \.isStrict, "also fail on warnings and notes"), .order,
    Option("--hostile", \.isHostile, "add cases and attacks that no Apple device would make"),
    Option("--attacks", \.attacks, .integer(0...1_000_000), "number of hostile attacks"),
    Option("--most-failures", \.most, .integer(1...1_000), "stop after N attacks that the accessory did not survive"),
    .report.described("write the report: .html, .json or .xml (JUnit)"),
    Option("--junit", \.junit, .optional(.text), as: "FILE", "write the report as JUnit XML"),
    .baseline.described("print what changed since this JSON report; fail only on cases that did not fail in it"),
    .shard.described("run part I of N of the cases and attacks"), .allowEmpty,
    .protocolName, .fault, .seed, .allowRemote, .anyUser, .json, .transcript, .transcriptBytes, .capture, .trace,
    .traceLimit,
  ]
  static let rules: [OptionRule] = [
    .needs("--attacks", "--hostile"), .needs("--most-failures", "--hostile"), .exclusive(["--shard", "--list"]),
    .exclusive(["--shard", "--features"], because: "units of the accessory may declare different features"),
    .exclusive(["--shard", "--baseline"], because: "'easim report show' compares the merged report"),
  ]
}
