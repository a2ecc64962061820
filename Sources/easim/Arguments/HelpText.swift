/// The text of `--help`, made from the command table.
enum HelpText {
  static func overview(_ commands: [CommandSpec]) -> String {
    let width = commands.map(\.name.count).max() ?? 0
    let list = commands.map { "  \(pad($0.name, width))  \($0.summary)" }
    return """
      easim simulates MFi accessories, and the Apple device that talks to them, down to the bytes of iAP2.

      usage: easim COMMAND [OPTIONS]

      \(list.joined(separator: "\n"))

      Run 'easim COMMAND --help' for details and examples. Start with: easim demo
      Run 'easim --version' for the version.
      """
  }

  static func text(for command: CommandSpec) -> String {
    let arguments = command.arguments.isEmpty ? "" : " \(command.arguments)"
    let left = command.allOptions.map { option in
      (option.short.map { "\($0), " } ?? "") + option.name + (option.value.map { " \($0)" } ?? "")
    }
    let width = left.map(\.count).max() ?? 0
    let options = zip(left, command.allOptions).map { "  \(pad($0, width))  \($1.summary)" }
    var text = "usage: easim \(command.name)\(arguments) [OPTIONS]\n\n\(command.details)\n"
    text += "\noptions:\n\(options.joined(separator: "\n"))\n"
    text += "\nexample:\n\(command.examples.map { "  \($0)" }.joined(separator: "\n"))"
    return text
  }

  private static func pad(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }
}
