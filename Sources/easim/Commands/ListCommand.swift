import AccessoryCore
import AccessoryHost
import AccessorySessions
import AccessoryTransports
import AccessoryUSB

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
  let places = try arguments.places()
  var looked: [String] = []
  var found: [BenchAccessory] = []
  var onUSB: [USBAccessory] = []
  for place in places {
    guard case .bench(let path, let serial) = place else {
      if case .usb(let selector) = place {
        looked.append("USB")
        onUSB += try USBDevices.look().filter { $0.isMeant(by: selector) }
      }
      continue
    }
    let directory = BenchDirectory(path)
    looked.append("the bench \(directory.path)")
    let (accessories, problems) = try directory.look()
    for problem in problems { console.err("easim: a card is left aside: \(problem)") }
    found += accessories.filter { serial == nil || $0.card.serial == serial }
  }
  if arguments.has("--json") {
    for accessory in found { console.out(accessory.listing) }
    for accessory in onUSB { console.out(accessory.listing) }
  } else {
    for rows in [BenchList.rows(found), USBList.rows(onUSB)] where !rows.isEmpty {
      for line in TextTable.lines(rows) { console.out(String(line.dropFirst(2))) }
    }
  }
  guard found.isEmpty, !onUSB.contains(where: { $0.trouble == nil }) else { return .done }
  if let unpermitted = onUSB.compactMap(\.obstacle).first(where: { $0 != .claimed }) {
    console.err("easim: \(unpermitted)")
  }
  console.err("No Accessories Connected (looked on \(looked.joined(separator: ", ")))")
  return .unreachable
}

extension ParsedArguments {
  /// The words as benches and USB, the standard bench when there are none; other kinds of addresses cannot be looked at
  /// without taking a cable.
  fileprivate func places() throws -> [Address] {
    guard !words.isEmpty else { return [.bench(directory: nil, serial: nil)] }
    return try words.map { word in
      let address = try address(word)
      switch address {
      case .bench, .usb: return address
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
    var object = JSONObject(event: "attach", at: .origin, side: .accessory)
    object.add("accessory", accessory)
    object.add("on", address.description)
    object.add("pid", Int(card.process.pid))
    object.add("attachedAt", card.attachedSeconds)
    return object.text
  }
}
