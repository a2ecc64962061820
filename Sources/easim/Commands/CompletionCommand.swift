import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessoryTransports

extension CommandSpec {
  /// `easim completion`.
  static let completion = CommandSpec(
    name: "completion", summary: "print a bash completion script", arguments: "bash",
    argumentCount: 1...1,
    details: """
      Print a script for bash 4.4 or later that completes commands, options, profiles, files and the addresses on the
      bench. To load it in every shell, add this line to ~/.bashrc:

        source <(easim completion bash)

      The script calls 'easim completion profiles' and 'easim completion addresses', which print the current names, each
      followed by a zero byte.
      """,
    options: [], examples: ["easim completion bash"],
    run: { arguments, console in
      switch arguments.words[0] {
      case "bash": console.out(BashCompletion.script(CommandSpec.all))
      case "profiles": list(Profiles.library.names.map(\.name), console)
      case "addresses": list(addresses(), console)
      case let other:
        throw UsageError("no completion for '\(other)': expected bash", arguments.command)
      }
      return .done
    })

  /// Names end with a zero byte, because a name may contain a newline.
  private static func list(_ names: [String], _ console: Console) {
    for name in names { console.out(name, ending: "\0") }
  }

  /// The prefixes of all kinds of addresses, and the addresses on the bench that can be parsed again: a serial number
  /// with a '#' would be read as a bench's folder.
  private static func addresses() -> [String] {
    let found = (try? BenchDirectory.standard().look().accessories) ?? []
    return Address.Kind.allCases.map { "\($0.rawValue):" }
      + found.map(\.address).filter { (try? Address(parsing: "\($0)")) == $0 }.map(\.description)
  }
}
