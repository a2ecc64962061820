import AccessoryCore
import AccessoryFaults
import AccessoryFormats
import AccessoryLoad
import AccessoryProfiles
import AccessoryRuns
import AccessorySoak
import AccessoryWorlds
import IAP2
import TestSupport
import Testing

/// The tables in the documents are generated from the code. To rewrite the tables, set `EASIM_REWRITE=1`.
@Suite(.serialized) struct GeneratedDocumentTests {
  private func check(_ document: String, _ part: String, _ text: String) throws {
    let difference = try CommittedText.difference("docs/\(document).md", part: part, from: text)
    #expect(difference == nil, "\(difference ?? "")")
  }

  private func play(_ command: String) -> (RecordShape) -> String {
    { kind in kind.example.map { "Play it: `\(command) \($0)`\n" } ?? "" }
  }

  @Test func everyQuirkAndEveryFault() throws {
    let quirks = Quirk.format.shape.sections(heading: "###", note: play("easim run lawk-view --quirk"))
    try check("quirks-and-faults", "quirks", quirks)
    let faults = Fault.format.shape.sections(heading: "###", note: play("easim run lawk-view --fault"))
    try check("quirks-and-faults", "faults", faults)
    let presets = LinkPreset.all.map { preset in
      "| `\(preset.name)` | \(preset.summary) | \(preset.faults.map { "`\($0)`" }.joined(separator: ", ")) |\n"
    }
    try check("quirks-and-faults", "presets", "| name | link | faults |\n|---|---|---|\n" + presets.joined())
  }

  @Test func everyKeyOfAProfileAndOfAScenario() throws {
    let quirks = [
      "quirk": "quirks-and-faults.md#quirks", "message rule": "messages.md#message-rule",
      "parameters": "messages.md#parameters",
    ]
    try check("profiles", "keys", Profile.format.shape.tables(heading: "###", elsewhere: quirks))
    let known = quirks.merging(["a profile": "profiles.md"]) { $1 }
    try check("scenario-files", "scenario", Scenario.format().shape.tables(heading: "###", elsewhere: known))
    // Objects that both kinds of files share are explained only once.
    let parts = ["cable", "cable fault"].map { ($0, "#\($0.replacing(" ", with: "-"))") }
    let apps = SoakPlan.format().shape.tables(heading: "###", elsewhere: known.merging(parts) { $1 })
    try check("scenario-files", "apps", apps)
  }

  @Test func everyKeyOfADeviceProfile() throws {
    try check("messages", "device", DeviceProfile.format.shape.tables(heading: "###"))
  }

  @Test func everyKeyOfALoadPlan() throws {
    try check("load", "plan", BurstPlanFile.format.shape.tables(heading: "####"))
    let schema = JSON5Writer.write(BurstPlanFile.format.shape.schema(id: "load-plan.schema.json"), as: .json)
    let difference = try CommittedText.difference("profiles/schema/load-plan.schema.json", from: schema)
    #expect(difference == nil, "\(difference ?? "")")
  }

  @Test func everyMessageWithItsParameters() throws {
    func text(_ parameters: [MessageCatalog.ParameterEntry]) -> String {
      parameters.map { parameter in
        let group = parameter.group.isEmpty ? "" : " {\(text(parameter.group))}"
        let name = parameter.name.isEmpty ? "" : " *\(parameter.name)*"
        return "\(parameter.id) \(parameter.kind.rawValue)\(name)\(group)"
      }.joined(separator: "; ")
    }
    let rows = MessageCatalog.all.map { entry in
      let sender = entry.sender.map { $0 == .accessory ? "accessory" : "device" } ?? "unknown"
      let name = entry.name.isEmpty ? "" : "`\(entry.name)`"
      return "| \(Hex.number(entry.id.rawValue)) | \(name) | \(sender) | \(text(entry.parameters)) |\n"
    }
    let head = "| number | name | sent by | known parameters |\n|---|---|---|---|\n"
    try check("messages", "messages", head + rows.joined())
  }

  @Test func everyFormOfAnAddress() throws {
    try check("commands", "addresses", AddressForm.table)
  }

  @Test func everyExampleIsRightAndOfItsKind() throws {
    for kind in Quirk.format.shape.kinds {
      #expect(try Quirk(try #require(kind.example, "\(kind.name)")).name == kind.name)
    }
    for kind in Fault.format.shape.kinds {
      #expect(try Fault(try #require(kind.example, "\(kind.name)")).name == kind.name)
    }
    for form in AddressForm.all {
      let address = try Address(parsing: form.example)
      #expect(address.description == form.example)
      #expect(form.written.hasPrefix("\(address.kind.rawValue):"))
    }
  }
}
