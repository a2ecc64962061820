import AccessoryCables
import AccessoryCore
import AccessoryFaults
import AccessoryFormats
import AccessoryProfiles
import AccessoryRuns

extension CommandSpec {
  static let all: [CommandSpec] = [
    .demo, .run, .list, .watch, .info, .check, .attach, .send, .pipe, .proxy, .burst, .report, .console, .pair, .unpair,
    .plug, .decode, .trace, .redact, .replay,
    .profile, .quirk, .fault, .scenario, .soak, .serve, .ctl, .extcap, .doctor, .completion, .man,
  ]
}

extension CommandSpec {
  static let completion = CommandSpec(
    name: "completion", summary: "print a completion script for bash, zsh or fish",
    details: """
      Print a script that completes commands, options, profiles, files and the addresses of local accessories. The Debian
      package installs the scripts. Otherwise, add your shell's line to its file to load the script in every shell:

        bash 4.4 or later  ~/.bashrc                   source <(easim completion bash)
        zsh                ~/.zshrc, after compinit    source <(easim completion zsh)
        fish 3.4 or later  ~/.config/fish/config.fish  easim completion fish | source
      """,
    examples: ["easim completion bash", "easim completion zsh", "easim completion fish"],
    run: { (options: CompletionOptions, console) in
      switch options.subject {
      case .bash: console.out(CompletionScripts.bash)
      case .zsh: console.out(CompletionScripts.zsh)
      case .fish: console.out(CompletionScripts.fish)
      case .commands: for command in CommandSpec.all { console.out(command.name, ending: "\0") }
      }
      return .done
    })
}

private struct CompletionOptions: CommandOptions {
  enum Subject: String, CaseIterable { case bash, zsh, fish, commands }

  var subject = Subject.bash
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [
    Operand(\.subject, .choice, as: "bash|zsh|fish", offered: ["bash", "zsh", "fish"])
  ]
  static let options: [Option<Self>] = []
}

/// The words and files that could complete the word at the cursor. The scripts for bash, zsh and fish all call the
/// hidden command `easim completion offer`, so every shell offers exactly the words that the parser accepts.
struct CompletionOffers {
  private(set) var words: [(name: String, summary: String)] = []
  /// The file name suffix that offered files must have, or nil to offer no files.
  private(set) var files: String?

  /// - Parameters:
  ///   - typed: the words between `easim` and the word at the cursor.
  ///   - word: the beginning of the word at the cursor.
  init(after typed: [String], at word: String) {
    guard let name = typed.first else {
      words = CommandSpec.all.map { ($0.name, $0.summary) }
      words += [("--help", "print the list of commands"), ("--version", "print the version")]
      return
    }
    guard let command = CommandSpec.all.first(where: { $0.name == name }) else { return }
    let isPlain = typed.contains("--")
    let option = command.options.first { $0.name == typed.last }
    if let option, let value = option.value, !isPlain {
      offer(value, option.choices)
    } else if word.hasPrefix("-"), !isPlain {
      words = command.options.map { ($0.name, $0.summary) }
      return
    } else if let operand = command.operands.dropFirst(typed.count > 1 ? 1 : 0).first ?? command.operands.first {
      offer(operand.placeholder, operand.choices)
    }
    // The parser would mistake a file name that begins with a dash for an option.
    if !isPlain { words.removeAll { $0.name.hasPrefix("-") } }
  }

  /// Derives suggestions from the placeholder that help shows for the value: `FILE` stands for a file, `PROFILE` for
  /// the name of a profile, `ADDR` for an address, and `COMMAND` for a command. A placeholder made of lower-case words
  /// separated by bars lists the suggestions.
  private mutating func offer(_ placeholder: String, _ choices: [String]) {
    let kinds = placeholder.filter { !"[]…".contains($0) }.split(separator: "|").map(String.init)
    var names = kinds.filter { $0 == $0.lowercased() && $0 != "-" }
    if !choices.isEmpty {
      names = choices
    } else if kinds.contains("PROFILE") {
      (names, files) = (Profiles.library.names.map(\.name), ".json5")
    } else if kinds.contains("FILE") || kinds == ["F"] {
      (names, files) = ([], "")
    } else if kinds.contains("ADDR") {
      let found = (try? LocalDirectory.standard().look().accessories) ?? []
      names = Address.Kind.allCases.map { "\($0.rawValue):" } + found.map(\.address.description)
    } else if kinds == ["COMMAND"] {
      names = CommandSpec.all.map(\.name)
    }
    words = names.map { ($0, "") }
  }

