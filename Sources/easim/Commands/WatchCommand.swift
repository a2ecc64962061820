import AccessoryCore
import AccessoryHost
import AccessorySessions
import AccessoryTransports
import AccessoryUSB
import Certificates

extension CommandSpec {
  /// `easim watch`.
  static let watch = CommandSpec(
    name: "watch", summary: "what is attached and detached, as it happens", arguments: "[ADDR…]",
    argumentCount: 0...Int.max,
    details: """
      Prints every accessory that is plugged in or out at ADDR (default: bench:) until Ctrl-C, those that are there
      already first. On a bench it reads the cards and takes no cable; on USB it opens nothing. At a fixed
      address there is no card: it connects as an Apple device would, and prints connects and disconnects as an app sees
      them.
      """,
    options: [
      OptionSpec(name: "--for", value: "TIME", summary: "stop after this long"), .allowRemote, .json,
    ],
    examples: ["easim watch", "easim watch --for 10s --json"], run: runWatch)
}

private func runWatch(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
  console.isJSON = arguments.has("--json")
  let limit = try arguments.duration("--for")
  var addresses = try arguments.words.map { try arguments.address($0) }
  if addresses.isEmpty { addresses = [.bench(directory: nil, serial: nil)] }
  let stage = try Stage()
  var count = 0
  let show = { (event: TimelineEvent) in
    count += 1
    console.show(event)
  }
  let device = Device(settings: DeviceSettings(authenticator: AccessoryVerifier()), on: stage.loop, report: show)
  var watchers: [BenchWatcher] = []
  var buses: [USBDevices] = []
  var dialers: [Dialer] = []
  for address in addresses {
    switch address {
    case .bench(let path, let serial):
      let watcher = BenchWatcher(BenchDirectory(path), on: stage.loop) { change in
        for event in change.events(at: stage.loop.now, serial: serial) { show(event) }
      }
      try watcher.start()
      if watcher.accessories.isEmpty {
        console.err("easim: No Accessories Connected on the bench \(watcher.directory), watching")
      }
      watchers.append(watcher)
    case .usb(let selector):
      let devices = USBDevices(on: stage.loop) { change in
        for event in change.events(at: stage.loop.now, selector) { show(event) }
      }
      try devices.start()
      if devices.accessories.isEmpty { console.err("easim: No Accessories Connected on USB, watching") }
      buses.append(devices)
    default:
      var options = TransportOptions()
      options.allowsRemote = arguments.has("--allow-remote")
      let dialer = Dialer(address, for: device, on: stage.loop, options: options)
      try dialer.start()
      dialers.append(dialer)
    }
  }
  _ = stage.run(until: { console.hasNoReader }, limit: limit)
  for dialer in dialers { dialer.stop() }
  for watcher in watchers { watcher.stop() }
  for devices in buses { devices.stop() }
  device.unplugAll("done")
  stage.settle(until: { device.cableCount == 0 })
  console.err("easim: \(count.counted("event")) seen")
  return .done
}

extension BenchWatcher.Change {
  /// What happened as events; of accessories with this serial number alone, where one is given.
  fileprivate func events(at time: Instant, serial: String?) -> [TimelineEvent] {
    func event(_ kind: TimelineEvent.Kind, _ accessory: BenchAccessory?) -> TimelineEvent {
      TimelineEvent(
        time: time, side: .accessory, kind: kind,
        subject: accessory.map { .init(name: $0.card.name, serial: $0.card.serial, protocols: $0.card.protocols) })
    }
    func isMeant(_ accessory: BenchAccessory) -> Bool { serial == nil || accessory.card.serial == serial }
    switch self {
    case .arrived(let it): return isMeant(it) ? [event(.attach("\(it.address)"), it)] : []
    case .left(let it, let reason): return isMeant(it) ? [event(.detach(reason), it)] : []
    case .changed(let it, _):
      let offer = it.card.protocols.isEmpty ? "no protocols" : it.card.protocols.joined(separator: ", ")
      return isMeant(it) ? [event(.note("\(it.card.name) offers \(offer) now"), it)] : []
    case .passed(_, let it):
      guard it.map(isMeant) ?? true else { return [] }
      return [
        event(.attach(it.map { "\($0.address)" } ?? "the bench, too briefly to be read"), it),
        event(.detach("it was there too briefly for its card to be read"), it),
      ]
    case .warning(let text): return [event(.warning(text), nil)]
    }
  }
}
