import AccessoryControl
import AccessoryCore
import Glibc
import LinuxIO
import TestSupport
import Testing

@testable import easim

@Suite(.waits, .serialized) struct HTTPServerTests {
  private final class Visitor: ChannelHandler {
    private(set) var received: [UInt8] = []
    private(set) var isOver = false
    private(set) var channel: (any Channel)?
    var reads = true
    private var outgoing: [UInt8]

    init(_ address: String, sending text: String, on loop: EpollLoop) throws {
      outgoing = Array(text.utf8)
      let place = try Address(parsing: "tcp:\(address)")
      Transports.connect(to: place, on: loop) { [weak self] result in
        guard let self, case .success(let answer) = result else { return }
        channel = answer.cable.main
        answer.cable.main.start(self)
        if !reads { answer.cable.main.pauseReading() }
        push()
      }
    }

    private func push() {
      guard let channel, !outgoing.isEmpty else { return }
      outgoing.removeFirst(channel.send(outgoing.span.bytes))
    }

    func send(_ text: String) {
      outgoing += Array(text.utf8)
      push()
    }

    var text: String { String(decoding: received, as: UTF8.self) }
    var status: String { String(text.dropFirst("HTTP/1.1 ".count).prefix(3)) }
    func close() { channel?.close() }

    func channel(_ channel: any Channel, received bytes: RawSpan) { bytes.withUnsafeBytes { received += $0 } }
    func channelIsWritable(_ channel: any Channel) { push() }
    func channel(_ channel: any Channel, endedWith end: ChannelEnd) { isOver = true }
  }

  private final class Site {
    let loop: EpollLoop
    let server: ControlServer
    let http: HTTPServer
    private(set) var troubles: [HTTPServer.Trouble] = []

    init(
      _ options: TransportOptions = TransportOptions(), _ change: (inout HTTPServer.Limits) -> Void = { _ in }
    ) throws {
      loop = try EpollLoop(seed: 7)
      server = ControlServer(ControlServer.Settings(), on: loop)
      var limits = HTTPServer.Limits()
      change(&limits)
      let box = Box()
      http = try HTTPServer(
        server, host: "127.0.0.1", port: 0, options, token: "secret", on: loop, limits: limits
      ) { box.site?.troubles.append($0) }
      box.site = self
    }

    private final class Box { weak var site: Site? }

    deinit {
      http.stop()
      server.stop()
    }

    func visit(_ text: String) throws -> Visitor { try Visitor(http.address, sending: text, on: loop) }

    func request(
      _ start: String, host: String? = nil, headers: String = "Authorization: Bearer secret\r\n", body: String = ""
    ) -> String {
      "\(start) HTTP/1.1\r\nHost: \(host ?? http.address)\r\nConnection: close\r\n\(headers)"
        + (body.isEmpty ? "" : "Content-Length: \(body.utf8.count)\r\n") + "\r\n" + body
    }

    func ask(_ text: String) throws -> Visitor {
      let visitor = try visit(text)
      wait { visitor.isOver }
      return visitor
    }

    func wait(_ condition: () -> Bool) {
      let holds = loop.run(until: condition, limit: .seconds(600))
      #expect(holds)
    }
  }

  private static func rpc(_ method: String, _ params: String = "{}") -> String {
    "{\"jsonrpc\":\"2.0\",\n\"id\":1,\"method\":\"\(method)\",\"params\":\(params)}"
  }

  @Test func withoutItsLibraryItSaysWhatToInstall() throws {
    let place = TemporaryFolder()
    _ = place.write("", to: "libmicrohttpd.so.12")
    let end = try Program.run(["serve"], environment: ["LD_LIBRARY_PATH": place.path])
    #expect(end.ending == .exit(2))
    #expect(end.err.contains("apt install libmicrohttpd12"), "\(end.err)")
  }

  @Test func aRequestThatWaitsIsAnsweredLater() throws {
    let site = try Site()
    let body = Self.rpc("time.runUntil", "{\"limit\":\"20ms\"}")
    #expect(try site.ask(site.request("POST /rpc", body: body)).text.contains("\"stopped\":\"limit\""))
  }

  @Test func withoutTokenOrWithAForeignHostOrOriginItIsRefused() throws {
    let site = try Site()
    let body = Self.rpc("world.list")
    #expect(try site.ask(site.request("POST /rpc", headers: "", body: body)).status == "401")
    #expect(try site.ask(site.request("POST /rpc", host: "evil.example", body: body)).status == "421")
    let origin = "Authorization: Bearer secret\r\nOrigin: http://evil.example\r\n"
    #expect(try site.ask(site.request("POST /rpc", headers: origin, body: body)).status == "403")
    #expect(try site.ask(site.request("GET /healthz", headers: "")).status == "200")
  }

