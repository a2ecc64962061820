import AccessoryCables
import AccessoryCore
import AccessoryHost
import AccessoryProfiles

extension CommandSpec {
  static let completion = CommandSpec(
    name: "completion", summary: "print a completion script for bash, zsh or fish",
    details: """
      Print a script that completes commands, options, profiles, files and the addresses of local accessories. The Debian
      package installs the scripts. Otherwise, add your shell's line to its file to load the script in every shell:

        bash 4.4 or later  ~/.bashrc                   source <(easim completion bash)
        zsh                ~/.zshrc, after compinit    source <(easim completion zsh)
        fish 3.4 or later  ~/.config/fish/config.fish  easim completion fish | source

      The scripts call 'easim completion profiles' and 'easim completion addresses', which print the current names, each
      followed by a zero byte; 'easim completion commands' prints the commands in the same way.
      """,
    examples: ["easim completion bash", "easim completion zsh", "easim completion fish"],
    run: { (options: CompletionOptions, console) in
      switch options.words {
      case .bash: console.out(BashCompletion.script(CommandSpec.all))
      case .zsh: console.out(ZshCompletion.script(CommandSpec.all))
      case .fish: console.out(FishCompletion.script(CommandSpec.all))
      case .commands: list(CommandSpec.all.map(\.name), console)
      case .profiles: list(Profiles.library.names.map(\.name), console)
      case .addresses: list(addresses(), console)
      }
      return .done
    })

  /// Prints each name with a zero byte at the end, because a name may contain a newline.
  private static func list(_ names: [String], _ console: Console) {
    for name in names { console.out(name, ending: "\0") }
  }

  private static func addresses() -> [String] {
    let found = (try? LocalDirectory.standard().look().accessories) ?? []
    return Address.Kind.allCases.map { "\($0.rawValue):" }
      + found.map(\.address.description)
  }
}

private struct CompletionOptions: CommandOptions {
  /// The shells that have a script, and the lists that these scripts request during completion.
  enum Words: String, CaseIterable { case bash, zsh, fish, commands, profiles, addresses }

  var words = Words.bash
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [
    Operand(\.words, .choice, as: "bash|zsh|fish", offered: ["bash", "zsh", "fish"])
  ]
  static let options: [Option<Self>] = []
}
