import AccessoryCheck
import AccessoryCore

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
      "add your own cases from a Python file; --only own runs only these"),
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
