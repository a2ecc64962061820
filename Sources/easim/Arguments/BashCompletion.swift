/// The bash completion of easim, made from the command table: what the parser accepts is what is offered.
///
/// What a value or a word may be is read off its placeholder: `FILE` is a file, `PROFILE` a profile's name, `ADDR` an
/// address, and words of small letters with bars between them are the words themselves.
enum BashCompletion {
  static func script(_ commands: [CommandSpec]) -> String {
    """
    # bash completion for easim. To use it:  source <(easim completion bash)
    _easim() {
      # bash takes words apart at colons, and addresses have them: so the line is looked at, and not bash's words.
      local line="${COMP_LINE:0:COMP_POINT}" whole word command before
      local -a typed
      whole="${line##*[[:space:]]}"
      word="${whole##*:}"
      read -ra typed <<< "${line%"$whole"}"
      command="${typed[1]}"
      before="${typed[${#typed[@]}-1]}"
      COMPREPLY=()
      if (( ${#typed[@]} == 1 )); then
        _easim_words "\(commands.map(\.name).joined(separator: " ")) --help --version"
        return
      fi
      case "$command $before" in
    \(commands.flatMap(values).joined(separator: "\n"))
      esac
      if [[ $whole == -* ]]; then
        case "$command" in
    \(commands.map(options).joined(separator: "\n"))
        esac
        return
      fi
      case "$command" in
    \(commands.compactMap(words).joined(separator: "\n"))
      esac
    }
    _easim_words() { COMPREPLY=($(compgen -W "$1" -- "$word")); }
    _easim_files() { COMPREPLY=($(compgen -f -- "$word")); compopt -o filenames 2>/dev/null; }
    _easim_profiles() {
      COMPREPLY=($(compgen -W "$(easim profile list 2>/dev/null | cut -d ' ' -f 1)" -- "$word") $(compgen -f -X '!*.json5' -- "$word"))
    }
    _easim_addresses() {
      local all reply
      all="bench: unix: tcp: pty: serial: $(easim list 2>/dev/null | cut -d ' ' -f 1)"
      # What stands before the last colon is not bash's to replace.
      for reply in $(compgen -W "$all" -- "$whole"); do COMPREPLY+=("${reply#"${whole%"$word"}"}"); done
      compopt -o nospace 2>/dev/null
    }
    complete -F _easim easim
    """
  }

  /// The cases for what stands behind an option.
  private static func values(_ command: CommandSpec) -> [String] {
    command.options.compactMap { option in
      guard let placeholder = option.value else { return nil }
      return "    \"\(command.name) \(option.name)\") \(completion(placeholder, option.choices)); return ;;"
    }
  }

  private static func options(_ command: CommandSpec) -> String {
    "      \(command.name)) _easim_words \"\(command.allOptions.map(\.name).joined(separator: " "))\" ;;"
  }

  private static func words(_ command: CommandSpec) -> String? {
    let parts = command.arguments.split(separator: " ").map { $0.filter { !"[]…".contains($0) } }
    guard let first = parts.first else { return nil }
    guard parts.count > 1 else { return "    \(command.name)) \(completion(String(first), [])) ;;" }
    let (verbs, rest) = (completion(String(first), []), completion(String(parts[1]), []))
    return "    \(command.name)) if (( ${#typed[@]} == 2 )); then \(verbs); else \(rest); fi ;;"
  }

  private static func completion(_ placeholder: String, _ choices: [String]) -> String {
    if !choices.isEmpty { return "_easim_words \"\(choices.joined(separator: " "))\"" }
    let kinds = placeholder.split(separator: "|").map(String.init)
    if kinds.contains("PROFILE") { return "_easim_profiles" }
    if kinds.contains("FILE") || kinds == ["F"] { return "_easim_files" }
    if kinds.contains("ADDR") { return "_easim_addresses" }
    let literal = kinds.filter { $0 == $0.lowercased() && $0 != "-" }
    return literal.isEmpty ? ":" : "_easim_words \"\(literal.joined(separator: " "))\""
  }
}
