import AccessoryCore
import AccessoryHost
import AccessoryTransports
import AccessoryUSB

/// How a command gets to the one accessory it is about: the accessory at a fixed address, or the only one on the bench
/// that fits.
final class Reach {
  /// Why there is nothing to connect to, and how easim ends for it.
  struct Refusal: Error {
    let code: ExitCode
    let message: String
  }

  /// Keeps the device connected.
  let dialer: any Dialing
  private let address: Address
  private let directory: BenchDirectory?

  /// Decides what is meant.
  ///
  /// - Parameters:
  ///   - text: the address as it was typed; the standard bench when left out.
  ///   - protocolName: what the accessory must offer, where that is known.
  init(
    _ text: String?, protocolName: String?, for device: Device, on loop: any PollingLoop,
    arguments: ParsedArguments, console: Console, wrap: @escaping (Cable) -> Cable
  ) throws {
    address = try text.map { try arguments.address($0) } ?? .bench(directory: nil, serial: nil)
    guard case .bench(let path, let serial) = address else {
      directory = nil
      if case .usb(let selector) = address {
        try Self.choose(on: address, selector, console)
        dialer = USBDialer(selector, for: device, on: loop, takesOne: true, wrap: wrap)
        return
      }
      var options = TransportOptions()
      options.allowsRemote = arguments.has("--allow-remote")
      dialer = Dialer(address, for: device, on: loop, options: options, wrap: wrap)
      return
    }
    let bench = BenchDirectory(path)
    directory = bench
    let (found, problems) = try bench.look()
    for problem in problems { console.err("easim: a card is left aside: \(problem)") }
    let wanted = try Self.choose(among: found, serial: serial, protocolName, bench, console)
    var pinned = wanted
    dialer = BenchDialer(
      bench, for: device, on: loop, wrap: wrap,
      isWanted: { card in
        let fits = protocolName.map { card.protocols.isEmpty || card.protocols.contains($0) } ?? true
        if pinned == nil, fits { pinned = card.serial }
        return card.serial == pinned
      })
  }

  /// Makes sure that at most one accessory on USB is meant.
  private static func choose(on address: Address, _ selector: Address.USBSelector, _ console: Console) throws {
    let found = try USBDevices.look().filter { $0.isAccessory && $0.isMeant(by: selector) }
    if found.isEmpty { console.err("easim: no accessory at \(address), waiting") }
    guard found.count > 1 else { return }
    throw Refusal(
      code: .usage, message: "\(found.count) accessories are connected, choose one:\n\(USBList.text(found))")
  }

  /// The serial number of what is meant; nil when it is not there yet.
  private static func choose(
    among found: [BenchAccessory], serial: String?, _ protocolName: String?, _ bench: BenchDirectory, _ console: Console
  ) throws -> String? {
    switch BenchChoice(among: found, serial: serial, protocolName: protocolName) {
    case .one(let accessory): return accessory.card.serial
    case .nothing:
      console.err("easim: \(nothing(on: bench, serial)), waiting")
      return serial
    case .several(let list):
      let which = protocolName.map { " offer \($0)" } ?? " are connected"
      let message = "\(list.count) accessories\(which), choose one:\n\(BenchList.text(list))"
      throw Refusal(code: .usage, message: message + advice(on: list))
    case .unfit(let list):
      let offered = list.flatMap(\.card.protocols)
      let near = Suggestion.nearest(to: protocolName ?? "", in: offered).map { ", did you mean \($0)?" } ?? ""
      throw Refusal(
        code: .usage,
        message: "no accessory offers \(protocolName ?? "a protocol")\(near) There are:\n\(BenchList.text(list))")
    }
  }

  /// What to do about accessories that an address cannot tell apart, as when one profile is run twice.
  private static func advice(on list: [BenchAccessory]) -> String {
    guard Set(list.map(\.card.serial)).count < list.count else { return "" }
    return """

      One serial number cannot be told from itself: unplug one, or play several with easim run --count N, or each on a \
      bench of its own with --on bench:DIR#
      """
  }

  private static func nothing(on bench: BenchDirectory, _ serial: String?) -> String {
    serial.map { "no accessory \($0) on the bench \(bench)" } ?? "No Accessories Connected on the bench \(bench)"
  }

  /// What to say when time ran out and no accessory had appeared.
  func explanation(within timeout: Duration) -> String {
    if let trouble = dialer.trouble { return "no accessory at \(address) within \(timeout): \(trouble)" }
    guard let directory, case .bench(_, let serial) = address else {
      return "no accessory at \(address) within \(timeout)"
    }
    return "\(Self.nothing(on: directory, serial)) within \(timeout)"
  }
}

/// Accessories on a bench, one line each.
enum BenchList {
  /// Indented lines, for the end of a message.
  static func text(_ accessories: [BenchAccessory]) -> String {
    TextTable.lines(rows(accessories)).joined(separator: "\n")
  }

  static func rows(_ accessories: [BenchAccessory]) -> [[String]] {
    accessories.map { accessory in
      let card = accessory.card
      let offer = card.protocols.isEmpty ? "(no protocols)" : card.protocols.joined(separator: " ")
      let address = accessory.address.description
      return [address, card.name, card.manufacturer, card.model, offer, "pid \(card.process.pid)"]
    }
  }
}
