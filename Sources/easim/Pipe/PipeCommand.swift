import AccessoryCore
import AccessoryHost
import AccessorySessions
import AccessorySimulator
import IAP2

extension CommandSpec {
  static let pipe = CommandSpec(
    name: "pipe", summary: "connect stdin and stdout, or sockets, to a session, as netcat does",
    details: """
      Connect to the accessory at ADDR (default: the only local one that offers the protocol) as an Apple device would, wait
      for its protocol (through a flicker, if there is one) and open a session. easim sends what it reads from stdin, and
      writes what the accessory sends to stdout; everything else goes to stderr.

      Sessions cannot be half-closed. At the end of stdin, easim therefore waits until the accessory has acknowledged
      everything and has sent nothing for --linger, and then closes the session.

      With --listen, each connection to a socket gets its own session, until Ctrl-C. The first line on stdout is the socket's
      address; if you specify port 0, it contains the port that the system chose.

      With --as-accessory, easim is the other end: it runs the accessory PROFILE at --on, and connects the sessions that a
      device opens to stdin and stdout, one at a time, or to the connections of --listen.

      Exit codes: 0 everything was acknowledged, and the input ended or the other end closed the session; 1 the session
      closed earlier, or Ctrl-C; 2 several accessories or protocols to choose from, or stdin or stdout failed; 3 no accessory
      found; 4 timed out; 5 the other end disconnected; 6 the accessory was refused.
      """,
    examples: [
      "printf 'VERSION?\\r\\n' | easim pipe", "easim pipe usb: --listen unix:/tmp/session.sock",
      "easim pipe --as-accessory echo --on unix:/tmp/lamp.sock --listen unix:/tmp/lamp-session.sock",
    ],
    run: runPipe)
}

struct PipeOptions: CommandOptions {
  var address: Address?
  var listen: Address?
  var profile: String?
  var place = "local:"
  var reconnects = false
  var linger = Duration.seconds(1)
  var isVerbose = false
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [
    Operand(placeholder: "[ADDR]", 0...1, \.address) { $0 = try Address(typed: $1) }
  ]
  static let options: [Option<Self>] = [
    Option("--listen", \.listen, as: "ADDR", "serve unix:PATH or tcp:HOST:PORT instead of stdin and stdout") {
      listen, word in
      let address = try Address(typed: word)
      switch address {
      case .unix, .tcp: listen = address
      default: throw UsageError("--listen \(word): expected unix:PATH or tcp:HOST:PORT")
      }
    },
    Option("--as-accessory", \.profile, as: "PROFILE", "act as this accessory instead of as the device"),
    Option("--on", \.place, .text, as: "ADDR", "with --as-accessory: plug the accessory in at ADDR, as for easim run")
      .standard("local:"),
    Option("--reconnect", \.reconnects, "continue with a new session if the other end comes back"),
    Option("--linger", \.linger, .duration, "after EOF on input, close the session once nothing has arrived for TIME"),
    .protocolName, .auth, .identification, .order, .firstWriteDelay, .infoPlist, .allProtocols, .fault, .seed,
    .allowRemote, .anyUser, .allowExec,
    .timeout.described("time limit for finding the accessory and opening a session"),
    Option("--verbose", short: "-v", \.isVerbose, "print all events to stderr, not only warnings"),
    .json.described("print all events to stderr, one JSON object per line"), .quietMessages, .transcript,
    .transcriptBytes, .capture,
  ]
  static let rules: [OptionRule] =
    [.needs("--on", "--as-accessory"), .needs("--allow-exec", "--as-accessory")]
    + ["--auth", "--identification", "--first-write-delay", "--info-plist", "--all-protocols"].map {
      .exclusive([$0, "--as-accessory"], because: "it applies only to the device")
    } + [.exclusive(["--timeout", "--as-accessory"], because: "an accessory waits until a device connects")]
}

