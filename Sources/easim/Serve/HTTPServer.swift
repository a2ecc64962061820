import AccessoryControl
import AccessoryCore
import AccessoryPages
import CEasim
import Glibc
import LinuxIO

/// The control protocol over HTTP: `POST /rpc`, `GET /events`, `/healthz` and `/metrics`, using libmicrohttpd.
///
/// libmicrohttpd runs without threads of its own: the event loop watches the library's epoll descriptor. ``HTTPGate``
/// decides what a request is allowed to do, and the listener decides which users may connect. The size of bodies and
/// headers is limited, as is the number of connections and streams. A connection that has been silent for
/// ``Limits/silence`` is closed unless it is an event stream. If there are too many connections, ``HTTPPlaces`` decides
/// which one to close.
final class HTTPServer: DescriptorHandler {
  struct Limits {
    var connections = 1_200
    var streams = 1_024
    /// The longest pause allowed within a request, in seconds.
    var silence = 10
    /// The time limit for receiving all headers of a request. The same limit applies to the body.
    var arrival = Duration.seconds(30)
    /// How often to send a comment on a silent event stream to detect a client that is gone.
    var heartbeat = Duration.seconds(15)
    /// How many bytes are reserved for the headers of a connection.
    var memory = 32 * 1024
  }

  enum Trouble: Equatable {
    /// The given number of events was dropped because a client was not reading its event stream.
    case readerDropped(events: Int)
    case refused(reason: String, peer: String)
    case cannotAccept(String)
  }

  private(set) var address = ""
  let gate: HTTPGate
  private let server: ControlServer
  private var metrics: () -> String
  private let loop: any PollingLoop
  private let limits: Limits
  private let report: (Trouble) -> Void
  private var daemon: OpaquePointer?
  private var watch: (any DescriptorWatch)?
  private var timer: LoopTimer?
  private var listener: (any Listener)?
  private var places = HTTPPlaces<OpaquePointer>()
  private var lateness: LoopTimer?
  private var isRunDue = false
  private var exchanges: [UnsafeRawPointer: HTTPExchange] = [:]
  private(set) var streams = 0

  convenience init(
    metrics: @escaping () -> String, host: String, port: UInt16, _ options: TransportOptions, on loop: any PollingLoop
  ) throws {
    try self.init(
      ControlServer(ControlServer.Settings(), on: loop), host: host, port: port, options, token: nil, on: loop)
    self.metrics = metrics
  }

  /// Listens on a port of this machine; 0 means any free port. If there is no token, the server provides only metrics.
  init(
    _ server: ControlServer, host: String, port: UInt16, _ options: TransportOptions = TransportOptions(),
    token: String?, on loop: any PollingLoop, limits: Limits = Limits(), report: @escaping (Trouble) -> Void = { _ in }
  ) throws {
    (self.server, self.loop, self.limits, self.report) = (server, loop, limits, report)
    metrics = { [unowned server] in server.metrics }
    if let reason = cmicrohttpd_load() {
      throw UsageError(
        "the HTTP server needs a library: \(String(cString: reason)); on Debian: apt install libmicrohttpd12")
    }
    // `accept` is set later, because it needs the gate, and the gate needs to know the listener's port.
    var accept: (ListenerEvent) -> Void = { _ in }
    let listener = try Transports.listen(at: .tcp(host: host, port: port), on: loop, options: options) { accept($0) }
    guard case .tcp(_, let bound) = listener.address else { preconditionFailure("a TCP listener has a port") }
    gate = HTTPGate(host: host, port: bound, token: token)
    address = "\(host.contains(":") ? "[\(host)]" : host):\(bound)"
    self.listener = listener
    accept = { [weak self] in self?.handle($0) }
    guard
      let daemon = cmicrohttpd_start(
        HTTPServer.handle, HTTPServer.completed, HTTPServer.changed, Unmanaged.passUnretained(self).toOpaque(),
        UInt32(limits.connections), UInt32(limits.silence), limits.memory)
    else { throw UsageError("the HTTP server could not be started") }
    self.daemon = daemon
    watch = try loop.watch(cmicrohttpd_descriptor(daemon), for: .readable, self)
    timer = loop.makeTimer { [unowned self] in run() }
    lateness = loop.makeTimer { [unowned self] in endLateOnes() }
    beat()
  }

  deinit { stop() }

  func stop() {
    listener?.close()
    guard let daemon else { return }
    for exchange in exchanges.values { exchange.end() }
    MHD_run(daemon)
    watch?.cancel()
    for timer in [timer, heart, lateness] { timer?.cancel() }
    self.daemon = nil
    MHD_stop_daemon(daemon)
    exchanges = [:]
  }

  // MARK: Loop

  func descriptorReady(_ readiness: Readiness) { run() }

  private func run() {
    guard let daemon else { return }
    isRunDue = false
    MHD_run(daemon)
    // A request may have added events to an event stream.
    let milliseconds = isRunDue ? 0 : cmicrohttpd_timeout(daemon)
    if milliseconds >= 0 { timer?.arm(at: loop.now + .milliseconds(milliseconds)) } else { timer?.cancel() }
  }

