import AccessoryControl
import AccessoryCore
import AccessoryFormats
import AccessoryProfiles
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
    Option("--control", \.control, as: "PATH", "also serve on a unix socket"),
    Option("--remote", \.remote, as: "HOST:PORT", "also serve on a TCP port, for clients that know the token"),
    Option("--http", \.http, as: "HOST:PORT", "serve HTTP there", standard: "127.0.0.1:0"),
    Option("--keep", \.keep, as: "DIR", "keep captures and run reports in this folder"),
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

/// Repeats the demonstration of `easim demo --page` in the server's world `main`, for the live page.
///
/// The demonstration is an ordinary client of the control protocol. An accessory connects twice. An app waits for its
/// protocol, opens a session, and sends a string and then 10,000 bytes several times. Finally, the accessory is
/// unplugged.
final class PageDemo {
  private static let pause = Duration.seconds(3)
  private static let exchanges = 6

  private let client: ControlClient
  private let loop: any EventLoop
  private let profile: String
  private let flicker: Quirk
  private let failed: (String) -> Void
  private var accessory = ""
  private var app = ""
  private var session = ""

  init(
    _ profile: String, flicker: Quirk, on server: ControlServer, _ loop: any EventLoop,
    failed: @escaping (String) -> Void
  ) {
    (self.profile, self.flicker, self.loop, self.failed) = (profile, flicker, loop, failed)
    client = server.makeClient()
  }

  func start(_ protocolName: String) {
    call(
      "accessory.add",
      [.init("profile", .text(profile)), .init("quirks", .array([.text(flicker.description)]))]
    ) { [self] made in
      guard case .array(let ids)? = made["accessories"]?.content else { return }
      accessory = ids.first?.word ?? ""
      call("app.launch", [.init("name", .text("EADemo"))]) { [self] made in
        app = made["app"]?.word ?? ""
        play(protocolName)
      }
    }
  }

  private func play(_ protocolName: String) {
    call("accessory.plug", [.init("accessory", .text(accessory))]) { _ in }
    call(
      "app.open",
      [.init("app", .text(app)), .init("protocol", .text(protocolName)), .init("wait", .text("1m"))]
    ) { [self] opened in
      session = opened["session"]?.word ?? ""
      exchange("hello from the demonstration", left: Self.exchanges) { [self] in
        call("accessory.unplug", [.init("accessory", .text(accessory))]) { [self] _ in
          loop.schedule(after: Self.pause) { [self] in play(protocolName) }
        }
      }
    }
  }

  /// Sends some text, reads the reply a second later, and repeats this with longer and longer text.
  private func exchange(_ text: String, left: Int, then done: @escaping () -> Void) {
    call("session.write", [.init("session", .text(session)), .init("text", .text(text))]) { [self] _ in
      loop.schedule(after: .seconds(1)) { [self] in
        call("session.read", [.init("session", .text(session)), .init("wait", .text("10s"))]) { [self] answer in
          guard answer["data"]?.word.isEmpty == false else { return failed("the accessory did not answer") }
          if left == 0 { return done() }
          // Unlike EADemo, which sends the bytes 0 to 255, the demonstration sends printable characters, which the page
          // can show.
          let line = String((0..<10_000).map { Character(Unicode.Scalar(UInt8(32 + $0 % 95))) })
          exchange(line, left: left - 1, then: done)
        }
      }
    }
  }

  private func call(_ method: String, _ params: [JSON5Member], _ done: @escaping (JSON5Value) -> Void) {
    client.call(method, .object(params)) { [weak self, loop] result in
      // Defers the step to a later turn of the loop, because the client is still handling a request.
      loop.schedule(after: .zero) {
        switch result {
        case .success(let answer): done(answer)
        // If the user's clicks on the page have made a step impossible, the demonstration ends.
        case .failure(let error): self?.failed(error.message)
        }
      }
    }
  }
}

extension CommandRuntime {
  func serveDemo(
    _ reference: String, _ profile: Profile, _ shared: SharedOptions, _ console: Console
  ) throws -> ExitCode {
    let server = ControlServer(ControlServer.Settings(shared, on: loop), on: loop)
    let token = SecretToken.make()
    let http = try HTTPServer(server, host: "127.0.0.1", port: 0, token: token, on: loop)
    let flicker = Quirk.flicker(profile.quirks.flicker ?? Flicker())
    let demo = PageDemo(reference, flicker: flicker, on: server, loop) {
      console.err("easim: the demonstration stopped: \($0)")
    }
    demo.start(profile.protocols.first?.name ?? "")
    console.outPageAddress("http://\(http.address)/#\(token)")
    _ = run(until: { false })
    http.stop()
    server.stop()
    settle(until: { server.isQuiet })
    return .done
  }
}

