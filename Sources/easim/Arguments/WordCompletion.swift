/// The completions that a shell offers for one word of the command line. The scripts for bash, zsh and fish are all
/// generated from these cases, so that all shells offer the same words.
enum WordCompletion: Equatable {
  case nothing
  case words([String])
  case profile
  case file
  case address

  /// Derives the completion from the value's placeholder in help: `FILE` is a file, `PROFILE` a profile's name, `ADDR`
  /// an address, `COMMAND` a command. Lower-case words separated by bars are themselves the choices.
  init(_ placeholder: String, choices: [String]) {
    let kinds = placeholder.filter { !"[]…".contains($0) }.split(separator: "|").map(String.init)
    let literal = kinds.filter { $0 == $0.lowercased() && $0 != "-" }
    self =
      if !choices.isEmpty {
        .words(choices)
      } else if kinds.contains("PROFILE") {
        .profile
      } else if kinds.contains("FILE") || kinds == ["F"] {
        .file
      } else if kinds.contains("ADDR") {
        .address
      } else if kinds == ["COMMAND"] {
        .words(CommandSpec.all.map(\.name))
      } else {
        literal.isEmpty ? .nothing : .words(literal)
      }
  }
}

extension CommandSpec {
  var valueCompletions: [(option: String, completion: WordCompletion)] {
    options.compactMap { option in
      option.value.map { (option.name, WordCompletion($0, choices: option.choices)) }
    }
  }

  var operandCompletions: (first: WordCompletion, others: WordCompletion)? {
    let all = operands.map { WordCompletion($0.placeholder, choices: $0.choices) }
    return all.first.map { ($0, all.count > 1 ? all[1] : $0) }
  }
}

// MARK: - Parts that bash and zsh share

extension WordCompletion {
  var call: String {
    switch self {
    case .nothing: ":"
    case .words(let choices): "_easim_words \(choices.map(\.shellWord).joined(separator: " "))"
    case .profile: "_easim_profiles"
    case .file: "_easim_files"
    case .address: "_easim_addresses"
    }
  }
}

extension CommandSpec {
  var valueCases: [String] {
    valueCompletions.map { "    \"\(name) \($0)\") \($1.call); return ;;" }
  }

  /// Returns the script's `case` branch for an operand; `isFirst` is the shell's test for the first operand.
  func operandCase(isFirst: String) -> String? {
    guard let (first, others) = operandCompletions else { return nil }
    guard first != others else { return "    \(name)) \(first.call) ;;" }
    return "    \(name)) if (( \(isFirst) )); then \(first.call); else \(others.call); fi ;;"
  }
}
