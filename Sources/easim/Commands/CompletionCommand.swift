extension CommandSpec {
  static let completion = CommandSpec(
    name: "completion", summary: "print a completion script for bash, zsh or fish",
    details: """
      Print a script that completes commands, options, profiles, files and the addresses of local accessories. The Debian
      package installs the scripts. Otherwise, add your shell's line to its file to load the script in every shell:

        bash 4.4 or later  ~/.bashrc                   source <(easim completion bash)
        zsh                ~/.zshrc, after compinit    source <(easim completion zsh)
        fish 3.4 or later  ~/.config/fish/config.fish  easim completion fish | source
      """,
    examples: ["easim completion bash", "easim completion zsh", "easim completion fish"],
    run: { (options: CompletionOptions, console) in
      switch options.subject {
      case .bash: console.out(CompletionScripts.bash)
      case .zsh: console.out(CompletionScripts.zsh)
      case .fish: console.out(CompletionScripts.fish)
      case .commands: for command in CommandSpec.all { console.out(command.name, ending: "\0") }
      }
      return .done
    })
}

private struct CompletionOptions: CommandOptions {
  /// The output: a completion script for one shell, or the list of commands for packages.
  enum Subject: String, CaseIterable { case bash, zsh, fish, commands }

  var subject = Subject.bash
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [
    Operand(\.subject, .choice, as: "bash|zsh|fish", offered: ["bash", "zsh", "fish"])
  ]
  static let options: [Option<Self>] = []
}