extension CommandSpec {
  static let ctl = CommandSpec(
    name: "ctl", summary: "send one request to a running 'easim serve --control'",
    details: """
      Call METHOD of the control protocol with the given parameters and print its result as JSON. docs/control-reference.md
      lists the methods; 'easim ctl rpc.discover' prints them. To pass a list, repeat the parameter. Apps that you launch
      keep running after the command exits.

      --control, or the environment variable EASIM_CONTROL, selects the server.

      Exit codes: 0 done, 1 another error, 2 a wrong request, 3 no server, 4 timed out, 5 the object is gone, 6 the session
      was refused.
      """,
    examples: [
      "easim ctl accessory.add profile=lawk-view quirks=flicker", "easim ctl accessory.plug accessory=a1",
      "easim ctl --control /tmp/easim.sock accessory.list",
    ],
    run: runCtl)
}

private struct CtlOptions: CommandOptions {
  var method = ""
  var parameters: [String] = []
  var control: String?
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [
    Operand(\.method, .text, as: "METHOD", offered: ControlMethods.all.map(\.name)),
    Operand(each: "KEY=VALUE…", 0...1_000, \.parameters, .text),
  ]
  static let options: [Option<Self>] = [
    Option("--control", \.control, as: "PATH", "the server's unix socket")
  ]
}

private func runCtl(_ options: CtlOptions, _ console: Console) throws -> ExitCode {
  guard let path = options.control ?? getenv("EASIM_CONTROL").map({ String(cString: $0) }) else {
    throw UsageError("no server given: use --control PATH, or set EASIM_CONTROL to the path of the server's socket")
  }
  let params = try ControlWords.params(options.parameters, for: options.method)
  guard let line = ControlLine(path: path) else {
    return console.end(
      .unreachable, "no server answers at \(path): start one with 'easim serve --control \(path.shellWord)'")
  }
  line.send("{\"jsonrpc\":\"2.0\",\"method\":\"client.detach\"}\n")
  let request: JSONObject = [
    "jsonrpc": "2.0", "id": 1, "method": options.method, "params": JSONObject(.object(params)),
  ]
  line.send(request.text + "\n")
  while let text = line.receive() {
    let answer = try JSON5.read(text, file: path, limits: .init(bytes: 64 << 20, depth: 100))
    guard answer["id"] != nil else { continue }
    if let result = answer["result"] {
      console.out(String(JSON5Writer.write(result, as: .json).dropLast()))
      return result["reached"]?.content == .boolean(false) ? .timedOut : .done
    }
    let error = answer["error"]
    let advice = error?["data"]?["advice"].map { "; \($0.word)" } ?? ""
    console.err("easim: \(error?["message"]?.word ?? "the server answered without a result")\(advice)")
    switch error?["data"]?["kind"]?.word {
    case "params", "method", "request", "unknown", "parse": return .usage
    case "gone": return .gone
    case "refused": return .refused
    default: return .checkFailed
    }
  }
  return console.end(.unreachable, "the server at \(path) closed the connection")
}

enum ControlWords {
  static func params(_ words: [String], for name: String) throws -> [JSON5Member] {
    let fields = ControlMethods.all.first { $0.name == name }?.params.fields ?? []
    var members: [JSON5Member] = []
    for word in words {
      guard let equals = word.firstIndex(of: "="), equals != word.startIndex else {
        throw UsageError("'\(Excerpt.of(word))' is not a parameter: write KEY=VALUE")
      }
      let (key, text) = (String(word[..<equals]), String(word[word.index(after: equals)...]))
      let shape = fields.first { $0.key == key }?.shape
      if case .list(let element, _)? = shape, !text.hasPrefix("[") {
        let value = try value(text, element)
        if let index = members.firstIndex(where: { $0.key == key }),
          case .array(let others) = members[index].value.content
        {
          members[index].value = .array(others + [value])
        } else {
          members.append(JSON5Member(key, .array([value])))
        }
      } else {
        members.append(JSON5Member(key, try value(text, shape)))
      }
    }
    return members
  }

  private static func value(_ text: String, _ shape: Shape?) throws -> JSON5Value {
    if text.hasPrefix("{") || text.hasPrefix("[") { return try JSON5.read(text, file: "argument") }
    return JSON5Value(shape?.content(of: text) ?? .text(text))
  }
}
