import AccessoryControl
import AccessoryCore
import AccessoryFormats
import AccessoryProfiles

/// `easim demo --page`: repeats the demonstration in the world `main` of a server, for the live page.
///
/// The demonstration is a client of the control protocol like any other. An accessory connects twice, an app waits for
/// its protocol, opens a session, sends a string and 10,000 bytes several times, and the accessory is unplugged.
final class PageDemo {
  private static let pause = Duration.seconds(3)
  private static let exchanges = 6

  private let client: ControlClient
  private let loop: any EventLoop
  private let profile: String
  private let flicker: Quirk
  /// Called with the reason if the demonstration stops early.
  private let failed: (String) -> Void
  private var accessory = ""
  private var app = ""
  private var protocolName = ""
  private var session = ""
  private var sent = 0
  private var rounds = 0

  init(
    _ profile: String, flicker: Quirk, on server: ControlServer, _ loop: any EventLoop,
    failed: @escaping (String) -> Void
  ) {
    (self.profile, self.flicker, self.loop, self.failed) = (profile, flicker, loop, failed)
    client = server.makeClient()
    client.news = { [weak self, loop] news in
      guard news.method == "app", news.params["event"]?.word == "connect" else { return }
      loop.schedule(after: .zero) { self?.connected(news.params) }
    }
  }

  /// Adds the accessory and the app, whose events trigger the later steps.
  func start() {
    call(
      "accessory.add",
      [.init("profile", .text(profile)), .init("quirks", .array([.text(flicker.description)]))]
    ) { [self] made in
      guard case .array(let ids)? = made["accessories"]?.content else { return }
      accessory = ids.first?.word ?? ""
      call("app.launch", [.init("name", .text("EADemo"))]) { [self] made in
        app = made["app"]?.word ?? ""
        plug()
      }
    }
  }

  // MARK: Demonstration

  private func plug() {
    rounds = 0
    call("accessory.plug", [.init("accessory", .text(accessory))]) { _ in }
  }

  private func connected(_ notice: JSON5Value) {
    guard case .array(let protocols)? = notice["accessory"]?["protocols"]?.content, let first = protocols.first,
      case .text(let name) = first.content
    else { return }
    call("app.open", [.init("app", .text(app)), .init("protocol", .text(name))]) { [self] opened in
      session = opened["session"]?.word ?? ""
      send([.init("text", .text("hello from the demonstration"))], count: 28)
    }
  }

  private func send(_ data: [JSON5Member], count: Int) {
    call("session.write", [.init("session", .text(session))] + data) { [self] _ in read(count) }
  }

  private func read(_ left: Int) {
    call("session.read", [.init("session", .text(session)), .init("wait", .text("10s"))]) { [self] answer in
      guard case .number(let count)? = answer["bytes"]?.content, let bytes = count.integer, bytes > 0 else {
        return failed("the accessory did not answer")
      }
      if Int(bytes) < left { return read(left - Int(bytes)) }
      rounds += 1
      loop.schedule(after: .seconds(1)) { [self] in
        if rounds > Self.exchanges { return unplug() }
        // EADemo sends the bytes 0 to 255 repeatedly; the page sends a line of printable characters instead.
        let line = String((0..<10_000).map { Character(Unicode.Scalar(UInt8(32 + $0 % 95))) })
        send([.init("text", .text(line))], count: 10_000)
      }
    }
  }

  private func unplug() {
    call("accessory.unplug", [.init("accessory", .text(accessory))]) { [self] _ in
      loop.schedule(after: Self.pause) { [self] in plug() }
    }
  }

  private func call(_ method: String, _ params: [JSON5Member], _ done: @escaping (JSON5Value) -> Void) {
    client.call(method, .object(params)) { [weak self, loop] result in
      // The step is deferred to a later turn of the loop, because the client is in the middle of a request.
      loop.schedule(after: .zero) {
        switch result {
        case .success(let answer): done(answer)
        // Users may press the page's buttons during the demonstration; if a step is then no longer possible, the
        // demonstration ends.
        case .failure(let error): self?.failed(error.message)
        }
      }
    }
  }
}

extension CommandRuntime {
  func serveDemo(_ profile: String, _ flicker: Quirk, _ shared: SharedOptions, _ console: Console) throws -> ExitCode {
    let server = ControlServer(ControlServer.Settings(shared, on: loop), on: loop)
    let token = SecretToken.make()
    let door = try HTTPDoor(server, host: "127.0.0.1", port: 0, token: token, on: loop)
    let demo = PageDemo(profile, flicker: flicker, on: server, loop) {
      console.err("easim: the demonstration stopped: \($0)")
    }
    demo.start()
    console.outPageAddress("http://\(door.address)/#\(token)")
    _ = run(until: { false })
    door.stop()
    server.stop()
    settle(until: { server.isQuiet })
    return .done
  }
}