  /// Prints whether to offer files, and then each word followed by a tab and the word's summary. Each part ends with a
  /// zero byte, because a name may contain a newline.
  func print(_ console: Console) {
    let head = files.map { "files\($0)" } ?? "words"
    for entry in [head] + words.map({ "\($0.name)\t\($0.summary)" }) { console.out(entry, ending: "\0") }
  }
}

extension CommandSpec {
  static let man = CommandSpec(
    name: "man", summary: "print a manual page",
    details: """
      Print the manual page of COMMAND, or easim(1) without one, in the format of man(1). The Debian package installs all
      pages. To read one without the package:

        easim man run | man -l -
      """,
    examples: ["easim man", "easim man run"],
    run: { (options: ManOptions, console) in
      if let name = options.command, let command = CommandSpec.all.first(where: { $0.name == name }) {
        console.out(ManualPage.page(command))
      } else {
        console.out(ManualPage.overview(CommandSpec.all))
      }
      return .done
    })
}

private struct ManOptions: CommandOptions {
  var command: String?
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [
    Operand(placeholder: "[COMMAND]", 0...1, \.command) { command, word in
      let names = CommandSpec.all.map(\.name)
      guard names.contains(word) else {
        throw OptionError("there is no such command\(Suggestion.nearHint(for: word, in: names))")
      }
      command = word
    }
  ]
  static let options: [Option<Self>] = []
}

extension CommandSpec {
  static let quirk = CommandSpec(
    name: "quirk", summary: "list the quirks that an accessory or a device can have",
    details: """
      list [NAME]     list each quirk, or one, with its parameters, their defaults and an example for --quirk
      """,
    examples: ["easim quirk list"],
    run: runQuirk)

  static let fault = CommandSpec(
    name: "fault", summary: "list the faults that a cable can have",
    details: """
      list [NAME]     list each fault, or one, with its parameters, their defaults and an example for --fault
      """,
    examples: ["easim fault list"],
    run: runFault)
}

private struct ListingOptions: CommandOptions {
  enum Verb: String, CaseIterable { case list }

  var verb = Verb.list
  var name: String?
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [
    Operand(\.verb, .choice), Operand(optional: "NAME", \.name, .optional(.text)),
  ]
  static let options: [Option<Self>] = [.json]

  func shows(_ name: String) -> Bool { self.name == nil || self.name == name }
}

private func runQuirk(_ options: ListingOptions, _ console: Console) throws -> ExitCode {
  let kinds = Quirk.format.shape.kinds
  try show(kinds, among: kinds.map(\.name), as: "quirk", options, console)
  return .done
}

private func runFault(_ options: ListingOptions, _ console: Console) throws -> ExitCode {
  let kinds = Fault.format.shape.kinds
  try show(kinds, among: kinds.map(\.name) + LinkPreset.all.map(\.name), as: "fault", options, console)
  for preset in LinkPreset.all where options.shows(preset.name) {
    let faults = preset.faults.map(\.description)
    if options.shared.isJSON {
      console.out(["v": 1, "fault": preset.name, "summary": preset.summary, "faults": faults])
    } else {
      console.out("\(preset.name): \(preset.summary)\n  the same as \(faults.joined(separator: " and "))\n")
    }
  }
  return .done
}

private func show(
  _ kinds: [RecordShape], among names: [String], as key: String, _ options: ListingOptions, _ console: Console
) throws {
  if let name = options.name, !names.contains(name) {
    throw UsageError("unknown \(key) '\(name)'\(Suggestion.hint(for: name, in: names))")
  }
  for kind in kinds where options.shows(kind.name) {
    if options.shared.isJSON {
      let parameters = kind.fields.map { field -> JSONObject in
        [
          "name": field.key, "value": field.shape.range, "default": field.standard?.word, "summary": field.summary,
        ]
      }
      console.out([
        "v": 1, key: kind.name, "summary": kind.summary, "example": kind.example, "parameters": parameters,
      ])
    } else {
      let example = kind.example.map { "  example: --\(key) \($0)\n" } ?? ""
      console.out("\(kind.name): \(kind.summary)\n\(kind.help)\(example)")
    }
  }
}
