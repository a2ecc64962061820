import AccessoryFaults
import AccessoryFormats
import AccessoryProfiles

extension CommandSpec {
  static let quirk = CommandSpec(
    name: "quirk", summary: "list the quirks that an accessory or a device can have",
    details: """
      list            list each quirk with its parameters, their defaults and an example for --quirk
      """,
    examples: ["easim quirk list"],
    run: runQuirk)

  static let fault = CommandSpec(
    name: "fault", summary: "list the faults that a cable can have",
    details: """
      list            list each fault with its parameters, their defaults and an example for --fault
      """,
    examples: ["easim fault list"],
    run: runFault)
}

private struct ListingOptions: CommandOptions {
  enum Verb: String, CaseIterable { case list }

  var verb = Verb.list
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [Operand(\.verb, .choice)]
  static let options: [Option<Self>] = [.json]
}

private func runQuirk(_ options: ListingOptions, _ console: Console) throws -> ExitCode {
  show(Quirk.format.shape, as: "quirk", options, console)
  return .done
}

private func runFault(_ options: ListingOptions, _ console: Console) throws -> ExitCode {
  show(Fault.format.shape, as: "fault", options, console)
  for preset in LinkPreset.all {
    let faults = preset.faults.map(\.description)
    if options.shared.isJSON {
      console.out(["v": 1, "fault": preset.name, "summary": preset.summary, "faults": faults])
    } else {
      console.out("\(preset.name): \(preset.summary)\n  the same as \(faults.joined(separator: " and "))\n")
    }
  }
  return .done
}

private func show(_ format: OneOfShape, as key: String, _ options: ListingOptions, _ console: Console) {
  for kind in format.kinds {
    if options.shared.isJSON {
      console.out(kind.object(as: key))
    } else {
      let example = kind.example.map { "  example: --\(key) \($0)\n" } ?? ""
      console.out("\(kind.name): \(kind.summary)\n\(kind.help)\(example)")
    }
  }
}

extension RecordShape {
  fileprivate func object(as key: String) -> JSONObject {
    let parameters = fields.map { field -> JSONObject in
      [
        "name": field.key, "value": field.shape.range, "default": field.standard?.word, "summary": field.summary,
      ]
    }
    return ["v": 1, key: name, "summary": summary, "example": example, "parameters": parameters]
  }
}
