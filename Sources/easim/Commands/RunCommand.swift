import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import AccessoryTransports

extension CommandSpec {
  /// `easim run`.
  static let run = CommandSpec(
    name: "run", summary: "plug a simulated accessory in, and play it until Ctrl-C",
    arguments: "PROFILE…", argumentCount: 1...Int.max,
    details: """
      Plays the accessories that each PROFILE describes (a name, or a path), for any host that connects. By default they
      appear on the bench, where list, send and every other command finds them; --on puts them at an address instead,
      in which {index} stands for the number of the accessory when there are several.
      Behaviours are echo, sink[,check], source[,rate=N,chunk=N,text=S,total=N] and exec:COMMAND.
      Each host finds an accessory freshly plugged in; with a flicker it sees the whole flicker. Ctrl-C unplugs cleanly.
      """,
    options: [
      OptionSpec(
        name: "--on", value: "ADDR",
        summary: "where it appears: bench:, bench:DIR#, unix:PATH, tcp:HOST:PORT, pty:PATH, serial:PATH"),
      OptionSpec(name: "--count", value: "N", summary: "so many accessories of each profile, numbered from 1"),
      OptionSpec(
        name: "--behavior", value: "B",
        summary: "what it does with bytes, instead of what the profile says (see above)"),
      OptionSpec(
        name: "--quirk", value: "Q", summary: "an oddity, such as flicker or session,answer=refuse", isRepeatable: true),
      OptionSpec(name: "--for", value: "TIME", summary: "unplug after this long"),
      .allowRemote, .json, .seed, .transcript,
    ],
    examples: ["easim run lawk-view --quirk flicker", "easim run echo --count 3 --on unix:/tmp/echo-{index}.sock"],
    run: runRun)
}

private func runRun(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
  console.isJSON = arguments.has("--json")
  let profiles = try profiles(arguments)
  let limit = try arguments.duration("--for")
  let seed = try arguments.number("--seed", in: 0...Int.max).map { UInt64($0) }
  let stage = try Stage(seed: seed)
  let places = try Places(arguments, accessories: profiles.count, on: stage.loop)
  // Last, so that a wrong command line does not empty the file.
  let transcript = try arguments.value("--transcript").map { try TranscriptFile($0, arguments.command) }
  var sessions = 0
  var bytes = 0
  var accessories: [SimulatedAccessory] = []
  defer { for accessory in accessories { accessory.unplug("easim ends") } }
  for (index, profile) in profiles.enumerated() {
    var port = try places.port(index + 1)
    if let transcript { port = TranscribedPort(port, to: transcript, on: stage.loop) }
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
    accessories.append(accessory)
  }
  _ = stage.run(until: { false }, limit: limit)
  for accessory in accessories { accessory.unplug(stage.signal.map { _ in stage.signalName } ?? "its time is up") }
  // Programs of the last sessions get the time that they are promised.
  stage.settle(until: { accessories.allSatisfy { $0.runningPrograms == 0 } }, limit: ExecBehavior.grace * 3)
  console.err("easim: unplugged; \(sessions) sessions were served, \(bytes) bytes in all")
  return .done
}

/// The accessories of every profile that was named, each with a serial number of its own.
private func profiles(_ arguments: ParsedArguments) throws -> [Profile] {
  let count = try arguments.number("--count", in: 1...10_000) ?? 1
  let quirks = try arguments.all("--quirk").map { try Quirk($0) }
  let behavior = try arguments.value("--behavior").map { try Behavior($0) }
  var named: [(reference: String, times: Int)] = []
  for word in arguments.words {
    if let index = named.firstIndex(where: { $0.reference == word }) {
      named[index].times += 1
    } else {
      named.append((word, 1))
    }
  }
  return try named.flatMap { reference, times in
    try Profiles.library.template(reference).instances(count * times).map { profile in
      var profile = profile
      for quirk in quirks { profile.apply(quirk) }
      if let behavior {
        profile.behavior = behavior
        for index in profile.protocols.indices { profile.protocols[index].behavior = nil }
      }
      return profile
    }
  }
}

/// Where accessories appear: all on one bench, or each at an address of its own.
private struct Places {
  private let arguments: ParsedArguments
  private let loop: any PollingLoop
  private let pattern: String
  private let bench: Bench?

  init(_ arguments: ParsedArguments, accessories: Int, on loop: any PollingLoop) throws {
    self.arguments = arguments
    self.loop = loop
    pattern = arguments.value("--on") ?? "bench:"
    guard case .bench(let path, let serial) = try arguments.address(pattern) else {
      bench = nil
      if accessories > 1, !pattern.contains("{index}") {
        throw UsageError(
          "--on \(pattern) is one place, and there are \(accessories) accessories: put {index} where their number "
            + "shall stand", arguments.command)
      }
      return
    }
    if let serial {
      throw UsageError(
        "--on \(pattern): the profile says which serial number it is; did you mean --on bench:\(path.map { "\($0)#" } ?? "")"
          + (path == nil ? " (or, for a directory, bench:\(serial)#)?" : "?"), arguments.command)
    }
    bench = try Bench(BenchDirectory(path))
  }

  func port(_ index: Int) throws -> any Port {
    if let bench { return bench.makePort(on: loop) }
    var options = TransportOptions()
    options.allowsRemote = arguments.has("--allow-remote")
    let address = try arguments.address(pattern.replacing("{index}", with: "\(index)"))
    return ListeningPort(at: address, on: loop, options: options)
  }
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

  func show(_ appearance: PortAppearance) { inner.show(appearance) }

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
