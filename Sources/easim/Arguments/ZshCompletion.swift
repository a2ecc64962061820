import AccessoryCore

/// The zsh completion of easim, generated from the command table.
///
/// Names of accessories, profiles and files are untrusted. The script never expands these names: `(Q)` only removes
/// quotes, and `compadd` quotes what it inserts. The script must therefore not use `eval`, `_arguments`, `_describe`
/// (which splits names at colons) or `compadd -Q`.
enum ZshCompletion {
  static func script(_ commands: [CommandSpec]) -> String {
    """
    #compdef easim
    # zsh completion for easim. To use it:  source <(easim completion zsh), after compinit; or save it as _easim in a
    # folder of $fpath.

    _easim() {
      local -a typed
      local command before plain=
      typed=("${(@Q)words[1,CURRENT-1]}")
      command=${typed[2]-}
      before=${typed[-1]}
      if (( CURRENT == 2 )); then
        _easim_described \\
    \(commands.map { described($0.name, $0.summary) }.joined(separator: " \\\n")) \\
          --help 'print the list of commands' --version 'print the version'
        return
      fi
      if (( ${typed[(Ie)--]} )); then plain=1; fi
      if [[ -z $plain ]]; then
        case "$command $before" in
    \(commands.flatMap(\.valueCases).joined(separator: "\n"))
        esac
        if [[ $PREFIX == -* ]]; then
          case $command in
    \(commands.map(options).joined(separator: "\n"))
          esac
          return
        fi
      fi
      case $command in
    \(commands.compactMap { $0.operandCase(isFirst: "CURRENT == 3") }.joined(separator: "\n"))
      esac
    }

    \(offering)
    """
  }

  private static func described(_ name: String, _ summary: String) -> String {
    "      \(name.shellWord) \(summary.shellWord)"
  }

  private static func options(_ command: CommandSpec) -> String {
    let lines = command.options.map { "    \(described($0.name, $0.summary))" }
    return "      \(command.name)) _easim_described \\\n\(lines.joined(separator: " \\\n")) ;;"
  }

  private static let offering = #"""
    _easim_words() {
      local -a names
      names=("$@")
      compadd -a names
    }

    # Takes pairs: a word and what it does.
    _easim_described() {
      local -a names shown
      local name summary
      local -i width=0
      for name summary; do
        names+=("$name")
        if (( ${#name} > width )); then width=${#name}; fi
      done
      for name summary; do shown+=("${(r:width:)name}  $summary"); done
      compadd -l -d shown -a names
    }

    # Takes the end that a file's name must have. 'compadd' gets the names, because _files closes no quotes behind a name
    # with quotes in it; it has what begins with something that zsh expands.
    _easim_files() {
      local suffix=${1-} word=$compstate[quote]$PREFIX$compstate[quote]
      local -a files folders
      if [[ $PREFIX == [~=]* || $PREFIX == *[\$\`]* && $compstate[quote] != "'" && $PREFIX != *\\[\$\`]* ]]; then
        _files -g "*$suffix"
        return
      fi
      word=${(Q)word}
      files=("$word"*(N))
      folders=("${(@)^files}"(N-/))
      files=("${(@M)files:#*${suffix}}")
      files=("${(@)files:|folders}")
      # A file whose name begins with a dash would be taken for an option; behind ./ it is offered.
      if [[ -z $word ]]; then
        files=("${(@)files/#-/./-}")
        folders=("${(@)folders/#-/./-}")
      fi
      compadd -a files
      compadd -q -S / -a folders
    }

    _easim_profiles() {
      local -a names
      names=("${(@0)$(command easim completion profiles 2>/dev/null)}")
      names=("${(@)names:#}")
      if [[ -z $plain ]]; then names=("${(@)names:#-*}"); fi
      compadd -a names
      _easim_files .json5
    }

    _easim_addresses() {
      local -a names
      names=("${(@0)$(command easim completion addresses 2>/dev/null)}")
      names=("${(@)names:#}")
      # What ends with a colon is typed on.
      local -a begun=("${(@M)names:#*:}") whole=("${(@)names:#*:}")
      compadd -S '' -a begun
      compadd -a whole
    }

    if [[ ${funcstack[1]-} == _easim ]]; then _easim "$@"; else compdef _easim easim; fi
    """#
}
