enum HelpText {
  static let purpose =
    "easim simulates MFi accessories and the Apple device that talks to them, down to the bytes of iAP2."

  static func overview(_ commands: [CommandSpec]) -> String {
    let width = commands.map(\.name.count).max() ?? 0
    let list = commands.map { "  \($0.name.padded(to: width))  \($0.summary)" }
    return """
      \(purpose)

      usage: easim COMMAND [OPTIONS]

      \(list.joined(separator: "\n"))

      Run 'easim COMMAND --help' for details and examples. Start with: easim demo
      Run 'easim --version' for the version.
      """
  }

  static func text(for command: CommandSpec) -> String {
    let operands = command.operands.map { " \($0.placeholder)" }.joined()
    let left = command.options.map { option in
      (option.short.map { "\($0), " } ?? "") + option.name + (option.value.map { " \($0)" } ?? "")
    }
    let width = left.map(\.count).max() ?? 0
    let options = zip(left, command.options).map { left, option in
      (option.group.map { "\n\($0):\n" } ?? "")
        + "  \(left.padded(to: width))  \(option.summary)" + (option.standard.map { " (default \($0))" } ?? "")
    }
    var text = "usage: easim \(command.name)\(operands) [OPTIONS]\n\n\(command.details)\n"
    let hasGroups = command.options.first?.group != nil
    text += (hasGroups ? "" : "\noptions:\n") + options.joined(separator: "\n") + "\n"
    text += "\nexample:\n\(command.examples.map { "  \($0)" }.joined(separator: "\n"))"
    return text
  }
}
