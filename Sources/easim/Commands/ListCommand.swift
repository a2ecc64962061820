import AccessoryCables
import AccessoryCore

extension CommandSpec {
  static let list = CommandSpec(
    name: "list", summary: "list connected accessories",
    details: """
      List every accessory that is plugged in at ADDR (default: local:), one per line: address, name, manufacturer, model,
      protocols and process. Addresses are quoted so that you can paste them into a shell. The exit code is 3 if there is no
      usable accessory.

      local: reads files and connects to nothing. usb: lists USB accessories without opening them: address, name,
      manufacturer, vendor and product number, serial number; it also lists near matches and why they cannot be used. bt:
      connects briefly to each paired device that has the accessory service, because only a connection shows whether the
      device is in range and speaks iAP2.
      """,
    examples: ["easim list", "easim list --json local:/tmp/local#", "easim list usb:"], run: runList)
}

private struct ListOptions: CommandOptions {
  var addresses: [Address] = []
  var protocolName: String?
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [.addresses(\.addresses)]
  static let options: [Option<Self>] = [
    Option(
      "--protocol", \.protocolName, .optional(.text), as: "P",
      "list only accessories that offer the protocol P, or whose protocols are still unknown"),
    .json,
  ]
}

private func runList(_ options: ListOptions, _ console: Console) throws -> ExitCode {
  let addresses = options.addresses.orStandardLocal
  var found: [FoundAccessory] = []
  var runtime: CommandRuntime?
  for address in addresses {
    guard let sighting = try media.look(at: address) else {
      throw UsageError(
        "listing \(address) would require connecting; 'easim info \("\(address)".shellWord)' connects and shows the "
          + "accessory"
      )
    }
    for problem in sighting.problems { console.err("easim: \(problem)") }
    let present = try RollCall.of(sighting, at: address) {
      let made = try runtime ?? CommandRuntime(console)
      runtime = made
      return made
    }
    if let code = runtime?.stopped(console, " before every device had answered") { return code }
    found += present.filter { options.protocolName.map($0.mayOffer) ?? true }
  }
  if console.isJSON {
    for accessory in found { console.out(accessory.listing) }
  } else {
    // Each medium has different columns.
    for kind in Address.Kind.allCases {
      for line in TextTable.lines(AccessoryList.rows(found.filter { $0.address.kind == kind })) {
        console.out(String(line.dropFirst(2)))
      }
    }
  }
  guard found.allSatisfy({ $0.trouble != nil }) else { return .done }
  let unpermitted = found.compactMap(\.trouble).first { if case .notPermitted = $0 { true } else { false } }
  if let unpermitted { console.err("easim: \(unpermitted)") }
  console.err("No Accessories Connected (looked at \(addresses.map(\.place).joined(separator: ", ")))")
  if let hint = addresses.lazy.compactMap(\.hintWhereNothingIs).first { console.err("easim: \(hint)") }
  return .unreachable
}
