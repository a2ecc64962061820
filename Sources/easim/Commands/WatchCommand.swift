import AccessoryCables
import AccessoryCore
import AccessoryHost
import AccessorySessions
import Certificates

extension CommandSpec {
  /// `easim watch`.
  static let watch = CommandSpec(
    name: "watch", summary: "report accessories as they connect and disconnect", arguments: "[ADDR…]",
    argumentCount: 0...Int.max,
    details: """
      Print a line for each accessory that connects or disconnects at ADDR (default: bench:) until Ctrl-C, starting with
      those that are connected already. On a bench and on USB it connects to nothing. At any other address it connects as
      an Apple device would, and prints connects and disconnects as an app sees them.
      """,
    options: [
      OptionSpec(name: "--for", value: "TIME", summary: "stop after TIME"), .allowRemote, .json,
    ],
    examples: ["easim watch", "easim watch --for 10s --json"], run: runWatch)
}

private func runWatch(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
  console.isJSON = arguments.has("--json")
  let limit = try arguments.duration("--for")
  let words: [String?] = arguments.words.isEmpty ? [nil] : arguments.words
  let addresses = try words.map { try arguments.address(orBench: $0) }
  let stage = try Stage(console)
  var count = 0
  let show = { (event: TimelineEvent) in
    count += 1
    console.show(event)
  }
  let options = try CableOptions(arguments, on: stage.loop, report: show)
  let device = Device(settings: DeviceSettings(authenticator: AccessoryVerifier()), on: stage.loop, report: show)
  var finders: [any AccessoryFinder] = []
  var dialers: [Dialer] = []
  for address in addresses {
    let finder = try media[address].makeFinder(for: address, on: stage.loop, options: options.transport)
    if finder.seesArrivals {
      let countBefore = count
      try finder.start { change in
        for event in change.events(at: stage.loop.now) { show(event) }
      }
      finders.append(finder)
      if count == countBefore { console.err("easim: \(address.nothingThere), watching") }
    } else {
      let dialer = Dialer(finder, for: device, on: stage.loop)
      try dialer.start()
      dialers.append(dialer)
    }
  }
  _ = stage.run(until: { console.hasNoReader }, limit: limit)
  for dialer in dialers { dialer.stop() }
  for finder in finders { finder.stop() }
  device.unplugAll("done")
  stage.settle(until: { device.cableCount == 0 })
  console.err("easim: \(count.counted("event")) seen")
  return .done
}
