import AccessoryFormats

extension CommandSpec {
  static let man = CommandSpec(
    name: "man", summary: "print a manual page",
    details: """
      Print the manual page of COMMAND, or easim(1) without one, in the format of man(1). The Debian package installs all
      pages. To read one without the package:

        easim man run | man -l -
      """,
    examples: ["easim man", "easim man run"],
    run: { (options: ManOptions, console) in
      if let name = options.command, let command = CommandSpec.all.first(where: { $0.name == name }) {
        console.out(ManualPage.page(command))
      } else {
        console.out(ManualPage.overview(CommandSpec.all))
      }
      return .done
    })
}

private struct ManOptions: CommandOptions {
  var command: String?
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [
    Operand(placeholder: "[COMMAND]", 0...1, \.command) { command, word in
      let names = CommandSpec.all.map(\.name)
      guard names.contains(word) else {
        throw OptionError("there is no such command\(Suggestion.nearHint(for: word, in: names))")
      }
      command = word
    }
  ]
  static let options: [Option<Self>] = []
}
