import AccessoryCables
import AccessoryControl
import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import AccessorySoak
import AccessoryWorlds
import Certificates
import IAP2

extension CommandSpec {
  static let run = CommandSpec(
    name: "run", summary: "run a simulated accessory until Ctrl-C",
    details: """
      Run one simulated accessory for each PROFILE (a name, or the path of a file). Any host can connect to it. By default,
      accessories are plugged in locally, where 'easim list', 'easim send' and the other commands find them. --on plugs them
      in at an address instead; {index} in the address is replaced by the accessory's number.

      At usbip:HOST:PORT, the accessory is a USB device that 'easim plug' attaches to a kernel; several accessories can share
      a port. At gadget:UDC, it uses a USB port of this machine that can act as a device (see /sys/class/udc); gadget:
      selects the only such port.

      A behavior is what the accessory does in a session: echo (send every byte back), sink[,check] (only read),
      source[,rate=N,chunk=N,text=S,total=N] (send unprompted) or exec:COMMAND (run a program).

      For each host that connects, the accessory is plugged in again, with a complete flicker if it has one. Ctrl-C unplugs
      it. On a terminal, single keys unplug, plug and flicker the accessories and turn the faults on and off; the last line
      lists them.

      An accessory serves one host at a time and refuses others. It disconnects a host that sends nothing for
      --handshake-timeout before the handshake is complete. On unix: and tcp:, it serves only hosts of the same user and of
      root, unless you pass --any-user.

      With --scenario, easim plays the accessories and cables of a scenario, starting when a device connects; to play the
      other end, use 'easim scenario run NAME --at ADDR'. A PROFILE then replaces the scenario's own. The command ends when
      the scenario is over and the device has disconnected.
      """,
    examples: [
      "easim run lawk-view --quirk flicker", "easim run echo --count 3 --on unix:/tmp/echo-{index}.sock",
      "easim run sensor --fault rate,bytes=7500 --on unix:/tmp/sensor.sock",
      "easim run --scenario flicker --on unix:/tmp/flicker.sock",
    ],
    run: runRun)
}

private struct RunOptions: CommandOptions {
  var profiles: [String] = []
  var place = "local:"
  var count = 1
  var behavior: Behavior?
  var quirks: [Quirk] = []
  var scenario: String?
  var limit: Duration?
  var handshakeTimeout = HandshakeTimeouts.usual
  var control: String?
  var signer: String?
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [Operand(each: "PROFILE…", 0...10_000, \.profiles, .text)]
  static let options: [Option<Self>] = [
    Option(
      "--on", \.place, .text, as: "ADDR",
      "plug in at local:, unix:PATH, tcp:HOST:PORT, pty:PATH, serial:PATH, usbip:…, gadget: or bt:"
    ).standard(nil),
    Option("--count", \.count, .integer(1...10_000), "run N accessories of each profile, numbered from 1").standard(
      nil),
    Option(
      "--behavior", \.behavior, as: "B",
      "what the accessory does in sessions, instead of its profile's behavior (see above)"
    ) { $0 = try Behavior.format.read(option: $1) },
    Option(
      "--quirk", \.quirks, as: "Q", "add a quirk, such as flicker or session,answer=refuse", isRepeatable: true
    ) { $0.append(try Quirk.format.read(option: $1)) },
    Option("--scenario", \.scenario, as: "NAME", "simulate a scenario's accessories and cables (see above)"),
    Option("--for", \.limit, .optional(.duration), "unplug after TIME"),
    Option(
      "--handshake-timeout", \.handshakeTimeout, .duration,
      "disconnect hosts that are silent for TIME during the handshake; 0s for never"),
    Option(
      "--control", \.control, as: "PATH",
      "let programs control the accessories through this unix socket, as 'easim serve' does"),
    Option(
      "--signer", \.signer, as: "SIGNER",
      "get the certificate and signatures from your coprocessor (docs/your-accessory.md)"),
    .fault, .allowExec, .allowRemote, .anyUser, .json, .quietMessages, .saveFiles, .seed, .transcript, .transcriptBytes,
    .capture, .trace, .traceLimit,
  ]
  static let rules: [OptionRule] =
    ["--count", "--behavior", "--quirk", "--control", "--signer"].map {
      .exclusive([$0, "--scenario"], because: "a scenario has its own accessories")
    } + [.exclusive(["--control", "--save-files"]), .exclusive(["--control", "--signer"])]
}

