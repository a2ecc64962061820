extension CommandSpec {
  /// `easim completion`.
  static let completion = CommandSpec(
    name: "completion", summary: "print a bash completion script", arguments: "bash",
    argumentCount: 1...1,
    details: """
      Print a script that completes commands, options, profiles and the addresses on the bench. To load it in every shell,
      add this line to ~/.bashrc:

        source <(easim completion bash)
      """,
    options: [], examples: ["easim completion bash"],
    run: { arguments, console in
      guard arguments.words == ["bash"] else {
        throw UsageError("no completion for '\(arguments.words[0])': expected bash", arguments.command)
      }
      console.out(BashCompletion.script(CommandSpec.all))
      return .done
    })
}
