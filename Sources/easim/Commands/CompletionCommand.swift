extension CommandSpec {
  /// `easim completion`.
  static let completion = CommandSpec(
    name: "completion", summary: "what makes the shell complete easim's words", arguments: "bash",
    argumentCount: 1...1,
    details: """
      Prints a script that teaches bash to complete commands, options, profiles and the addresses on the bench.
      To have it in every shell, add the example's line to ~/.bashrc.
      """,
    options: [], examples: ["easim completion bash"],
    run: { arguments, console in
      guard arguments.words == ["bash"] else {
        throw UsageError("no completion for '\(arguments.words[0])': there is one for bash", arguments.command)
      }
      console.out(BashCompletion.script(CommandSpec.all))
      return .done
    })
}