private func runRun(_ options: RunOptions, _ console: Console) throws -> ExitCode {
  if let name = options.scenario { return try runScenario(name, options, console) }
  if options.profiles.isEmpty { throw UsageError("PROFILE… is missing") }
  var profiles = try profiles(options)
  try Programs.admit(&profiles, options.shared, console)
  // Contacting a signer that does not answer would block, so the signer is contacted before the runtime takes over
  // Ctrl-C.
  let signer = try makeSigner(options, console)
  let runtime = try CommandRuntime(console, seed: options.shared.seed)
  var places = try RunPorts(on: options.place, options.shared, accessories: profiles.count, on: runtime.loop, console)
  var sessions = 0
  var bytes = 0
  var accessories: [SimulatedAccessory] = []
  defer { for accessory in accessories { accessory.unplug("easim is exiting") } }
  places.options.mayToggleFaults = RunTerminal.isThere(options.shared)
  let lineRate = options.shared.faults.lineRate
  let interByteTimeout = (try? Address(parsing: options.place))?.interByteTimeout
  let handshakeTimeouts = HandshakeTimeouts(each: options.handshakeTimeout)
  let link = { (settings: inout LinkSettings) in
    settings.lineRate = lineRate
    settings.interByteTimeout = interByteTimeout
  }
  if let path = options.control {
    return try runControlled(
      profiles, path: path, at: places, handshakeTimeouts, link, runtime, options, console)
  }
  places.isOffered = true
  defer { places.options.closeDoor() }
  let keepFile = try options.shared.makeFileKeeper(console)
  for (profile, port) in zip(profiles, try places.ports(for: profiles)) {
    let accessory = SimulatedAccessory(
      profile, at: port, authenticator: signer ?? Profiles.coprocessor(for: profile), on: runtime.loop,
      handshakeTimeouts: handshakeTimeouts, reportsMessages: true, link: link
    ) { event in
      if case .sessionClose(_, _, _, let read, let written) = event.kind {
        sessions += 1
        bytes += read + written
      }
      console.show(event)
    }
    accessory.epoch = runtime.loop.systemEpoch
    accessory.keepFile = keepFile
    try accessory.plugIn()
    accessories.append(accessory)
  }
  let terminal = try RunTerminal(places.options, options.shared, console, on: runtime.loop) { action in
    let isPossible = action.needsPlug.map { needed in accessories.contains { $0.isAttached == needed } } ?? true
    for accessory in accessories {
      // An accessory that is about to reconnect is not attached, but it can still be unplugged.
      guard action == .unplug() || action.needsPlug != !accessory.isAttached else { continue }
      try accessory.perform(action, "unplugged by hand")
    }
    // Reports that an action is not possible, so that every key press has a visible effect.
    if !isPossible { console.err("easim: \(action.needsPlug == true ? "not plugged in" : "plugged in already")") }
  }
  let isHopeless = { accessories.allSatisfy { $0.failure != nil } }
  let isOver = runtime.run(until: { terminal?.isOver == true || isHopeless() }, limit: options.limit)
  terminal?.close()
  if isOver, terminal?.isOver != true, let failure = accessories.first?.failure {
    return console.end(.usage, "cannot be plugged in at \(options.place): \(failure)")
  }
  for accessory in accessories {
    accessory.unplug(
      StopSignals.stopper
        ?? (terminal?.isOver == true ? "q was pressed" : "the --for time is over"))
  }
  runtime.settle(until: { accessories.allSatisfy { $0.runningPrograms == 0 } }, limit: ExecBehavior.grace * 3)
  let served = sessions.counted("session was served", "sessions were served")
  return console.end(.done, "unplugged; \(served), \(bytes.counted("byte")) in all")
}

