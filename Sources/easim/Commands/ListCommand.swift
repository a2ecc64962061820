import AccessoryCables
import AccessoryCore

extension CommandSpec {
  /// `easim list`.
  static let list = CommandSpec(
    name: "list", summary: "what is attached", arguments: "[ADDR…]", argumentCount: 0...Int.max,
    details: """
      Prints every accessory that is plugged in at ADDR (default: bench:), one line each: its address, name,
      manufacturer, model, protocols and process. Reads the cards on the bench and takes no cable, so it disturbs
      nobody. usb: lists what is on USB, without opening it: address, name, manufacturer, numbers, serial number; what
      is nearly an accessory, or cannot be used, with the reason. The exit code is 3 when nothing is attached that can
      be used.
      """,
    options: [.json], examples: ["easim list", "easim list --json bench:/tmp/bench#", "easim list usb:"], run: runList)
}

private func runList(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
  let words: [String?] = arguments.words.isEmpty ? [nil] : arguments.words
  let addresses = try words.map { try arguments.address(orBench: $0) }
  var found: [FoundAccessory] = []
  for address in addresses {
    guard let sighting = try media.look(at: address) else {
      throw UsageError(
        "\(address) tells nothing before one connects; easim info \(address) connects and shows what is there",
        arguments.command)
    }
    for problem in sighting.problems { console.err("easim: \(problem)") }
    found += sighting.accessories
  }
  if arguments.has("--json") {
    for accessory in found { console.out(accessory.listing) }
  } else {
    // Those of each medium have columns of their own.
    for kind in Address.Kind.allCases {
      for line in TextTable.lines(AccessoryList.rows(found.filter { $0.address.kind == kind })) {
        console.out(String(line.dropFirst(2)))
      }
    }
  }
  guard found.allSatisfy({ $0.trouble != nil }) else { return .done }
  let unpermitted = found.compactMap(\.trouble).first { if case .notPermitted = $0 { true } else { false } }
  if let unpermitted { console.err("easim: \(unpermitted)") }
  console.err("No Accessories Connected (looked on \(addresses.map(\.place).joined(separator: ", ")))")
  return .unreachable
}
