import AccessoryCore

/// One client of the control protocol: received bytes go in, lines to send come out. It does no I/O; a door carries its
/// bytes.
///
/// - Requests are answered in the order in which they are done. Those that wait (`time.runUntil`, `session.read` with a
///   wait) do not hold up others.
/// - While more than ``mostUnsent`` bytes of answers wait to be sent, no further request is handled: ``wantsToRead`` is false,
///   and the door stops reading. So a client that asks without reading stops itself, and nothing grows.
/// - Notifications that find no room are dropped and counted; a `dropped` with their number follows when there is room.
/// - What a client launched ends with it: ``close(_:)``.
public final class ControlClient {
  /// Beyond so many bytes of unsent lines no request is handled.
  public static let mostUnsent = 1 << 20
  /// Beyond so many bytes of unsent lines notifications are dropped.
  public static let mostUnsentWithNotices = 4 << 20
  /// The most requests that wait for something.
  static let mostWaiting = 1_000

  /// Called when there is something to send, or when ``wantsToRead`` has changed.
  public var changed: (() -> Void)?
  /// Whether what it launches lives on without it: one request by HTTP is no connection.
  private(set) var isTransient: Bool
  /// Whether it gets the news of all apps and sessions, too.
  private(set) var isObserver = false
  unowned let server: ControlServer
  private var cutter = RPCLineCutter()
  private var unsent = ByteQueue()
  private var isHandling = false
  /// Requests that were received; they are begun one after the other, because one may first read a file.
  private var queue: [() -> Void] = []
  private var isReading = false
  private var droppedNotices = 0
  /// How many notifications found no room and were not reported yet.
  public var droppedCount: Int { droppedNotices }
  private(set) var waiting = 0
  /// The worlds whose events it gets; nil for none.
  var subscription: ControlSubscription?
  /// Whether it is over.
  public private(set) var isClosed = false

  init(_ server: ControlServer, isTransient: Bool) {
    self.server = server
    self.isTransient = isTransient
  }

  // MARK: Bytes

  /// Whether further requests are handled now.
  public var wantsToRead: Bool {
    unsent.count <= Self.mostUnsent && waiting < Self.mostWaiting && !isReading && !isClosed
  }

  /// How many bytes wait to be sent.
  public var unsentCount: Int { unsent.count }

  /// Whether everything that was asked has been answered.
  public var isIdle: Bool { waiting == 0 && queue.isEmpty && cutter.count == 0 }

  /// Takes received bytes.
  public func receive(_ bytes: RawSpan) {
    guard !isClosed else { return }
    cutter.append(bytes)
    handleLines()
  }

  /// Gives what waits to be sent to `body`, which returns how many bytes it took.
  public func send(_ body: (RawSpan) -> Int) {
    let couldRead = wantsToRead
    _ = unsent.consume(body)
    if droppedNotices > 0, unsent.count <= Self.mostUnsent {
      var object = JSONObject()
      object.add("count", droppedNotices)
      droppedNotices = 0
      append(Self.notice("dropped", object.text))
    }
    // In a later turn, because this may be called while something else happens.
    if !couldRead { server.later { [weak self] in self?.handleLines() } }
  }

  private func handleLines() {
    // A request may end or be answered while another is handled; lines are handled one after the other.
    guard !isHandling else { return }
    isHandling = true
    defer { isHandling = false }
    lines: while wantsToRead {
      switch cutter.next() {
      case .none: break lines
      case .line(let line):
        if !line.allSatisfy({ $0 == 0x20 || $0 == 0x0D || $0 == 0x09 }) { handle(line) }
      case .tooLong:
        let error = RPCError(
          .parse, "the line is longer than \(RPCLine.longest) bytes",
          advice: "send less at once, or use a byte port: session.port")
        append(Self.response(.null, .failure(error)))
      }
    }
    changed?()
  }

  // MARK: Requests

  private func handle(_ line: [UInt8]) {
    switch RPCLine(line) {
    case .single(let request):
      queue.append { [unowned self] in
        perform(request) { [weak self] in if let answer = $0 { self?.append(answer) } }
      }
    case .batch(let requests):
      let batch = Batch(requests.count)
      for (index, request) in requests.enumerated() {
        queue.append { [unowned self] in
          perform(request) { [weak self] answer in
            if let whole = batch.take(answer, at: index) { self?.append(whole) }
          }
        }
      }
    }
    beginRequests()
  }