private func runPipe(_ options: PipeOptions, _ console: Console) throws -> ExitCode {
  if options.shared.capture == "-" {
    throw UsageError("--capture -: stdout carries the bytes of the session; use a file instead")
  }
  if let profile = options.profile { return try runAccessory(profile, options, console) }
  let runtime = try CommandRuntime(console, seed: options.shared.seed)
  let report = makeReport(options, console)
  let host = PipeHost(options, on: runtime.loop) { console.err("easim: \($0)") }
  let cables = CableOptions(options.shared, on: runtime.loop, report: report)
  let context = try HostCommandContext(
    options.shared, at: options.address ?? .standardLocal, for: host, on: runtime, console, cables: cables,
    adjust: { settings in
      // Each connection to the listener needs its own session. iAP2 allows several sessions for one protocol, although
      // Apple's systems give an app only one.
      if options.listen != nil { settings.rules.secondSession = .sideBySide }
    }, report: report)
  let streams = try PipeStreams(options, on: runtime.loop, console, to: host)
  try cables.openFiles(console)
  cables.openDoor(console)
  defer { cables.closeDoor() }
  // The verdict just before the sessions are closed. After Ctrl-C, closing them also sets a verdict, but it does not
  // mean that a stream has ended.
  var verdict: ExitCode?
  var progress = ""
  let ended = try context.run(until: { host.verdict != nil || !context.app.hiddenAccessories.isEmpty }, limit: nil) {
    verdict = host.verdict
    progress = streams.progress
    streams.closeSessions()
  }
  runtime.flush(streams)
  if let verdict, verdict != .unreachable { return verdict }
  if context.refusals.explain(console) { return .refused }
  if StopSignals.first != nil, options.listen != nil { return .done }
  if let code = runtime.stopped(console, "; \(progress)") { return code }
  let (code, text) =
    ended && verdict == nil
    ? (.unreachable, HostCommandContext.nothingVisible) : context.explanation(within: options.shared.timeout)
  return console.end(code, text)
}

private func runAccessory(_ name: String, _ options: PipeOptions, _ console: Console) throws -> ExitCode {
  if let address = options.address {
    throw UsageError("\(address): use --on for an accessory's address")
  }
  var profiles = [try Profiles.library.profile(name)]
  try Programs.admit(&profiles, options.shared, console)
  let profile = profiles[0]
  if let wanted = options.shared.protocolName {
    do { _ = try ProtocolChoice.choose(wanted, among: profile.protocols.map(\.name)) } catch {
      throw UsageError(error.description)
    }
  }
  let runtime = try CommandRuntime(console, seed: options.shared.seed)
  let report = makeReport(options, console)
  let ports = try RunPorts(
    on: options.place, options.shared, accessories: 1, on: runtime.loop, console, report: report)
  let pipe = PipeAccessory(options, on: runtime.loop) { console.err("easim: \($0)") }
  let lineRate = options.shared.faults.lineRate
  let accessory = SimulatedAccessory(
    profile, at: try ports.ports(for: [profile])[0], authenticator: Profiles.coprocessor(for: profile),
    on: runtime.loop,
    reportsMessages: true, link: { $0.lineRate = lineRate }, behavior: { PipeBehavior(pipe, otherwise: $0) },
    report: report)
  let streams = try PipeStreams(options, on: runtime.loop, console, to: pipe)
  try accessory.plugIn()
  _ = runtime.run(until: { pipe.verdict != nil || accessory.failure != nil })
  streams.closeSessions()
  accessory.unplug(StopSignals.stopper ?? "the pipe is over")
  runtime.settle(until: { accessory.runningPrograms == 0 }, limit: ExecBehavior.grace * 3)
  runtime.flush(streams)
  if let verdict = pipe.verdict { return verdict }
  if let failure = accessory.failure {
    return console.end(.usage, "cannot be plugged in at \(options.place): \(failure)")
  }
  return .done
}

extension CommandRuntime {
  fileprivate func flush(_ streams: PipeStreams) {
    if StopSignals.count > 0 { return streams.abandon() }
    var isFlushed = false
    streams.finish { isFlushed = true }
    _ = run(until: { isFlushed })
  }
}

private func makeReport(_ options: PipeOptions, _ console: Console) -> (TimelineEvent) -> Void {
  { event in
    if case .message = event.kind, !console.showsMessages { return }
    if console.isJSON { return console.errWhole(event.printed.text) }
    if options.isVerbose { return console.showProgress(event) }
    switch event.kind {
    case .warning(let text), .alert(let text): console.err("easim: \(text)")
    default: return
    }
  }
}
