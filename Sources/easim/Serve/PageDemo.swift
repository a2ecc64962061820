import AccessoryControl
import AccessoryCore
import AccessoryFormats
import AccessoryProfiles

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
  /// Called with the reason if the demonstration stops early.
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

  /// Adds the accessory and the app, and repeats the demonstration indefinitely.
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
