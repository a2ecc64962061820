import AccessoryCore
import AccessoryFormats
import AccessoryHost
import AccessoryProfiles
import AccessorySessions

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
  if host.explainRefusal(console) { return .refused }
  if let code = runtime.stopped(console, " before an accessory was ready") { return code }
  if !host.isMissing, host.app.hiddenAccessories.isEmpty {
    console.err("easim: the accessory did not become ready within \(DurationText.format(timeout))")
    return .timedOut
  }
  let (code, text) =
    host.isMissing ? host.explanation(within: timeout) : (.unreachable, HostCommandContext.nothingVisible)
  console.err("easim: \(text)")
  return code
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
