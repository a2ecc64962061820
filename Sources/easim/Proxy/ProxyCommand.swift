import AccessoryCables
import AccessoryControl
import AccessoryCore
import AccessoryFormats
import AccessoryPages
import AccessoryProfiles
import AccessorySessions
import LinuxIO

extension CommandSpec {
  static let proxy = CommandSpec(
    name: "proxy", summary: "relay bytes between a device and an accessory, and record or disturb them",
    details: """
      Connect to the accessory at --accessory, and appear as that accessory at --device. easim relays the bytes between the
      two unchanged, so authentication and identification work end to end. When one end disconnects, easim disconnects the
      other, and then connects to the accessory again.

      --accessory takes every address that 'easim send' takes, and --device every address that 'easim run --on' takes; the
      two may be of different kinds. In --fault, 'in' is what the accessory sends, and 'out' is what the device sends.

      With --json, easim prints one line per packet on stdout. --transcript - prints packets as text, and --capture records
      them.

      easim does not relay native USB channels; docs/captures.md lists all limits.
      """,
    examples: [
      "easim proxy --device unix:/tmp/proxy.sock --accessory unix:/tmp/glasses.sock --capture proxy.pcapng",
      "easim proxy --device pty:/tmp/tty --accessory serial:/dev/ttyUSB0,115200 --fault loss,chance=2%,direction=in",
      "easim proxy --device local: --accessory usb: --json",
    ],
    run: runProxy)
}

private struct ProxyOptions: CommandOptions {
  var device: Address?
  var accessory: Address?
  var limit: Duration?
  var shared = SharedOptions()

  static let options: [Option<Self>] = [
    Option(address: "--device", \.device, "where the device connects, as for 'easim run --on'"),
    Option(address: "--accessory", \.accessory, "where the accessory is, as for 'easim send'"),
    Option("--for", \.limit, .optional(.duration), "disconnect both after TIME"),
    .fault, .allowRemote, .anyUser, .json, .seed, .transcript, .transcriptBytes, .capture, .trace, .traceLimit,
  ]
}

private func runProxy(_ options: ProxyOptions, _ console: Console) throws -> ExitCode {
  guard let device = options.device else { throw UsageError("--device ADDR is missing: where the device connects") }
  guard let accessory = options.accessory else {
    throw UsageError("--accessory ADDR is missing: where the accessory is")
  }
  if device == accessory, device.kind != .local {
    throw UsageError("--device and --accessory name the same address: the proxy would connect to itself")
  }
  let runtime = try CommandRuntime(console, seed: options.shared.seed)
  let cables = CableOptions(options.shared, on: runtime.loop, report: console.show)
  if case .none = try media[device].capacity { throw TransportError.hostsOnly(device) }
  let ports = PortMaker(
    media,
    PortContext(on: runtime.loop, options: cables.transport) { text in
      console.show(TimelineEvent(time: runtime.loop.now, side: .device, kind: .warning(text)))
    })
  let proxy = CableProxy(on: runtime.loop) { found in
    try ports.makePort(at: device, for: Profile(appearanceOf: found))
  } report: {
    console.show($0)
  }
  let packets = console.isJSON ? PacketLines(console, of: "\(accessory)") : nil
  let dialer = try media.makeDialer(
    to: accessory, for: proxy, on: runtime.loop, options: cables.transport,
    // If both ends use the same local directory, the proxy must not connect to itself.
    wanted: .one { $0.card?.process.pid != ProcessIdentity.current.pid }
  ) { cable in
    let wrapped = cables.wrap(cable, at: .device, place: "\(accessory)")
    return packets?.tap(wrapped, on: runtime.loop) ?? wrapped
  }
  try cables.openFiles(console)
  cables.openDoor(console)
  defer { cables.closeDoor() }
  try proxy.start(dialer)
  console.show(
    TimelineEvent(
      time: runtime.loop.now, side: .cable,
      kind: .note("waiting for the accessory at \(accessory); the device connects to \(device)")))
  let isOver = runtime.run(until: { proxy.failure != nil || dialer.failure != nil }, limit: options.limit)
  let refusal = dialer.failure
  proxy.stop()
  runtime.settle(until: { cables.isQuiet })
  if isOver, let failure = proxy.failure {
    return console.end(.usage, "no device can connect at \(device): \(failure)")
  }
  if isOver, let refusal {
    return console.end(.unreachable, "cannot wait for an accessory at \(accessory): \(refusal)")
  }
  let counts = proxy.counts
  return console.end(
    .done,
    "\(counts.attachments.counted("attachment")), \(counts.fromAccessory.counted("byte")) from the accessory, "
      + "\(counts.fromDevice) from the device")
}

/// Prints each packet as a line of JSON, in the form that `packet.list` returns.
private final class PacketLines {
  private let log: PacketLog
  private let taps = CableTaps()

  init(_ console: Console, of address: String) {
    // Packets are printed immediately, so the list needs room for only one.
    let log = PacketLog(packets: 1)
    log.isRecording = true
    log.changed = { [unowned log] in
      guard let packet = log.packet(log.lastNumber) else { return }
      var object: JSONObject = ["v": 1, "t": packet.time, "event": "packet", "kind": packet.event.rawValue]
      guard case .object(let members) = packet.tree(isWhole: true).content else { return }
      for member in members where member.key != "t" && member.key != "event" && member.key != "accessory" {
        object.add(member.key, member.value)
      }
      console.out(object)
    }
    log.watch(taps, of: address)
    self.log = log
  }

  func tap(_ cable: Cable, on loop: any EventLoop) -> Cable { taps.tap(cable, at: .device, on: loop) }
}