  /// Runs libmicrohttpd on a later turn of the loop, because it may be executing a callback right now.
  fileprivate func runSoon() {
    guard !isRunDue else { return }
    isRunDue = true
    timer?.arm(at: loop.now)
  }

  private var heart: LoopTimer?

  private func beat() {
    heart = loop.schedule(after: limits.heartbeat) { [weak self] in
      guard let self else { return }
      for exchange in exchanges.values { exchange.beat() }
      runSoon()
      beat()
    }
  }

  // MARK: Connections

  private func handle(_ event: ListenerEvent) {
    switch event {
    case .accepted(let cable, _):
      guard let daemon, let socket = (cable.main as? DescriptorChannel)?.release() else { return }
      if places.count >= limits.connections { makeRoom() }
      _ = cmicrohttpd_add(daemon, socket)
      runSoon()
    case .refused(let peer, let reason): report(.refused(reason: reason, peer: "\(peer)"))
    case .cannotAccept(let error):
      makeRoom()
      report(.cannotAccept("\(error)"))
    case .ended(let error): report(.cannotAccept("\(error)"))
    }
  }

  private func makeRoom() {
    guard let daemon, let stranger = places.stranger else { return }
    Self.shutDown(stranger)
    // Makes libmicrohttpd notice that the connection has been closed.
    MHD_run(daemon)
  }

  private func endLateOnes() {
    let (late, next) = places.overdue(at: loop.now, limit: limits.arrival)
    for connection in late {
      places.leave(connection)
      Self.shutDown(connection)
    }
    if let next { lateness?.arm(at: next) }
    runSoon()
  }

  static func shutDown(_ connection: OpaquePointer) {
    let descriptor = cmicrohttpd_socket(connection)
    if descriptor >= 0 { shutdown(descriptor, Int32(SHUT_RDWR)) }
  }

  private static let changed: MHD_NotifyConnectionCallback = { context, connection, _, change in
    guard let context, let connection else { return }
    let http = Unmanaged<HTTPServer>.fromOpaque(context).takeUnretainedValue()
    if cmicrohttpd_has_begun(change) != 0 { http.wait(connection) } else { http.places.leave(connection) }
  }

  private func wait(_ connection: OpaquePointer) {
    guard daemon != nil else { return }
    places.wait(connection, at: loop.now)
    lateness?.arm(noLaterThan: loop.now + limits.arrival)
  }

  // MARK: Requests

  private static var yes: MHD_Result { cmicrohttpd_result(1) }
  private static var no: MHD_Result { cmicrohttpd_result(0) }

  private static let handle: MHD_AccessHandlerCallback = { context, connection, url, method, _, data, size, state in
    guard let context, let connection, let url, let method, let size, let state else { return HTTPServer.no }
    let http = Unmanaged<HTTPServer>.fromOpaque(context).takeUnretainedValue()
    return http.handle(connection, String(cString: url), String(cString: method), data, size, state)
  }

  private static let completed: MHD_RequestCompletedCallback = { context, _, state, _ in
    guard let context, let key = state?.pointee else { return }
    let http = Unmanaged<HTTPServer>.fromOpaque(context).takeUnretainedValue()
    guard let exchange = http.exchanges.removeValue(forKey: UnsafeRawPointer(key)) else { return }
    exchange.end()
    http.wait(exchange.connection)
  }

  private func handle(
    _ connection: OpaquePointer, _ url: String, _ method: String, _ data: UnsafePointer<CChar>?,
    _ size: UnsafeMutablePointer<Int>, _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>
  ) -> MHD_Result {
    guard let key = state.pointee else {
      let exchange = HTTPExchange(connection, began: loop.now)
      let key = Unmanaged.passUnretained(exchange).toOpaque()
      exchanges[UnsafeRawPointer(key)] = exchange
      state.pointee = key
      exchange.decision = gate.admit(method, url) { name in
        cmicrohttpd_header(connection, name).map { String(cString: $0) }
      }
      places.arrived(connection, isTrusted: gate.hasToken(exchange.decision))
      // Refuses an oversized body without reading it, because reading would take a long time.
      if exchange.decision == .failure(.tooLarge) { return refuse(connection, .tooLarge) }
      return Self.yes
    }
    guard let exchange = exchanges[UnsafeRawPointer(key)] else { return Self.no }
    if size.pointee > 0 {
      defer { size.pointee = 0 }
      if loop.now - exchange.began > limits.arrival { return Self.no }
      exchange.take(UnsafeRawBufferPointer(start: data, count: size.pointee))
      return Self.yes
    }
    switch exchange.decision {
    case .failure(let refusal): return refuse(connection, refusal)
    case .success(let route): return serve(route, url, connection, exchange)
    }
  }

