import AccessoryCables
import AccessoryCore
import AccessoryHost
import AccessorySessions
import Certificates

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

extension CommandSpec {
  static let watch = CommandSpec(
    name: "watch", summary: "print accessories as they connect and disconnect",
    details: """
      Print a line for each accessory that connects or disconnects at ADDR (default: local:) until Ctrl-C, starting with
      those that are already connected. Locally and on USB, easim only watches and connects to nothing. At any other address,
      it connects as an Apple device would, and prints connects and disconnects as an app sees them. If ADDR is the only
      address and its accessory is refused, the exit code is 6.
      """,
    examples: ["easim watch", "easim watch --for 3s --json"], run: runWatch)
}

private struct WatchOptions: CommandOptions {
  var addresses: [Address] = []
  var limit: Duration?
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [.addresses(\.addresses)]
  static let options: [Option<Self>] = [
    Option("--for", \.limit, .optional(.duration), "stop after TIME"), .auth, .identification, .order, .deviceProfile,
    .saveFiles, .allowRemote, .anyUser, .json, .quietMessages,
  ]
}

private func runWatch(_ options: WatchOptions, _ console: Console) throws -> ExitCode {
  let runtime = try CommandRuntime(console)
  var count = 0
  let refusals = RefusalWatch()
  let show = { (event: TimelineEvent) in
    if case .message = event.kind {} else { count += 1 }
    refusals.see(event)
    console.show(event)
  }
  let cables = CableOptions(options.shared, on: runtime.loop, report: show)
  let addresses = options.addresses.orStandardLocal
  let line = addresses.first { $0.interByteTimeout != nil } ?? addresses[0]
  var settings = try DeviceSettings(options.shared, at: line, timeout: nil, on: runtime.loop, console)
  settings.watchesLines = false
  let device = Device(settings: settings, on: runtime.loop, report: show)
  var finders: [any AccessoryFinder] = []
  var dialers: [Dialer] = []
  for address in addresses {
    let finder = try media[address].makeFinder(for: address, on: runtime.loop, options: cables.transport)
    if finder.seesArrivals {
      let countBefore = count
      try finder.start { change in
        for event in change.events(at: runtime.loop.now) { show(event) }
      }
      finders.append(finder)
      if count == countBefore { console.err("easim: \(address.nothingThere), watching") }
    } else {
      let dialer = Dialer(finder, for: device, on: runtime.loop)
      try dialer.start()
      runtime.tellOfWait(at: address, atMost: nil, console) { (dialer.isSearching, dialer.trouble) }
      dialers.append(dialer)
    }
  }
  let isRefused = { addresses.count == 1 && refusals.refusal != nil }
  _ = runtime.run(until: { console.hasNoReader || isRefused() }, limit: options.limit)
  for dialer in dialers { dialer.stop() }
  for finder in finders { finder.stop() }
  device.unplugAll("easim is exiting")
  runtime.settle(until: { device.cableCount == 0 })
  console.err("easim: \(count.counted("event")) seen")
  return isRefused() && refusals.explain(console) ? .refused : .done
}
