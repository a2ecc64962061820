import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import AccessoryTransports

extension CommandSpec {
  /// `easim run`.
  static let run = CommandSpec(
    name: "run", summary: "plug a simulated accessory in, and play it until Ctrl-C",
    arguments: "PROFILE", argumentCount: 1...1,
    details: """
      Plays the accessory that PROFILE describes (a name, or a path) at an address, for any host that connects there.
      Each host finds it freshly plugged in; with a flicker it sees the whole flicker. Ctrl-C unplugs it cleanly.
      """,
    options: [
      OptionSpec(
        name: "--on", value: "ADDR", summary: "where it appears: unix:PATH, tcp:HOST:PORT, pty:PATH, serial:PATH"),
      OptionSpec(
        name: "--behavior", value: "B", summary: "what it does with bytes, instead of what the profile says",
        choices: ["echo", "sink"]),
      OptionSpec(
        name: "--quirk", value: "Q", summary: "an oddity, such as flicker or session,answer=refuse", isRepeatable: true),
      OptionSpec(name: "--for", value: "TIME", summary: "unplug after this long"),
      OptionSpec(name: "--allow-remote", summary: "let TCP listen beyond this machine"),
      .json, .seed, .transcript,
    ],
    examples: ["easim run lawk-view --on unix:/tmp/glasses.sock --quirk flicker"], run: runRun)
}

private func runRun(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
  console.isJSON = arguments.has("--json")
  guard let place = arguments.value("--on") else {
    throw UsageError(
      "--on is missing: say where the accessory appears, such as --on unix:/tmp/glasses.sock", arguments.command)
  }
  let address = try arguments.address(place)
  var profile = try Profiles.library.profile(arguments.words[0])
  for quirk in arguments.all("--quirk") { profile.apply(try Quirk(quirk)) }
  switch arguments.value("--behavior") {
  case "echo"?: profile.behavior = .echo
  case "sink"?: profile.behavior = .sink(check: false)
  default: break
  }
  let limit = try arguments.duration("--for")
  let seed = try arguments.number("--seed", in: 0...Int.max).map { UInt64($0) }
  let transcript = try arguments.value("--transcript").map { try TranscriptFile($0, arguments.command) }
  let stage = try Stage(seed: seed)
  var options = TransportOptions()
  options.allowsRemote = arguments.has("--allow-remote")
  var port: any Port = ListeningPort(at: address, on: stage.loop, options: options)
  if let transcript { port = TranscribedPort(port, to: transcript, on: stage.loop) }
  var sessions = 0
  var bytes = 0
  let accessory = SimulatedAccessory(
    profile, at: port, authenticator: Profiles.coprocessor(for: profile), on: stage.loop
  ) { event in
    if case .sessionClose(_, _, _, let read, let written) = event.kind {
      sessions += 1
      bytes += read + written
    }
    console.show(event)
  }
  try accessory.plugIn()
  _ = stage.run(until: { false }, limit: limit)
  accessory.unplug(stage.signal.map { _ in stage.signalName } ?? "its time is up")
  stage.settle(until: { true })
  console.err("easim: unplugged; \(sessions) sessions were served, \(bytes) bytes in all")
  return .done
}

/// A port whose cables write a transcript.
private final class TranscribedPort: Port {
  private let inner: any Port
  private let file: TranscriptFile
  private let loop: any EventLoop

  init(_ inner: any Port, to file: TranscriptFile, on loop: any EventLoop) {
    self.inner = inner
    self.file = file
    self.loop = loop
  }

  var place: String { inner.place }

  func open(_ hear: @escaping (PortEvent) -> Void) throws {
    try inner.open { [file, loop] event in
      guard case .cable(let cable, let device) = event else { return hear(event) }
      let channel = TranscriptChannel(
        around: cable.main, at: .accessory, Transcript(write: file.write), on: loop)
      hear(.cable(Cable(main: channel, side: { cable.side($0) }), from: device))
    }
  }

  func close() { inner.close() }
}