  private func serve(
    _ route: HTTPGate.Route, _ path: String, _ connection: OpaquePointer, _ exchange: HTTPExchange
  ) -> MHD_Result {
    switch route {
    case .page: return answerPage(connection, path)
    case .health: return answer(connection, 200, "text/plain; charset=utf-8", "ok\n")
    case .metrics: return answer(connection, 200, "text/plain; version=0.0.4; charset=utf-8", metrics())
    case .events: return stream(connection, exchange)
    case .rpc: return call(connection, exchange)
    case .captures:
      guard let capture = server.capture(at: path) else { return refuse(connection, .unknownPath(path)) }
      return answer(connection, 200, capture.type, bytes: capture.bytes)
    }
  }

  private func refuse(_ connection: OpaquePointer, _ refusal: HTTPGate.Refusal) -> MHD_Result {
    answer(connection, refusal.status, "text/plain; charset=utf-8", "easim: \(refusal.sentence)\n")
  }

  private func answer(_ connection: OpaquePointer, _ status: UInt32, _ type: String, _ text: String) -> MHD_Result {
    answer(connection, status, type, bytes: Array(text.utf8))
  }

  /// Answers with a file of the live page. The files are built in, but during development `EASIM_PAGE` can name a
  /// folder to read them from. No token is needed, because the files are the same for every user and contain no
  /// secrets.
  private func answerPage(_ connection: OpaquePointer, _ path: String) -> MHD_Result {
    guard let file = PageFile.all[path] else { return Self.no }
    let bytes = getenv("EASIM_PAGE").flatMap { try? InputFile.read("\(String(cString: $0))/\(file.name)") }
    return answer(
      connection, 200, file.type, bytes: bytes ?? file.bytes, policy: PageFile.policy,
      [
        ("Referrer-Policy", "no-referrer"), ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
      ])
  }

  private func answer(
    _ connection: OpaquePointer, _ status: UInt32, _ type: String, bytes: [UInt8],
    policy: String = HTTPServer.strictest, _ headers: [(String, String)] = []
  ) -> MHD_Result {
    guard let response = bytes.withUnsafeBytes({ cmicrohttpd_response($0.baseAddress, $0.count) }) else {
      return Self.no
    }
    defer { MHD_destroy_response(response) }
    Self.addHeaders(response, type, policy, headers)
    return MHD_queue_response(connection, status, response)
  }

  private static let strictest = "default-src 'none'"

  private static func addHeaders(
    _ response: OpaquePointer, _ type: String, _ policy: String = strictest, _ headers: [(String, String)] = []
  ) {
    for (name, value) in [
      ("Content-Type", type), ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"),
      ("Content-Security-Policy", policy),
    ] + headers { MHD_add_response_header(response, name, value) }
  }

  // MARK: POST /rpc

  private func call(_ connection: OpaquePointer, _ exchange: HTTPExchange) -> MHD_Result {
    if let answer = exchange.answer {
      return self.answer(connection, answer.isEmpty ? 204 : 200, "application/json", answer)
    }
    guard exchange.client == nil else { return Self.yes }
    if exchange.isTooLarge { return refuse(connection, .tooLarge) }
    let client = server.makeClient(isTransient: true)
    exchange.client = client
    client.answer(exchange.body) { [weak self, weak exchange] answer in
      exchange?.answer = answer ?? ""
      guard exchange?.resume() ?? false else { return }
      self?.runSoon()
    }
    exchange.body = []
    if exchange.answer != nil { return call(connection, exchange) }
    exchange.suspend()
    return Self.yes
  }

  // MARK: GET /events

  private func stream(_ connection: OpaquePointer, _ exchange: HTTPExchange) -> MHD_Result {
    guard streams < limits.streams else {
      return answer(
        connection, 503, "text/plain; charset=utf-8",
        "easim: \(limits.streams) event streams are already open, which is the limit\n")
    }
    let client = server.makeClient(isTransient: true)
    client.observe()
    exchange.client = client
    exchange.isStream = true
    exchange.unsent.add(": events of easim\n\n")
    streams += 1
    exchange.onEnd = { [weak self, weak exchange] in
      guard let self, let exchange else { return }
      streams -= 1
      let dropped = exchange.unsent.droppedCount
      if dropped > 0 { report(.readerDropped(events: dropped)) }
    }
    client.news = { [weak self, weak exchange] news in
      guard let exchange, exchange.unsent.add(notification: news), exchange.resume() else { return }
      self?.runSoon()
    }
    guard
      let response = MHD_create_response_from_callback(
        UInt64.max, 16 * 1024, HTTPServer.read, Unmanaged.passUnretained(exchange).toOpaque(), nil)
    else { return Self.no }
    defer { MHD_destroy_response(response) }
    Self.addHeaders(response, "text/event-stream")
    return MHD_queue_response(connection, 200, response)
  }

  private static let read: MHD_ContentReaderCallback = { context, _, buffer, size in
    guard let context, let buffer else { return -1 }
    let exchange = Unmanaged<HTTPExchange>.fromOpaque(context).takeUnretainedValue()
    return exchange.fill(UnsafeMutableRawBufferPointer(start: buffer, count: size))
  }
}
