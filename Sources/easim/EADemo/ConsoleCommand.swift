import AccessoryCables
import AccessoryCore
import AccessoryHost
import Certificates
import Glibc

extension CommandSpec {
  static let console = CommandSpec(
    name: "console", summary: "use accessories interactively, like Apple's EADemo: list, open sessions, send, count",
    details: """
      List the accessories at ADDR (default: all local ones), open sessions with them, send text, hex or 10,000 bytes, and
      count the bytes that come back. On a terminal, press the keys that the last line lists. If stdin is not a terminal,
      easim reads commands from it, one per line; --time then prints the time before each line:

      \(EADemoList.help.map { "  \($0)" }.joined(separator: "\n"))

      Try: printf 'open\\n10k\\nwait 10000\\n' | easim console
           printf 'open\\ntext VERSION?\\\\r\\\\n\\nexpect prefix:V\\n' | easim console
      With commands, the exit code is 0 if all succeeded, otherwise that of the first that failed: 1 failed, 2 unknown
      command, 3 no accessory, 4 timed out, 5 the session ended. If the only accessory is refused (its authentication,
      identification or SYN is wrong), the exit code is 6.
      """,
    examples: ["easim console", "easim console unix:/tmp/glasses.sock --timeout 2s"], run: runConsole)
}

private struct ConsoleOptions: CommandOptions {
  var address = Address.standardLocal
  var isTimed = false
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [.address(\.address)]
  static let options: [Option<Self>] = [
    .auth, .identification, .order, .firstWriteDelay, .deviceProfile, .saveFiles, .infoPlist, .allProtocols,
    .allowRemote,
    .anyUser, .fault,
    Option("--time", \.isTimed, "print the time at the start of each line if stdin is not a terminal"),
    .timeout.described("time limit for each open and wait"), .json, .quietMessages, .transcript, .transcriptBytes,
    .capture,
  ]
}

private func runConsole(_ options: ConsoleOptions, _ console: Console) throws -> ExitCode {
  let settings = try HostCommandContext.app(options.shared)
  let address = options.address
  let runtime = try CommandRuntime(console)
  let front: any EADemoFront =
    Terminal.isThere && !console.isJSON
    ? EADemoScreenFront(console) : EADemoPipeFront(console, isTimed: options.isTimed)
  let cables = CableOptions(options.shared, on: runtime.loop) { front.show($0) }
  let deviceSettings = try DeviceSettings(options.shared, at: address, timeout: nil, on: runtime.loop, console)
  let refusals = RefusalWatch()
  let device = Device(settings: deviceSettings, on: runtime.loop) { event in
    refusals.see(event)
    if !console.isJSON { console.witness(event) }
    front.show(event)
  }
  let dialer = try media.makeDialer(to: address, for: device, on: runtime.loop, options: cables.transport) {
    cables.wrap($0, at: .device, place: address.description)
  }
  try cables.openFiles(console)
  cables.openDoor(console)
  cables.expect(place: address.description, accessory: "")
  defer { cables.closeDoor() }
  let driver = EADemoDriver(
    EADemoApp(lookingAt: address.place, patience: options.shared.timeout), on: device, settings: settings)
  defer { front.close() }
  try front.start(driver, on: runtime.loop)
  try dialer.start()
  _ = runtime.run(until: { driver.isOver || refusals.refusal != nil && device.published.isEmpty })
  let isRefused = !driver.isOver && runtime.signal == nil && refusals.refusal != nil
  driver.close()
  dialer.stop()
  device.unplugAll("easim is exiting")
  runtime.settle(until: { device.cableCount == 0 && cables.isQuiet })
  if isRefused {
    front.close()
    _ = refusals.explain(console)
    return .refused
  }
  return front.isScripted ? driver.app.failure ?? .done : .done
}
