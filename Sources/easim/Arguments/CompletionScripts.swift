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
      # Bash replaces $2. If bash splits the line differently, it is unknown what it would replace.
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

    # Splits the line up to the cursor: 'typed' gets the words before the cursor's word, as easim would receive them,
    # and 'word' gets the cursor's word. Bash replaces only what follows the first 'kept' characters of the word, typed
    # as 'tail' inside the open quotes 'quote'. 'blind' is set if the word contains something that bash would expand.
    _easim_read_line() {
      local line=${COMP_LINE:0:COMP_POINT} char begun='' escaped='' outer_tail='' outer_kept=0 i
      for (( i = 0; i < ${#line}; i++ )); do
        char=${line:i:1}
        tail+=$char
        if [[ -n $escaped ]]; then
          # In double quotes, a backslash escapes only these characters.
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
          # Bash also splits words at these, and addresses contain colons. An '@' belongs to the text after it.
          if [[ $COMP_WORDBREAKS == *"$char"* ]]; then
            tail='' kept=${#word}
            if [[ $char == @ ]]; then tail=@ kept=$((kept - 1)); fi
          fi
        fi
      done
    }

    # Offers a name that begins with the word: inside the open quotes, or in new quotes if the name needs them. New
    # quotes are single quotes, so that the common beginning of several names is a word that the user can continue.
    _easim_offer() {
      [[ ${1:0:${#word}} == "$word" ]] || return 0
      local name=${1:kept}
      local -r single="'" closed="'\\''" apart="\"'!'\""
      case $quote in
      # Bash closes the quotes itself, but not after a name that ends with a quote.
      "'") name=${name//"$single"/"$closed"}$quote ;;
      '"')
        name=${name//\\/\\\\}
        name=${name//\"/\\\"}
        name=${name//\$/\\\$}
        name=${name//\`/\\\`}
        # In double quotes, an exclamation mark cannot be protected from history expansion.
        name=${name//!/"$apart"}$quote
        ;;
      *)
        if [[ $1 == */ && $name == *[^[:alnum:]_./:,=@%+-]* ]]; then
          # The quotes stay open after a folder, because the user continues with a name in the folder.
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
      # A subshell, whose settings do not affect the user's shell.
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
        # The user continues after a name that ends with a colon.
        begun=("${(@M)names:#*:}") whole=("${(@)names:#*:}")
        compadd -S '' -a begun
        compadd -a whole
      fi
      if [[ ${offers[1]-} == files* ]]; then _easim_files "${offers[1]#files}"; fi
    }

    # The argument is the required end of a file's name. 'compadd' gets the names, because _files does not close the
    # quotes after a name that contains quotes. _files handles words that begin with something that zsh expands.
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
      # A file whose name begins with a dash would be taken for an option, so it is offered with ./ in front.
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

    # Prints each of easim's offers, followed by a zero byte.
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
