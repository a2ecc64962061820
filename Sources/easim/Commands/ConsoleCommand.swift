import AccessoryCore
import AccessoryHost
import AccessorySessions
import AccessoryTransports
import Certificates
import Glibc

extension CommandSpec {
  /// `easim console`.
  static let console = CommandSpec(
    name: "console", summary: "EADemo in a terminal: see accessories come and go, open sessions, send, count",
    arguments: "[ADDR]", argumentCount: 0...1,
    details: """
      Shows the accessories at ADDR (default: all on the bench), opens sessions with them, sends a string, bytes or
      10K, and counts what comes back. On a terminal it is used by keys, which the last line names. With a pipe it
      reads commands, one per line:

      \(EADemoList.help.map { "  \($0)" }.joined(separator: "\n"))

      Try: printf 'open\\n10k\\nwait 10000\\n' | easim console
      open and wait wait for at most --timeout. With a pipe the exit code is 0 when every command did what it says, else
      that of the first that did not: 1 not done, 2 no such command, 3 no accessory, 4 timed out, 5 the session went away.
      """,
    options: [
      .infoPlist, .allProtocols, .timeout, .json, .transcript,
    ],
    examples: ["easim console", "easim console unix:/tmp/glasses.sock --timeout 2s"], run: runConsole)
}

private func runConsole(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
  console.isJSON = arguments.has("--json")
  let transcript = try TranscriptFile.asked(for: arguments, console)
  let patience = try arguments.duration("--timeout") ?? .seconds(10)
  let settings = try HostSide.app(arguments)
  let stage = try Stage()
  let front: any EADemoFront = Terminal.isThere && !console.isJSON ? EADemoScreenFront() : EADemoPipeFront(console)
  let device = Device(settings: DeviceSettings(authenticator: AccessoryVerifier()), on: stage.loop) { event in
    front.tell(event)
  }
  let sight = try EADemoSight(arguments, for: device, on: stage.loop) { cable in
    transcript.map { cable.transcribed(at: .device, on: stage.loop, write: $0.write) } ?? cable
  }
  let driver = EADemoDriver(EADemoApp(lookingAt: sight.place, patience: patience), on: device, settings: settings)
  defer { front.close() }
  try front.start(driver, on: stage.loop)
  try sight.dialer.start()
  _ = stage.run(until: { driver.isOver })
  driver.close()
  sight.dialer.stop()
  device.unplugAll("done")
  stage.settle(until: { device.cableCount == 0 })
  return front.isScripted ? driver.app.failure ?? .done : .done
}

/// Where the console looks: every accessory on a bench, or the one at an address.
struct EADemoSight {
  let dialer: any Dialing
  /// For people.
  let place: String

  init(
    _ arguments: ParsedArguments, for device: Device, on loop: any PollingLoop,
    wrap: @escaping (Cable) -> Cable
  ) throws {
    let address = try arguments.words.first.map { try arguments.address($0) } ?? .bench(directory: nil, serial: nil)
    switch address {
    case .bench(let path, let serial):
      let bench = BenchDirectory(path)
      place = "the bench \(bench)" + (serial.map { ", for \($0) alone" } ?? "")
      dialer = BenchDialer(
        bench, for: device, on: loop, wrap: wrap, isWanted: { serial == nil || $0.serial == serial })
    case .usb(let selector):
      place = selector == .any ? "USB" : "\(address)"
      dialer = USBDialer(selector, for: device, on: loop, wrap: wrap)
    default:
      place = address.description
      dialer = Dialer(address, for: device, on: loop, wrap: wrap)
    }
  }
}
