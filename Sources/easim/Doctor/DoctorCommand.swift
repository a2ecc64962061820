import AccessoryFormats
import AccessorySessions

extension CommandSpec {
  static let doctor = CommandSpec(
    name: "doctor", summary: "check this machine and print the fix for whatever is missing",
    details: """
      Check everything that easim needs from this machine, one line each: ✓ works, ! works with limits, ✗ does not work. The
      line below a problem is the command that fixes it. The exit code is 1 if something does not work.
      """,
    examples: ["easim doctor"], run: runDoctor)
}

private struct DoctorOptions: CommandOptions {
  var shared = SharedOptions()

  static let options: [Option<Self>] = [.json]
}

private func runDoctor(_ options: DoctorOptions, _ console: Console) throws -> ExitCode {
  let found = Machine.examine()
  if console.isJSON {
    for examination in found {
      console.out(
        JSONObject(
          event: "result", at: .origin,
          [
            "check": examination.name, "passed": examination.passed, "text": examination.finding.text,
            "remedy": examination.finding.remedy,
          ]))
    }
  } else {
    let rows = found.map { [$0.finding.mark, $0.name, $0.purpose, $0.finding.text] }
    for (examination, line) in zip(found, TextTable.lines(rows)) {
      console.outJudged(String(line.dropFirst(2)))
      if let remedy = examination.finding.remedy { console.out("     \(remedy)") }
    }
  }
  return found.allSatisfy(\.passed) ? .done : .checkFailed
}

struct Examination {
  struct Finding {
    let mark: String
    let text: String
    var remedy: String?

    static func works(_ text: String) -> Self { Self(mark: "✓", text: text) }
    static func limited(_ text: String, remedy: String) -> Self { Self(mark: "!", text: text, remedy: remedy) }
    static func fails(_ text: String, remedy: String) -> Self { Self(mark: "✗", text: text, remedy: remedy) }
  }

  /// The check's name in JSON, which must never change.
  let name: String
  let purpose: String
  let finding: Finding

  var passed: Bool { finding.mark != "✗" }
}
