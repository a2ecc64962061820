import AccessoryCore

/// The bash completion of easim, generated from the command table: it offers exactly the words that the parser accepts.
///
/// ``WordCompletion`` decides which words are offered for a value or an operand.
///
/// Names of accessories, profiles and files are untrusted. The script never expands these names: it reads names whole,
/// compares prefixes and quotes what it inserts, so it must not use `compgen -W`, `compgen -f` or an unquoted variable.
enum BashCompletion {
  static func script(_ commands: [CommandSpec]) -> String {
    """
    # bash completion for easim. To use it:  source <(easim completion bash)
    # shellcheck shell=bash

    _easim() {
      local -a typed=()
      local word='' tail='' quote='' blind='' plain='' kept=0 command before
      COMPREPLY=()
      _easim_read_line
      # Bash replaces $2. Where it takes the line apart in another way, it is not known what that is.
      [[ $tail == "$2" ]] || return 0
      if [[ -n $blind ]]; then
        compopt -o bashdefault -o default
        return
      fi
      command=${typed[1]-}
      before=${typed[-1]}
      if (( ${#typed[@]} == 1 )); then
        \(WordCompletion.words(commands.map(\.name) + ["--help", "--version"]).call)
        return
      fi
      if [[ -z $plain ]]; then
        case "$command $before" in
    \(commands.flatMap(\.valueCases).joined(separator: "\n"))
        esac
        if [[ $word == -* ]]; then
          case $command in
    \(commands.map(options).joined(separator: "\n"))
          esac
          return
        fi
      fi
      case $command in
    \(commands.compactMap { $0.operandCase(isFirst: "${#typed[@]} == 2") }.joined(separator: "\n"))
      esac
    }

    \(reading)

    \(offering)
    complete -F _easim easim
    """
  }

  private static func options(_ command: CommandSpec) -> String {
    "      \(command.name)) \(WordCompletion.words(command.options.map(\.name)).call) ;;"
  }
}

// MARK: - Parts that do not depend on the table

extension BashCompletion {
  private static let reading = #"""
    # Takes the line apart up to the cursor: 'typed' are the words before the cursor's, as easim would get them, and
    # 'word' is the cursor's. Of that, bash replaces what follows the first 'kept' characters, typed as 'tail', in the
    # quotes that are open, 'quote'. 'blind' says that the word holds something that bash would expand, and 'plain' that
    # a '--' has ended the options.
    _easim_read_line() {
      local line=${COMP_LINE:0:COMP_POINT} char begun='' escaped='' outer_tail='' outer_kept=0 i
      for (( i = 0; i < ${#line}; i++ )); do
        char=${line:i:1}
        tail+=$char
        if [[ -n $escaped ]]; then
          # In double quotes a backslash means itself, but for these.
          [[ -z $quote || $char == [\"\\\$\`] ]] || word+=\\
          word+=$char escaped=''
        elif [[ $char == "$quote" ]]; then
          tail=$outer_tail$tail kept=$outer_kept quote=''
        elif [[ $quote == "'" ]]; then
          word+=$char
        elif [[ $char == \\ ]]; then
          escaped=1 begun=1
        elif [[ $char == [\$\`] || $char == '~' && -z $begun ]]; then
          blind=1 begun=1 word+=$char
        elif [[ -n $quote ]]; then
          word+=$char
        elif [[ $char == [\"\'] ]]; then
          outer_tail=$tail outer_kept=$kept tail='' kept=${#word} quote=$char begun=1
        elif [[ $char == [[:space:]] ]]; then
          if [[ -n $begun ]]; then
            typed+=("$word")
            [[ $word != -- ]] || plain=1
          fi
          word='' tail='' blind='' kept=0 begun=''
        else
          word+=$char begun=1
          # Bash takes words apart at these too, and addresses have colons. An '@' belongs to what follows it.
          if [[ $COMP_WORDBREAKS == *"$char"* ]]; then
            tail='' kept=${#word}
            if [[ $char == @ ]]; then tail=@ kept=$((kept - 1)); fi
          fi
        fi
      done
    }

    # Adds a name to what is offered: in the quotes that are open, or else in quotes of its own where it needs them.
    # Names are put in single quotes, so that the beginning that several have in common is a word that can be typed on.
    _easim_add() {
      local name=${1:kept}
      local -r single="'" closed="'\\''" apart="\"'!'\""
      case $quote in
      # Bash closes the quotes itself, but not behind a name that ends with one.
      "'") name=${name//"$single"/"$closed"}$quote ;;
      '"')
        name=${name//\\/\\\\}
        name=${name//\"/\\\"}
        name=${name//\$/\\\$}
        name=${name//\`/\\\`}
        # Nothing in double quotes keeps an exclamation mark from the history.
        name=${name//!/"$apart"}$quote
        ;;
      *)
        if [[ $1 == */ && $name == *[^[:alnum:]_./:,=@%+-]* ]]; then
          # What is in a folder is typed on behind it, so the quotes stay open.
          name="'${name//"$single"/"$closed"}"
        elif [[ $name == *[[:cntrl:]]* ]]; then
          printf -v name %q "$name"
        elif [[ $name == *[^[:alnum:]_./:,=@%+-]* ]]; then
          name="'${name//"$single"/"$closed"}'"
        fi
        ;;
      esac
      COMPREPLY+=("$name")
      if [[ $1 == *[/:] ]]; then compopt -o nospace; fi
    }
    """#

  private static let offering = #"""
    _easim_words() {
      local name
      for name; do
        if [[ ${name:0:${#word}} == "$word" ]]; then _easim_add "$name"; fi
      done
    }

    _easim_files() {
      local suffix=${1-}
      local -a names
      # A shell of its own, whose settings are its own.
      mapfile -d '' -t names < <(
        set +f
        shopt -s nullglob
        shopt -u failglob nocaseglob
        unset GLOBIGNORE
        for name in "$word"*; do
          if [[ -d $name ]]; then
            [[ -n $suffix && $word != */* ]] || printf '%s/\0' "$name"
          elif [[ $name == *"$suffix" ]]; then
            printf '%s\0' "$name"
          fi
        done
      )
      # A file whose name begins with a dash would be taken for an option.
      [[ -n $word ]] || names=("${names[@]/#-/./-}")
      _easim_words "${names[@]}"
    }

    _easim_profiles() {
      local -a names
      local name
      mapfile -d '' -t names < <(command easim completion profiles 2>/dev/null)
      for name in "${names[@]}"; do
        if [[ $name != -* || -n $plain ]]; then _easim_words "$name"; fi
      done
      _easim_files .json5
    }

    _easim_addresses() {
      local -a names
      mapfile -d '' -t names < <(command easim completion addresses 2>/dev/null)
      _easim_words "${names[@]}"
    }
    """#
}
