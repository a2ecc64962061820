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
            "check": examination.name, "passed": examination.passed, "text": examination.text,
            "remedy": examination.remedy,
          ]))
    }
  } else {
    let rows = found.map { [$0.mark, $0.name, $0.purpose, $0.text] }
    for (examination, line) in zip(found, TextTable.lines(rows)) {
      console.outJudged(String(line.dropFirst(2)))
      if let remedy = examination.remedy { console.out("     \(remedy)") }
    }
  }
  return found.allSatisfy(\.passed) ? .done : .checkFailed
}

struct Examination: Equatable {
  enum Finding: Equatable {
    case works(String)
    case limited(String, remedy: String)
    case fails(String, remedy: String)
  }

  /// The check's name in JSON, which must never change.
  let name: String
  let purpose: String
  let finding: Finding

  var passed: Bool {
    if case .fails = finding { return false }
    return true
  }

  var text: String {
    switch finding {
    case .works(let text), .limited(let text, _), .fails(let text, _): text
    }
  }

  var remedy: String? {
    switch finding {
    case .limited(_, let remedy), .fails(_, let remedy): remedy
    case .works: nil
    }
  }

  var mark: String {
    switch finding {
    case .works: "✓"
    case .limited: "!"
    case .fails: "✗"
    }
  }
}
