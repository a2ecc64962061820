import AccessoryCore
import AccessorySessions

extension CommandSpec {
  /// `easim doctor`.
  static let doctor = CommandSpec(
    name: "doctor", summary: "what this machine can do, and the command that mends what it cannot",
    arguments: "", argumentCount: 0...0,
    details: """
      Tries everything that easim needs of this machine, one line each: ✓ works, ! works less well than it could,
      ✗ does not work. Below what could be better stands the command that mends it.
      The exit code is 1 when something does not work.
      """,
    options: [.json], examples: ["easim doctor"], run: runDoctor)
}

private func runDoctor(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
  let found = Machine.examine()
  if arguments.has("--json") {
    for examination in found { console.out(examination.json) }
  } else {
    let rows = found.map { [$0.mark, $0.name, $0.purpose, $0.text] }
    for (examination, line) in zip(found, TextTable.lines(rows)) {
      console.out(String(line.dropFirst(2)))
      if let remedy = examination.remedy { console.out("     \(remedy)") }
    }
  }
  return found.allSatisfy(\.passed) ? .done : .checkFailed
}

extension Examination {
  /// The examination as one line of JSON, in the shape of a `result` event.
  fileprivate var json: String {
    var object = JSONObject(event: "result", at: .origin)
    object.add("check", name)
    object.add("passed", passed)
    object.add("text", text)
    if let remedy { object.add("remedy", remedy) }
    return object.text
  }
}
