import AccessoryCables
import AccessoryCore
import AccessoryHost
import AccessorySessions
import Certificates

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
    .saveFiles,
    .allowRemote, .anyUser, .json, .quietMessages,
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
