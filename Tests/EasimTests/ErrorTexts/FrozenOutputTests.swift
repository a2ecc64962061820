import Glibc
import TestSupport
import Testing

/// Compares what commands print, and the files they write, with the committed files in `Tests/Golden`. Internal changes
/// to easim must not change this output. Only commands whose output is reproducible are included.
///
/// `EASIM_REWRITE=1 Scripts/test -- --filter Frozen` rewrites the committed files. The diff then shows what has
/// changed.
@Suite(.waits) struct FrozenOutputTests {
  /// A command line, the reports that it writes, and the parts of its output that differ between runs.
  struct Command: Sendable, CustomTestStringConvertible {
    let name: String
    let words: String
    var reports: [String] = []
    var hidesErrors = false

    var testDescription: String { words }
  }

  private static let forms = ["json", "html", "xml"]

  static let commands: [Command] =
    [
      Command(name: "scenario-all", words: "scenario run --all", reports: forms),
      Command(name: "scenario-all.json", words: "scenario run --all --json"),
      Command(name: "scenario-naive", words: "scenario run flicker --client naive"),
      Command(name: "scenario-shard", words: "scenario run --all --shard 2/9", reports: forms),
      Command(name: "soak", words: "soak --seeds 40", reports: ["json", "html"], hidesErrors: true),
      Command(name: "soak-shard", words: "soak --seeds 40 --shard 1/4", reports: ["json"], hidesErrors: true),
      Command(
        name: "burst-show", words: "report show Tests/Golden/burst.json",
        reports: ["json", "html", "xml", "csv", "hgrm", "om", "prom"]),
      Command(name: "burst-show.json", words: "report show Tests/Golden/burst.json --json"),
      Command(
        name: "burst-goal", words: "report show Tests/Golden/burst.json --fail-if p99>1ms --fail-if errors>0",
        reports: ["xml"]),
      Command(
        name: "burst-merge", words: "report merge Tests/Golden/burst.json Tests/Golden/burst-slower.json",
        reports: ["json", "xml"]),
      Command(
        name: "burst-compare", words: "report compare Tests/Golden/burst.json Tests/Golden/burst-slower.json",
        reports: ["json", "html", "csv"]),
      Command(
        name: "burst-baseline",
        words: "report show Tests/Golden/burst-slower.json --baseline Tests/Golden/burst.json",
        reports: ["json", "xml"]),
      Command(name: "check-show", words: "report show Tests/Golden/check.json", reports: forms),
      Command(
        name: "check-compare", words: "report compare Tests/Golden/check.json Tests/Golden/check.json",
        reports: ["json", "html", "csv"]),
      Command(name: "check-show.json", words: "report show Tests/Golden/check.json --json"),
      Command(name: "profile-list", words: "profile list"),
      Command(name: "profile-show", words: "profile show lawk-view"),
      Command(name: "quirk-list", words: "quirk list"),
      Command(name: "fault-list", words: "fault list"),
      Command(name: "scenario-list", words: "scenario list"),
      Command(name: "scenario-show", words: "scenario show flicker"),
    ]

  @Test(arguments: commands) func aCommandPrintsAndWritesWhatItDid(_ command: Command) throws {
    let place = TemporaryFolder()
    let words =
      command.words.split(separator: " ").map(String.init)
      + command.reports.flatMap { ["--report", place.file("report.\($0)")] }
    try check(
      command.name + ".txt", "$ easim \(command.words)\n" + (try run(words, hidesErrors: command.hidesErrors)))
    for form in command.reports {
      let text = String(decoding: try #require(place.bytes("report.\(form)")), as: UTF8.self)
      // The committed files have no carriage returns, but CSV output does.
      let whole = text.replacing("\r\n", with: "\n")
      try check("\(command.name).\(form)", form == "html" ? withoutStyle(whole) : whole)
    }
  }

  @Test func everyCommandHasTheHelpThatItHad() throws {
    let overview = try run(["help"])
    // A line that lists a command looks like " burst load test: …".
    let commands = overview.split(separator: "\n").filter { $0.hasPrefix("  ") && !$0.hasPrefix("   ") }
      .compactMap { $0.split(separator: " ").first.map(String.init) }.filter { $0.allSatisfy(\.isLetter) }
    #expect(commands.count > 15)
    let pages = try commands.map { "$ easim help \($0)\n" + (try run(["help", $0])) }
    try check("help.txt", ([overview] + pages).joined(separator: "\n"))
  }

  /// Returns a page without its style sheet, which is the same on all pages and has its own golden file.
  private func withoutStyle(_ page: String) throws -> String {
    let begin = try #require(page.firstRange(of: "<style>\n"))
    let end = try #require(page[begin.upperBound...].firstRange(of: "</style>\n"))
    try check("report.css", String(page[begin.upperBound..<end.lowerBound]))
    return "\(page[..<begin.upperBound])\(page[end.lowerBound...])"
  }

  private func check(_ name: String, _ text: String) throws {
    let difference = try CommittedText.difference("Tests/Golden/\(name)", from: text)
    #expect(difference == nil, "\(difference ?? "")")
  }

  /// Runs a command in the root of the repository, because the paths of its reports are relative to the root.
  private func run(_ words: [String], hidesErrors: Bool = false) throws -> String {
    let script = #"cd "$0" && exec "$@""#
    let end = try Program(path: "/bin/sh", ["-c", script, Repository.root, BuiltProducts.easim] + words).wait()
    let errors = hidesErrors ? "" : end.err.split(separator: "\n").map { "stderr: \($0)\n" }.joined()
    return end.out + errors + end.ending.line
  }
}

extension Program.Ending {
  /// A line with the exit code, as the committed files have it.
  var line: String {
    switch self {
    case .exit(let code): "exit code \(code)\n"
    case .killed(let signal): "killed by \(signal)\n"
    }
  }
}