private func profiles(_ options: RunOptions) throws -> [Profile] {
  var named: [(reference: String, times: Int)] = []
  for word in options.profiles {
    if let index = named.firstIndex(where: { $0.reference == word }) {
      named[index].times += 1
    } else {
      named.append((word, 1))
    }
  }
  return try named.flatMap { reference, times in
    try Profiles.library.template(reference).instances(options.count * times).map { profile in
      var profile = profile
      for quirk in options.quirks { profile.apply(quirk) }
      if let behavior = options.behavior {
        profile.behavior = behavior
        for index in profile.protocols.indices { profile.protocols[index].behavior = nil }
      }
      return profile
    }
  }
}

private func runScenario(_ name: String, _ options: RunOptions, _ console: Console) throws -> ExitCode {
  let library = ScenarioLibrary(profiles: Profiles.library)
  try library.find(name)
  let file = try library.file(name)
  guard case .scenario(var scenario) = file else {
    throw UsageError("the scenario \(name) has 'apps' and runs in one process: easim scenario run \(name.shellWord)")
  }
  let own = try profiles(options)
  let address = try Address(typed: options.place.replacing("{index}", with: "1"))
  try ScenarioAddresses.check(address, for: scenario, option: "--on \(options.place)")
  let count = scenario.accessories.count
  guard own.isEmpty || own.count == count else {
    throw UsageError(
      "the scenario \(scenario.name) has \(count.counted("accessory", "accessories")), but \(own.count) profiles "
        + "were given: give one for each accessory, or none")
  }
  for (index, profile) in own.enumerated() { scenario.accessories[index].play(profile) }
  try scenario.admitPrograms(options.shared, console)
  let runtime = try CommandRuntime(console, seed: options.shared.seed)
  let places = try RunPorts(on: options.place, options.shared, accessories: count, on: runtime.loop, console)
  let ports = try places.ports(for: scenario.accessories.map(\.profile))
  let side = ScenarioAccessories(
    scenario, at: ports, coprocessor: Profiles.coprocessor, on: runtime.loop, report: console.show)
  side.start()
  _ = runtime.run(until: { side.failure != nil || side.isOver && !side.hasDevice }, limit: options.limit)
  if let failure = side.failure { throw failure }
  let isOver = side.isOver
  side.tearDown(StopSignals.stopper ?? "the scenario is over")
  runtime.settle(until: { !side.hasDevice })
  return console.end(.done, "\(scenario.name) \(isOver ? "was played completely" : "was stopped early")")
}

private func makeSigner(_ options: RunOptions, _ console: Console) throws -> LineSigner? {
  guard let place = options.signer else { return nil }
  do throws(AuthenticatorError) {
    let signer = try LineSigner(place, allowsOtherUsers: options.shared.takesAnyUser)
    if let objection = signer.objection {
      console.err("easim: warning: an Apple device would refuse the signer's certificate: \(objection)")
    }
    return signer
  } catch {
    throw UsageError("--signer: \(error)")
  }
}

private func runControlled(
  _ profiles: [Profile], path: String, at places: RunPorts, _ handshakeTimeouts: HandshakeTimeouts,
  _ link: @escaping (inout LinkSettings) -> Void, _ runtime: CommandRuntime, _ options: RunOptions, _ console: Console
) throws -> ExitCode {
  var settings = ControlServer.Settings(options.shared, on: runtime.loop)
  settings.reportsMessages = true
  settings.report = console.show
  let server = ControlServer(settings, on: runtime.loop)
  let socket = try ControlPort(server, path: path, settings.transport, on: runtime.loop) { console.err("easim: \($0)") }
  let captures = try? CaptureServer(on: runtime.loop, console) { server.recordables }
  defer {
    captures?.close()
    socket.close()
  }
  for (profile, port) in zip(profiles, try places.ports(for: profiles)) {
    _ = try server.run(profile, at: port, handshakeTimeouts: handshakeTimeouts, link: link)
  }
  let terminal = try RunTerminal(
    places.options, options.shared, console, on: runtime.loop, perform: server.performOnAll)
  _ = runtime.run(until: { terminal?.isOver == true }, limit: options.limit)
  terminal?.close()
  server.stop()
  runtime.settle(until: { server.isQuiet })
  return console.end(.done, "unplugged")
}
