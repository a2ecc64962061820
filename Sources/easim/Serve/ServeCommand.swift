import AccessoryControl
import AccessoryCore
import Glibc
import LinuxIO

extension CommandSpec {
  static let serve = CommandSpec(
    name: "serve", summary: "let programs in any language control accessories and apps",
    details: """
      Serve the control protocol: JSON-RPC 2.0, one object per line. Programs add accessories, plug them in, unplug them in
      the middle of a burst, launch apps, and read and write sessions at both ends. docs/control-reference.md describes every
      method.

      Without options, requests come over HTTP. Open the printed address in a browser to see the live page, which shows
      accessories, apps and packets as things happen, with buttons for every action (docs/control.md). The part after '#' is
      a token; programs send it with each request as 'Authorization: Bearer TOKEN'. POST /rpc takes a request, GET /events
      streams events, GET /metrics is for Prometheus, and GET /captures/ID.pcapng downloads a capture. Ctrl-C ends the
      server.

      With --stdio, requests come on standard input, answers and events go to standard output, and the server exits at the
      end of input. With --control, programs run by the same user, such as 'easim ctl', connect to a unix socket.

      With --remote, programs and apps on other machines, in containers or in the iOS Simulator connect to one TCP port
      (docs/control.md). The server prints the port's address and a token. Set EASIM_TOKEN to choose the token.
      """,
    examples: [
      "easim serve", "easim serve --stdio", "easim serve --control /tmp/easim.sock",
      "easim serve --remote 127.0.0.1:7000",
    ],
    run: runServe)
}

private struct ServeOptions: CommandOptions {
  var isStandard = false
  var control: String?
  var remote: String?
  var http: String?
  var keep: String?
  var shared = SharedOptions()

  static let options: [Option<Self>] = [
    Option("--stdio", \.isStandard, "serve one client on standard input and output"),
    Option("--control", \.control, .optional(.text), as: "PATH", "also serve on a unix socket"),
    Option(
      "--remote", \.remote, .optional(.text), as: "HOST:PORT",
      "also serve on a TCP port, for clients that know the token"),
    Option("--http", \.http, .optional(.text), as: "HOST:PORT", "serve HTTP there", standard: "127.0.0.1:0"),
    Option("--keep", \.keep, .optional(.text), as: "DIR", "keep captures and run reports in this folder"),
    .allowExec, .allowRemote, .anyUser, .seed,
  ]
  static let rules: [OptionRule] = [.exclusive(["--stdio", "--http"])]
}

private func runServe(_ options: ServeOptions, _ console: Console) throws -> ExitCode {
  let runtime = try CommandRuntime(console, seed: options.shared.seed)
  var settings = ControlServer.Settings(options.shared, on: runtime.loop)
  settings.kept = try options.keep.map { path throws(UsageError) in
    for folder in [path, "\(path)/captures", "\(path)/runs"] {
      try PatientFile.makeFolder(folder, named: "--keep \(path)")
    }
    return KeptFolder(path)
  }
  let server = ControlServer(settings, on: runtime.loop)
  let socket = try options.control.map { path in
    try ControlPort(server, path: path, settings.transport, on: runtime.loop) { console.err("easim: \($0)") }
  }
  let remote = try options.remote.map { text in
    let (host, port) = try place(text, of: "--remote")
    let token = try remoteToken()
    let remote = try ControlPort(
      server, at: .tcp(host: host, port: port), token: token, settings.transport, on: runtime.loop
    ) { console.err("easim: \($0)") }
    let line = "EASIM_REMOTE=\(remote.address.description.dropFirst("tcp:".count))#\(token)"
    if options.isStandard { console.err(line) } else { console.out(line) }
    return remote
  }
  let captures = try? CaptureServer(on: runtime.loop, console) { server.recordables }
  defer {
    captures?.close()
    socket?.close()
    remote?.close()
  }
  var code = ExitCode.done
  if options.isStandard {
    let connection = StreamConnection(
      try DescriptorStream.standard(on: runtime.loop), isStandard: true, for: server.makeClient())
    _ = runtime.run(until: { connection.isOver })
    connection.close("easim is exiting")
    if let failure = connection.failure {
      console.err("easim: the client has ended: \(failure)")
      code = .usage
    }
  } else {
    let (host, port) = try place(options.http ?? "127.0.0.1:0", of: "--http")
    let token = SecretToken.make()
    var told: Set<String> = []
    let http = try HTTPServer(
      server, host: host, port: port, settings.transport, token: token, on: runtime.loop
    ) { trouble in
      switch trouble {
      case .readerDropped(let events):
        console.err(
          "easim: closed an event stream that its client did not read; \(events.counted("event was", "events were")) "
            + "dropped"
        )
      case .refused(let reason, let peer):
        // Prints each reason only once, even if a user keeps retrying.
        if told.insert(reason).inserted { console.err("easim serve: refused \(peer): \(reason)") }
      case .cannotAccept(let reason): console.err("easim serve: cannot accept connections now: \(reason)")
      }
    }
    console.outPageAddress("http://\(http.address)/#\(token)")
    _ = runtime.run(until: { false })
    http.stop()
  }
  server.stop()
  runtime.settle(until: { server.isQuiet })
  return code
}

/// Returns the token for `--remote` from the environment, where other users cannot see it. If the environment contains
/// no token, creates one.
private func remoteToken() throws(UsageError) -> String {
  guard let chosen = getenv("EASIM_TOKEN") else { return SecretToken.make() }
  let token = String(cString: chosen)
  guard 16...128 ~= token.utf8.count, token.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
    throw UsageError("EASIM_TOKEN: expected 16 to 128 visible ASCII characters, without spaces")
  }
  return token
}

private func place(_ text: String, of option: String) throws(UsageError) -> (host: String, port: UInt16) {
  guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
    throw UsageError("\(option) \(text): expected HOST:PORT, such as 127.0.0.1:8080")
  }
  return (String(text[..<colon]), port)
}

extension ControlServer.Settings {
  init(_ shared: SharedOptions, on loop: any EventLoop) {
    self.init()
    epoch = CaptureFile.epoch(at: loop.now)
    eventText = CaptureFile.comment
    version = Version.current
    allowsExec = shared.allowsExec
    transport = shared.transport
    self.media = easim.media
    profiles = Profiles.library
    coprocessor = { Profiles.coprocessor(for: $0) }
    seed = shared.seed ?? .random(in: 1...UInt64(Int.max))
  }
}
