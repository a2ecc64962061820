import AccessoryCables
import AccessoryCore
import AccessoryFormats
import AccessoryHost
import AccessoryProfiles
import AccessorySessions

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
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [.addresses(\.addresses)]
  static let options: [Option<Self>] = [
    .protocolName.described("list only accessories that offer the protocol P, or whose protocols are still unknown"),
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
    found += present.filter { options.shared.protocolName.map($0.mayOffer) ?? true }
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

extension CommandSpec {
  static let info = CommandSpec(
    name: "info", summary: "show all properties of an accessory in Apple's format",
    details: """
      Connect to the accessory at ADDR (default: the only local one) as an Apple device would, wait until it lists its
      protocols (through a flicker, if there is one), and print it in the layout of EAAccessory's debug description. The exit
      code is 2 if there are several accessories, 3 if there is none, 4 if the accessory did not become ready, and 6 if it
      was refused.
      """,
    examples: ["easim info", "easim info local:040025380108A000608 --json"], run: runInfo)
}

private struct InfoOptions: CommandOptions {
  var address = Address.standardLocal
  var layout = AccessoryDescription.Generation.b
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [.address(\.address)]
  static let options: [Option<Self>] = [
    Option(
      "--layout", \.layout, .words([("A", .a), ("B", .b), ("C", .c)]),
      "A: as on iOS 12, B: with a regioncode, C: without a delegate"),
    .protocolName.described("if several accessories are connected, select the one that offers P"), .auth,
    .identification, .order, .deviceProfile,
    .infoPlist, .allProtocols, .allowRemote, .anyUser, .timeout, .json, .transcript, .transcriptBytes, .capture,
  ]
}

private func runInfo(_ options: InfoOptions, _ console: Console) throws -> ExitCode {
  let timeout = options.shared.timeout
  let runtime = try CommandRuntime(console)
  let onlooker = Onlooker()
  let host = try HostCommandContext(options.shared, at: options.address, for: onlooker, on: runtime, console) { event in
    switch event.kind {
    case .warning(let text), .alert(let text): console.err("easim: \(text)")
    default: break
    }
  }
  var seen: PublishedAccessory?
  _ = try host.run(
    until: { onlooker.seen?.protocols.isEmpty == false || !host.app.hiddenAccessories.isEmpty }, limit: timeout
  ) {
    // Saves the accessory before unplugging it, even if it has offered no protocols.
    seen = onlooker.seen
  }
  if let seen {
    // The address stands where Apple's frameworks print an object's address, and has no meaning outside this process.
    let address = UInt64(UInt(bitPattern: ObjectIdentifier(host.app)))
    console.out(
      console.isJSON ? seen.listing(at: runtime.loop.now) : seen.dump(options.layout, address: address))
    return .done
  }
  if host.refusals.explain(console) { return .refused }
  if let code = runtime.stopped(console, " before an accessory was ready") { return code }
  if !host.isMissing, host.app.hiddenAccessories.isEmpty {
    return console.end(.timedOut, "the accessory did not become ready within \(DurationText.format(timeout))")
  }
  let (code, text) =
    host.isMissing ? host.explanation(within: timeout) : (.unreachable, HostCommandContext.nothingVisible)
  return console.end(code, text)
}

private final class Onlooker: AppHandler {
  private(set) var seen: PublishedAccessory?

  func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) { seen = accessory }

  func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {
    if seen?.connectionID == accessory.connectionID { seen = nil }
  }
}

extension PublishedAccessory {
  fileprivate func dump(_ layout: AccessoryDescription.Generation, address: UInt64) -> String {
    var identity = Profile.Identity(
      name: name.printable, manufacturer: manufacturer.printable, modelNumber: modelNumber.printable,
      serialNumber: serialNumber.printable, firmwareRevision: firmwareRevision.printable,
      hardwareRevision: hardwareRevision.printable)
    identity.productPlanUID = productPlanUID?.printable
    var description = AccessoryDescription(identity: identity, protocols: protocols.map(\.printable))
    description.address = address
    description.connectionID = UInt64(connectionID)
    description.certSerial = certificateSerialCount
    description.certData = certificateCount
    description.generation = layout
    return description.text
  }

  fileprivate func listing(at time: Instant) -> String {
    let accessory: JSONObject = [
      "name": name, "serial": serialNumber, "protocols": protocols, "connectionID": connectionID,
      "manufacturer": manufacturer, "model": modelNumber, "firmware": firmwareRevision, "hardware": hardwareRevision,
      "productPlan": productPlanUID, "certSerial": certificateSerialCount, "certData": certificateCount,
    ]
    return JSONObject(event: "connect", at: time, side: .device, ["accessory": accessory]).text
  }
}
