import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessoryTransports

extension CommandSpec {
  /// `easim completion`.
  static let completion = CommandSpec(
    name: "completion", summary: "print a bash completion script",
    details: """
      Print a script for bash 4.4 or later that completes commands, options, profiles, files and the addresses on the
      bench. To load it in every shell, add this line to ~/.bashrc:

        source <(easim completion bash)

      The script calls 'easim completion profiles' and 'easim completion addresses', which print the current names, each
      followed by a zero byte.
      """,
    examples: ["easim completion bash"],
    run: { (options: CompletionOptions, console) in
      switch options.words {
      case .bash: console.out(BashCompletion.script(CommandSpec.all))
      case .profiles: list(Profiles.library.names.map(\.name), console)
      case .addresses: list(addresses(), console)
      }
      return .done
    })

  /// Names end with a zero byte, because a name may contain a newline.
  private static func list(_ names: [String], _ console: Console) {
    for name in names { console.out(name, ending: "\0") }
  }

  /// The prefixes of all kinds of addresses, and the addresses on the bench.
  private static func addresses() -> [String] {
    let found = (try? BenchDirectory.standard().look().accessories) ?? []
    return Address.Kind.allCases.map { "\($0.rawValue):" }
      + found.map(\.address.description)
  }
}

private struct CompletionOptions: CommandOptions {
  /// `bash`, and the lists that its script requests during completion.
  enum Words: String, CaseIterable { case bash, profiles, addresses }

  var words = Words.bash
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [Operand(\.words, .choice, as: "bash", offered: ["bash"])]
  static let options: [Option<Self>] = []
}
