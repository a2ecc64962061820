import AccessoryFaults
import AccessoryFormats
import AccessoryProfiles
import AccessoryRuns

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