  private func beginRequests() {
    while !isReading, !queue.isEmpty { queue.removeFirst()() }
  }

  /// The answers of a batch, until all are there.
  private final class Batch {
    private var answers: [String?]
    private var missing: Int

    init(_ count: Int) {
      answers = Array(repeating: nil, count: count)
      missing = count
    }

    /// The line of all answers, when this was the last; nil also when none of the requests wants one.
    func take(_ answer: String?, at index: Int) -> String? {
      answers[index] = answer
      missing -= 1
      guard missing == 0 else { return nil }
      let all = answers.compactMap { $0?.dropLast() }
      return all.isEmpty ? nil : "[\(all.joined(separator: ","))]\n"
    }
  }

  private func perform(_ read: Result<RPCRequest, RPCFailure>, _ done: @escaping (String?) -> Void) {
    let request: RPCRequest
    switch read {
    case .failure(let failure): return done(Self.response(failure.id, .failure(failure.error)))
    case .success(let read): request = read
    }
    var isWaiting = false
    let call = ControlCall(server, self) { [weak self] result in
      if isWaiting { self?.waiting -= 1 }
      // Before the answer, so that its end is not held up by this request.
      done(request.id.map { Self.response($0, result) })
      if isWaiting { self?.server.later { [weak self] in self?.handleLines() } }
    }
    attempt(request, call)
    if !call.isAnswered {
      isWaiting = true
      waiting += 1
    }
    server.settle()
  }

  private func attempt(_ request: RPCRequest, _ call: ControlCall) {
    let failure: RPCError?
    do {
      try ControlMethods.method(request.method).call(call, request.params)
      failure = nil
    } catch let error as RPCError {
      failure = error
    } catch let error as SourceProblems {
      failure = RPCError(error)
    } catch {
      failure = RPCError(.server, "\(error)")
    }
    guard call.files.isMissing else {
      if let failure { call.answer(.failure(failure)) }
      return
    }
    isReading = true
    call.files.fetch(on: server.loop) { [weak self] in
      guard let self, !isClosed else { return }
      isReading = false
      attempt(request, call)
      guard !isReading else { return }
      server.settle()
      server.later { [weak self] in
        self?.beginRequests()
        self?.handleLines()
      }
    }
  }

  // MARK: Lines

  private static func response(_ id: RPCID, _ result: Result<String, RPCError>) -> String {
    switch result {
    case .success(let json): "{\"jsonrpc\":\"2.0\",\"id\":\(id.json),\"result\":\(json)}\n"
    case .failure(let error): "{\"jsonrpc\":\"2.0\",\"id\":\(id.json),\"error\":\(error.json)}\n"
    }
  }

  static func notice(_ method: String, _ params: String) -> String {
    "{\"jsonrpc\":\"2.0\",\"method\":\"\(method)\",\"params\":\(params)}\n"
  }

  private func append(_ line: String) {
    guard !isClosed else { return }
    unsent.append(contentsOf: line.utf8)
    if !isHandling { changed?() }
  }

  /// Sends a notification, or counts it when there is no room.
  func notify(_ method: String, _ params: @autoclosure () -> String) {
    guard unsent.count <= Self.mostUnsentWithNotices, droppedNotices == 0 else {
      droppedNotices += 1
      return
    }
    append(Self.notice(method, params()))
  }

  /// What it launches from now on lives on without it, and it gets no news of it.
  func detach() { isTransient = true }

  /// From now on it gets everything that happens in every world.
  public func observe() {
    isObserver = true
    subscription = ControlSubscription(worlds: nil)
  }

  /// The connection has ended: what it launched ends as if it had been killed.
  public func close(_ reason: String) {
    guard !isClosed else { return }
    isClosed = true
    changed = nil
    unsent.removeAll()
    server.clientEnded(self, reason)
  }
}

/// Which events a client gets.
struct ControlSubscription {
  /// The worlds; nil for all.
  var worlds: Set<String>?

  func includes(_ world: String) -> Bool { worlds?.contains(world) ?? true }
}
