import AccessoryCore

/// The fish completion of easim, generated from the command table.
///
/// Names of accessories, profiles and files are untrusted. The script never expands these names: candidates pass
/// between functions with a zero byte after each, and fish quotes what it inserts. The script must therefore not use
/// `eval` or print a name as a line. Fish treats text after a tab as a description, so names with a tab are omitted.
enum FishCompletion {
  static func script(_ commands: [CommandSpec]) -> String {
    """
    # fish completion for easim. To use it:  easim completion fish | source, or save it as
    # ~/.config/fish/completions/easim.fish

    # What the word at the cursor can be: its kind, then the words if the kind is 'words'. They come from the table.
    function __easim_expected
        set -l typed (commandline --tokenize --cut-at-cursor --current-process)
        set -l word (commandline --current-token --cut-at-cursor)
        set -l command $typed[2]
        if test (count $typed) -lt 2
            __easim_words \\
    \(commands.map { described($0.name, $0.summary) }.joined(separator: " \\\n")) \\
                --help\\t'print the list of commands' --version\\t'print the version'
            return
        end
        if not contains -- -- $typed
            switch "$command $typed[-1]"
    \(commands.flatMap(values).joined(separator: "\n"))
            end
            if string match --quiet -- '-*' "$word"
                switch "$command"
    \(commands.map(options).joined(separator: "\n"))
                end
                return
            end
        end
        switch "$command"
    \(commands.compactMap(words).joined(separator: "\n"))
        end
    end

    \(offering)
    """
  }

  private static func described(_ name: String, _ summary: String) -> String {
    "            \(quoted(name))\\t\(quoted(summary))"
  }

  private static func values(_ command: CommandSpec) -> [String] {
    command.valueCompletions.map { option, completion in
      "            case \(quoted("\(command.name) \(option)"))\n                \(call(completion))\n                return"
    }
  }

  private static func options(_ command: CommandSpec) -> String {
    let lines = command.options.map { "            \(described($0.name, $0.summary))" }
    return "                case \(command.name)\n"
      + "                    __easim_words \\\n\(lines.joined(separator: " \\\n"))"
  }

  private static func words(_ command: CommandSpec) -> String? {
    guard let (first, others) = command.operandCompletions else { return nil }
    let head = "        case \(command.name)\n"
    guard first != others else { return "\(head)            \(call(first))" }
    return head
      + """
                  if test (count $typed) -eq 2
                      \(call(first))
                  else
                      \(call(others))
                  end
      """
  }

  private static func call(_ completion: WordCompletion) -> String {
    switch completion {
    case .nothing: "true"
    case .words(let choices): "__easim_words \(choices.map(quoted).joined(separator: " "))"
    case .profile: "echo profiles"
    case .file: "echo files"
    case .address: "echo addresses"
    }
  }

  /// Encloses a word in fish's single quotes, within which only a backslash and a single quote are special.
  private static func quoted(_ word: String) -> String {
    let plain = word.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) }
    if plain && !word.isEmpty { return word }
    return "'\(word.replacing("\\", with: "\\\\").replacing("'", with: "\\'"))'"
  }

  private static let offering = #"""
    function __easim_words
        echo words
        string join -- \n $argv
    end

    function __easim_expects
        set -l expected (__easim_expected)
        contains -- "$expected[1]" $argv
    end

    # Prints the candidates, each with a zero byte behind it.
    function __easim_candidates
        set -l expected (__easim_expected)
        set -l names
        switch "$expected[1]"
            case words
                set names $expected[2..-1]
                string join0 -- $names
                return
            case profiles addresses
                set names (command easim completion $expected[1] 2>/dev/null | string split0)
        end
        set -l plain (commandline --tokenize --cut-at-cursor --current-process | string match -- --)
        set -l kept
        for name in $names
            if string match --quiet -- '*'\t'*' $name
                continue
            end
            # Such a name would be taken for an option.
            if test -z "$plain"; and string match --quiet -- '-*' $name
                continue
            end
            set --append kept $name
        end
        string join0 -- $kept
    end

    complete --command easim --no-files
    complete --command easim --condition '__easim_expects files profiles' --force-files
    complete --command easim --no-files --arguments '(__easim_candidates | string split0)'
    """#
}
