/// The completion scripts, which get their suggestions from ``CompletionOffers``.
///
/// The names of accessories, profiles and files are untrusted. The scripts never expand such names, and quote
/// everything that they insert. The bash script must not use `compgen -W`, `compgen -f` or unquoted variables. The zsh
/// script must not use `eval`, `_arguments`, `_describe` (which splits names at colons) or `compadd -Q`, and may use
/// `(Q)` only to remove quotes. The fish script must not use `eval` or print a name as a line. Fish treats the text
/// after a tab as a description, so its script offers no names with tabs.
enum CompletionScripts {
  static let bash = #"""
    # bash completion for easim. To use it:  source <(easim completion bash)
    # shellcheck shell=bash

    _easim() {
      local -a typed=() offers=()
      local word='' tail='' quote='' blind='' kept=0 offer
      COMPREPLY=()
      _easim_read_line
      # Bash replaces $2. Where it takes the line apart in another way, it is not known what that is.
      [[ $tail == "$2" ]] || return 0
      if [[ -n $blind ]]; then
        compopt -o bashdefault -o default
        return
      fi
      mapfile -d '' -t offers < <(command easim completion offer "${typed[@]:1}" "$word" 2>/dev/null)
      for offer in "${offers[@]:1}"; do
        _easim_offer "${offer%$'\t'*}"
      done
      if [[ ${offers[0]-} == files* ]]; then _easim_files "${offers[0]#files}"; fi
    }

    # Takes the line apart up to the cursor: 'typed' are the words before the cursor's, as easim would get them, and
    # 'word' is the cursor's. Of that, bash replaces what follows the first 'kept' characters, typed as 'tail', in the
    # quotes that are open, 'quote'. 'blind' says that the word holds something that bash would expand.
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
          if [[ -n $begun ]]; then typed+=("$word"); fi
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

    # Offers a name that begins as the word does: in the quotes that are open, or else in quotes of its own where it needs
    # them. These are single quotes, so that the beginning that several names have in common is a word that can be typed on.
    _easim_offer() {
      [[ ${1:0:${#word}} == "$word" ]] || return 0
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

    _easim_files() {
      local name
      local -a names
      # A shell of its own, whose settings are its own.
      mapfile -d '' -t names < <(
        set +f
        shopt -s nullglob
        shopt -u failglob nocaseglob
        unset GLOBIGNORE
        for name in "$word"*; do
          if [[ -d $name ]]; then
            [[ -n $1 && $word != */* ]] || printf '%s/\0' "$name"
          elif [[ $name == *"$1" ]]; then
            printf '%s\0' "$name"
          fi
        done
      )
      # A file whose name begins with a dash would be taken for an option.
      [[ -n $word ]] || names=("${names[@]/#-/./-}")
      for name in "${names[@]}"; do
        _easim_offer "$name"
      done
    }
    complete -F _easim easim
    """#

  static let zsh = #"""
    #compdef easim
    # zsh completion for easim. To use it:  source <(easim completion zsh), after compinit; or save it as _easim in a
    # folder of $fpath.

    _easim() {
      local -a offers names shown begun whole
      local offer
      local -i width=0
      offers=("${(@0)$(command easim completion offer "${(@Q)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}")
      for offer in "${(@)offers[2,-1]:#}"; do
        names+=("${offer%$'\t'*}")
        if (( ${#names[-1]} > width )); then width=${#names[-1]}; fi
      done
      for offer in "${(@)offers[2,-1]:#}"; do
        if [[ $offer != *$'\t' ]]; then shown+=("${(r:width:)offer%$'\t'*}  ${offer##*$'\t'}"); fi
      done
      if (( ${#shown} )); then
        compadd -l -d shown -a names
      else
        # What ends with a colon is typed on.
        begun=("${(@M)names:#*:}") whole=("${(@)names:#*:}")
        compadd -S '' -a begun
        compadd -a whole
      fi
      if [[ ${offers[1]-} == files* ]]; then _easim_files "${offers[1]#files}"; fi
    }

    # Takes the end that a file's name must have. 'compadd' gets the names, because _files closes no quotes behind a name
    # with quotes in it; it has what begins with something that zsh expands.
    _easim_files() {
      local suffix=$1 word=$compstate[quote]$PREFIX$compstate[quote]
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

    if [[ ${funcstack[1]-} == _easim ]]; then _easim "$@"; else compdef _easim easim; fi
    """#

  static let fish = #"""
    # fish completion for easim. To use it:  easim completion fish | source, or save it as
    # ~/.config/fish/completions/easim.fish

    # Prints what easim offers, each with a zero byte behind it.
    function __easim_offers
        set -l typed (commandline --tokenize --cut-at-cursor --current-process)
        set -l word (commandline --current-token --cut-at-cursor)
        command easim completion offer $typed[2..-1] "$word" 2>/dev/null
    end

    function __easim_takes_files
        set -l offers (__easim_offers | string split0)
        string match --quiet -- 'files*' "$offers[1]"
    end

    function __easim_words
        set -l offers (__easim_offers | string split0)
        set -l kept
        for offer in $offers[2..-1]
            string match --quiet -- '*'\t'*'\t'*' $offer; or set --append kept $offer
        end
        string join0 -- $kept
    end

    complete --command easim --no-files
    complete --command easim --condition __easim_takes_files --force-files
    complete --command easim --no-files --arguments '(__easim_words | string split0)'
    """#
}
