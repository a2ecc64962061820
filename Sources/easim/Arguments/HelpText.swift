import AccessoryCore

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

/// Generates manual pages in roff format from the command table: easim(1), easim-run(1) and others.
enum ManualPage {
  static func overview(_ commands: [CommandSpec]) -> String {
    """
    \(head("easim", "simulate MFi accessories and the Apple device that talks to them"))
    .SH SYNOPSIS
    .B easim
    .I COMMAND
    .RI [ OPTIONS ]
    .SH DESCRIPTION
    \(line(HelpText.purpose))
    Start with
    .BR "easim demo" .
    .SH COMMANDS
    \(commands.map { ".TP\n.BR \(escaped("easim-\($0.name)")) (1)\n\(line($0.summary))" }.joined(separator: "\n"))
    .SH OPTIONS
    .TP
    .BR \(escaped("--help")) ", " \(escaped("-h"))
    print the list of commands
    .TP
    .B \(escaped("--version"))
    print the version, and the commit and day it was built from
    .SH EXIT STATUS
    \(ExitCode.allCases.map { ".TP\n.B \($0.rawValue)\n\(line($0.meaning))" }.joined(separator: "\n"))
    """
  }

  static func page(_ command: CommandSpec) -> String {
    let usage = (["easim", command.name] + command.operands.map(\.placeholder) + ["[OPTIONS]"]).joined(separator: " ")
    return """
      \(head("easim-\(command.name)", command.summary))
      .SH SYNOPSIS
      \(line(usage))
      .SH DESCRIPTION
      \(paragraphs(command.details))
      .SH OPTIONS
      \(command.options.map(option).joined(separator: "\n"))
      .SH EXAMPLES
      \(asTyped(command.examples))
      .SH SEE ALSO
      .BR easim (1)
      """
  }

  private static func head(_ name: String, _ summary: String) -> String {
    """
    .TH \(escaped(name.uppercased())) 1 "\(Version.date ?? "")" "easim \(Version.current)" "easim"
    .SH NAME
    \(escaped(name)) \\- \(escaped(summary))
    """
  }

  private static func option(_ option: OptionSpec) -> String {
    let names = [option.short, option.name].compactMap(\.self).map { "\\fB\(escaped($0))\\fR" }.joined(separator: ", ")
    let value = option.value.map { " \\fI\(escaped($0))\\fR" } ?? ""
    let standard = option.standard.map { " (default \($0))" } ?? ""
    let heading = option.group.map { ".SS \(escaped($0))\n" } ?? ""
    return heading + ".TP\n\(names)\(value)\n\(line(option.summary + standard))"
  }

  /// Joins the lines of each paragraph, but leaves text that is indented or in columns unchanged.
  private static func paragraphs(_ text: String) -> String {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    return lines.split(separator: "").map { paragraph in
      paragraph.contains { $0.hasPrefix(" ") || $0.contains("  ") }
        ? asTyped(Array(paragraph)) : paragraph.map(line).joined(separator: "\n")
    }.joined(separator: "\n.PP\n")
  }

  private static func asTyped(_ lines: [String]) -> String {
    ".nf\n\(lines.map(line).joined(separator: "\n"))\n.fi"
  }

  /// Escapes a line so that roff does not interpret it as a request.
  private static func line(_ text: String) -> String {
    (text.hasPrefix(".") || text.hasPrefix("'") ? "\\&" : "") + escaped(text)
  }

  /// Escapes text so that roff leaves quotes unchanged and prints dashes that can be copied and pasted.
  private static func escaped(_ text: String) -> String {
    text.unicodeScalars.map { scalar in
      switch scalar {
      case "\\": "\\e"
      case "-": "\\-"
      case "'": "\\(aq"
      case "`": "\\(ga"
      case "^": "\\(ha"
      case "~": "\\(ti"
      case "\"": "\\(dq"
      case _ where scalar.isASCII: String(scalar)
      default: "\\[u\(Hex.number(scalar.value, digits: 4))]"
      }
    }.joined()
  }
}
