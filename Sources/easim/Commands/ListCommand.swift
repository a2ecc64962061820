import AccessoryCore
import AccessoryHost
import AccessoryTransports

extension CommandSpec {
  /// `easim list`.
  static let list = CommandSpec(
    name: "list", summary: "what is attached", arguments: "[ADDR…]", argumentCount: 0...Int.max,
    details: """
      Prints every accessory that is plugged in at ADDR (default: bench:), one line each: its address, name,
      manufacturer, model, protocols and process. Reads the cards on the bench and takes no cable, so it disturbs
      nobody. The exit code is 3 when nothing is attached.
      """,
    options: [.json], examples: ["easim list", "easim list --json bench:/tmp/bench#"], run: runList)
}

private func runList(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
  let addresses = try arguments.benches()
  var looked: [String] = []
  var found: [BenchAccessory] = []
  for (directory, serial) in addresses {
    looked.append(directory.path)
    let (accessories, problems) = try directory.look()
    for problem in problems { console.err("easim: a card is left aside: \(problem)") }
    found += accessories.filter { serial == nil || $0.card.serial == serial }
  }
  if arguments.has("--json") {
    for accessory in found { console.out(accessory.listing) }
  } else if !found.isEmpty {
    for line in TextTable.lines(BenchList.rows(found)) { console.out(String(line.dropFirst(2))) }
  }
  guard found.isEmpty else { return .done }
  console.err("No Accessories Connected (looked on the bench \(looked.joined(separator: ", ")))")
  return .unreachable
}

extension ParsedArguments {
  /// The words as benches, the standard one when there are none; other kinds of addresses cannot be looked at without
  /// taking a cable.
  func benches() throws -> [(directory: BenchDirectory, serial: String?)] {
    guard !words.isEmpty else { return [(BenchDirectory(nil), nil)] }
    return try words.map { word in
      let address = try address(word)
      switch address {
      case .bench(let path, let serial): return (BenchDirectory(path), serial)
      case .usb: throw UsageError("\(address): real USB accessories cannot be listed yet", command)
      default:
        throw UsageError(
          "\(address) tells nothing before one connects; easim info \(address) connects and shows what is there",
          command)
      }
    }
  }
}

extension BenchAccessory {
  /// The accessory as one line of JSON, in the shape of an `attach` event with what else its card says.
  var listing: String {
    var accessory = JSONObject()
    accessory.add("name", card.name)
    accessory.add("serial", card.serial)
    accessory.add("manufacturer", card.manufacturer)
    accessory.add("model", card.model)
    accessory.add("protocols", card.protocols)
    var object = JSONObject()
    object.add("v", 1)
    object.add("t", seconds: .origin)
    object.add("side", "accessory")
    object.add("event", "attach")
    object.add("accessory", accessory)
    object.add("on", address.description)
    object.add("pid", Int(card.process.pid))
    object.add("attachedAt", card.attachedSeconds)
    return object.text
  }
}
