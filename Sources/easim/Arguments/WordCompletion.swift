/// What a shell offers for one word of the command line. The scripts for bash, zsh and fish all use this, so that their
/// offers agree.
enum WordCompletion: Equatable {
  /// Nothing is known about the word.
  case nothing
  /// One of these words.
  case words([String])
  /// The name of a profile, or the path of one.
  case profile
  /// A path.
  case file
  /// The beginning of an address, or the address of a local accessory.
  case address

  /// Derived from the value's name in help: `FILE` is a file, `PROFILE` a profile's name, `ADDR` an address, `COMMAND`
  /// a command, and lower-case words separated by bars are the words themselves.
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
  /// The completion for each option that takes a value.
  var valueCompletions: [(option: String, completion: WordCompletion)] {
    options.compactMap { option in
      option.value.map { (option.name, WordCompletion($0, choices: option.choices)) }
    }
  }

  /// The completions for the first operand and for later ones.
  var operandCompletions: (first: WordCompletion, others: WordCompletion)? {
    let all = operands.map { WordCompletion($0.placeholder, choices: $0.choices) }
    return all.first.map { ($0, all.count > 1 ? all[1] : $0) }
  }
}

// MARK: - What the scripts for bash and zsh have in common

extension WordCompletion {
  /// The shell call that offers these words.
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
  /// The cases for the word after an option.
  var valueCases: [String] {
    valueCompletions.map { "    \"\(name) \($0)\") \($1.call); return ;;" }
  }

  /// The case for an operand; `isFirst` is the shell's test for the first operand.
  func operandCase(isFirst: String) -> String? {
    guard let (first, others) = operandCompletions else { return nil }
    guard first != others else { return "    \(name)) \(first.call) ;;" }
    return "    \(name)) if (( \(isFirst) )); then \(first.call); else \(others.call); fi ;;"
  }
}