  @Test func thePageIsServedWithItsPolicyAndWithoutTheToken() throws {
    let site = try Site()
    let page = try site.ask(site.request("GET /", headers: ""))
    #expect(page.status == "200")
    #expect(page.text.contains("Content-Security-Policy: default-src 'none'; script-src 'self'"))
    #expect(page.text.contains("<script type=\"module\" src=\"/main.js\">"))
    #expect(try site.ask(site.request("GET /main.js", headers: "")).text.contains("text/javascript"))
    #expect(try site.ask(site.request("GET /", host: "evil.example", headers: "")).status == "421")
    #expect(try site.ask(site.request("GET /main.swift", headers: "")).status == "404")
  }

  @Test func otherMachinesAreServedOnlyWhenThatIsAllowed() throws {
    let loop = try EpollLoop(seed: 7)
    let server = ControlServer(ControlServer.Settings(), on: loop)
    defer { server.stop() }
    #expect(throws: TransportError.remoteNotAllowed(.tcp(host: "0.0.0.0", port: 0))) {
      _ = try HTTPServer(server, host: "0.0.0.0", port: 0, token: "secret", on: loop)
    }
  }

  @Test func aBodyThatIsTooLargeIsRefused() throws {
    let site = try Site()
    let head =
      "POST /rpc HTTP/1.1\r\nHost: \(site.http.address)\r\nConnection: close\r\nAuthorization: Bearer secret\r\n"
    let declared = try site.visit(head + "Content-Length: 100000000\r\n\r\n")
    site.wait { !declared.text.isEmpty || declared.isOver }
    #expect(declared.status == "413" || declared.isOver)
    // The server does not know the length of a chunked body in advance.
    let chunk = "100000\r\n" + String(repeating: "x", count: 0x100000) + "\r\n"
    let chunked = try site.visit(
      head + "Transfer-Encoding: chunked\r\n\r\n" + String(repeating: chunk, count: 5) + "0\r\n\r\n")
    site.wait { chunked.isOver }
    #expect(chunked.status == "413" || chunked.text.isEmpty)
    // The server still serves other clients.
    #expect(try site.ask(site.request("GET /healthz")).status == "200")
  }

  @Test func headersThatAreTooLargeAreRefused() throws {
    let site = try Site()
    let headers = "X-Long: " + String(repeating: "x", count: 100_000) + "\r\n"
    let visitor = try site.visit(site.request("GET /healthz", headers: headers))
    site.wait { visitor.isOver || !visitor.text.isEmpty }
    #expect(visitor.text.isEmpty || visitor.status.hasPrefix("4"))
  }

  @Test func aRequestThatDoesNotArriveIsEnded() throws {
    let site = try Site { $0.silence = 1 }
    let visitor = try site.visit("POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12")
    site.wait { visitor.isOver }
  }

  /// Each header line arrives within the idle timeout, but the request is never completed.
  @Test func aRequestWhoseHeadersDribbleIsEnded() throws {
    let site = try Site { $0.arrival = .milliseconds(300) }
    for start in ["", site.request("GET /healthz", headers: "").replacing("Connection: close\r\n", with: "")] {
      let visitor = try site.visit(start + "GET /healthz HTTP/1.1\r\n")
      func dribble() {
        guard !visitor.isOver else { return }
        visitor.send("X: y\r\n")
        site.loop.schedule(after: .milliseconds(20)) { dribble() }
      }
      dribble()
      site.wait { visitor.isOver }
      #expect(visitor.status == (start.isEmpty ? "" : "200"))
    }
  }

  @Test func requestsWithTheTokenKeepTheirPlacesAndOthersMakeRoom() throws {
    let site = try Site { $0.connections = 20 }
    let reader = try site.visit(site.request("GET /events"))
    site.wait { !reader.text.isEmpty }
    let dribblers = try (0..<60).map { _ in try site.visit("GET /healthz HTTP/1.1\r\nX: ") }
    site.wait { dribblers.count(where: \.isOver) == 41 }
    #expect(try site.ask(site.request("POST /rpc", body: Self.rpc("world.list"))).status == "200")
    #expect(!reader.isOver)
  }

  @Test(.enabled(if: geteuid() == 0)) func anotherUserIsTurnedAwayUnlessAllowed() throws {
    for allowsOtherUsers in [false, true] {
      var options = TransportOptions()
      options.allowsOtherUsers = allowsOtherUsers
      let site = try Site(options)
      let visitor = try asUser(65_534) {
        let visitor = try site.visit(site.request("GET /healthz"))
        site.wait { visitor.channel != nil }
        return visitor
      }
      site.wait { visitor.isOver }
      #expect(visitor.status == (allowsOtherUsers ? "200" : ""))
      guard case .refused(let reason, _)? = site.troubles.first else {
        #expect(allowsOtherUsers)
        continue
      }
      #expect(reason.contains("user 65534"))
    }
  }

  @Test func eventsAreStreamed() throws {
    let site = try Site()
    let reader = try site.visit(site.request("GET /events"))
    site.wait { reader.text.contains("events of easim") }
    #expect(reader.text.contains("text/event-stream"))
    let add = Self.rpc("accessory.add", "{\"profile\":\"echo\"}")
    _ = try site.ask(site.request("POST /rpc", body: add))
    _ = try site.ask(site.request("POST /rpc", body: Self.rpc("accessory.plug", "{\"accessory\":\"a1\"}")))
    site.wait { reader.text.contains("\"event\":\"connect\"") }
    #expect(reader.text.contains("data: {\"jsonrpc\":\"2.0\",\"method\":\"event\""))
    let metrics = try site.ask(site.request("GET /metrics")).text
    #expect(metrics.contains("easim_accessory_attached{accessory=\"a1\",serial=\"EW1-0001\"} 1"))
    #expect(metrics.contains("easim_accessory_attachments_total{accessory=\"a1\",serial=\"EW1-0001\"} 1"))
    reader.close()
  }

  @Test func thePageAndCapturesAreServed() throws {
    let site = try Site()
    let page = try site.ask(site.request("GET /", headers: ""))
    #expect(page.status == "200" && page.text.contains("<h1>easim</h1>"))
    let start = Self.rpc("capture.start", "{\"form\":\"transcript\"}")
    _ = try site.ask(site.request("POST /rpc", body: start))
    _ = try site.ask(site.request("POST /rpc", body: Self.rpc("accessory.add", "{\"profile\":\"echo\"}")))
    _ = try site.ask(site.request("POST /rpc", body: Self.rpc("accessory.plug", "{\"accessory\":\"a1\"}")))
    site.wait { site.server.capture(at: "/captures/c1.txt")?.bytes.isEmpty == false }
    #expect(try site.ask(site.request("GET /captures/c1.txt")).text.contains(" A DETECT"))
    #expect(try site.ask(site.request("GET /captures/c1.txt", headers: "")).status == "401")
    #expect(try site.ask(site.request("GET /captures/c2.txt")).status == "404")
    #expect(try site.ask(site.request("GET /captures/../c1.txt")).status == "404")
  }

  @Test func idleEventStreamsAreLimitedAndDoNotHinderOthers() throws {
    let site = try Site { $0.streams = 100 }
    let readers = try (0..<101).map { _ in try site.visit(site.request("GET /events")) }
    site.wait { readers.allSatisfy { !$0.text.isEmpty } }
    #expect(readers.count { $0.status == "503" } == 1)
    #expect(try site.ask(site.request("GET /healthz")).status == "200")
    for reader in readers { reader.close() }
  }

  @Test func anEventReaderThatNeverReadsIsDroppedWithItsCount() throws {
    let site = try Site { $0.heartbeat = .milliseconds(50) }
    let reader = try site.visit(site.request("GET /events"))
    reader.reads = false
    site.wait { site.http.streams == 1 }
    let client = RPCLines(site.server.makeClient())
    var lines = ""
    for id in 1...2 {
      lines += "{\"jsonrpc\":\"2.0\",\"id\":\(id),\"method\":\"accessory.add\",\"params\":{\"profile\":\"echo\"}}\n"
    }
    client.receive(Array(lines.utf8).span.bytes)
    let plugs = ["plug", "unplug"].map {
      "{\"jsonrpc\":\"2.0\",\"method\":\"accessory.\($0)\",\"params\":{\"accessory\":\"a1\"}}\n"
    }.joined()
    let many = Array(String(repeating: plugs, count: 500).utf8)
    site.wait {
      client.receive(many.span.bytes)
      client.send { $0.byteCount }
      return !site.troubles.isEmpty
    }
    guard case .readerDropped(let events)? = site.troubles.first else { return }
    #expect(events > 0)
    #expect(site.http.streams == 0)
  }
}
