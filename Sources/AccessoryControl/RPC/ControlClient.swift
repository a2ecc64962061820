import AccessoryFormats

/// A client of the control protocol, which makes calls and receives results and notifications, either as lines or over
/// HTTP.
///
/// - Calls begin in order but may complete in a different order. A call that waits, such as `time.runUntil`, does not
///   delay other calls.
/// - Everything that a client has launched ends when ``close(_:)`` is called.
public final class ControlClient {
  static let mostWaiting = 1_000

  /// Called with each notification that the client receives, as a line.
  package var news: ((String) -> Void)?
  /// Called on a later turn of the loop when ``takesCalls`` may have become true.
  package var changed: (() -> Void)?
  /// Whether everything that the client launches outlives it, as for a single HTTP request.
  private(set) var isTransient: Bool
  /// Whether the client receives the notifications of all apps and sessions.
  private(set) var isObserver = false
  unowned let server: ControlServer
  /// Calls that cannot begin yet, because an earlier call is still reading a file.
  private var queue: [() -> Void] = []
  private var isReading = false
  private var waiting = 0
  /// The events that the client receives, or nil if it receives none.
  var subscription: ControlSubscription?
  /// Whether the client has connected to a ``ControlPort``, which also accepts connections for sessions' bytes.
  var cameByPort = false
  package private(set) var isClosed = false

  init(_ server: ControlServer, isTransient: Bool) {
    self.server = server
    self.isTransient = isTransient
  }

  /// Whether the client can make another call now.
  package var takesCalls: Bool { waiting < Self.mostWaiting && !isReading && !isClosed }

  package var isIdle: Bool { waiting == 0 && queue.isEmpty }

  /// Calls a method. `done` is called once with the result, unless the client ends first. If `id` is given, the client
  /// can cancel the call while it is waiting.
  package func call(
    _ method: String, _ params: JSON5Value, id: RPCID? = nil,
    _ done: @escaping (Result<JSON5Value, RPCError>) -> Void
  ) {
    guard !isClosed else { return }
    if isReading || !queue.isEmpty { return queue.append { [unowned self] in begin(method, params, id, done) } }
    begin(method, params, id, done)
  }

  private func begin(
    _ method: String, _ params: JSON5Value, _ id: RPCID?, _ done: @escaping (Result<JSON5Value, RPCError>) -> Void
  ) {
    var isWaiting = false
    let call = ControlCall(server, self, id) { [weak self] result in
      guard let self, !isClosed else { return }
      // Once a result is sent, its call no longer counts as waiting, so that the client can end.
      if isWaiting { waiting -= 1 }
      done(result)
      if isWaiting { server.later { [weak self] in self?.changed?() } }
    }
    attempt(method, params, call)
    if !call.isAnswered {
      isWaiting = true
      waiting += 1
    }
    server.settle()
  }

  private func attempt(_ method: String, _ params: JSON5Value, _ call: ControlCall) {
    let failure: RPCError?
    do {
      try ControlMethods.method(method).call(call, params)
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
      attempt(method, params, call)
      guard !isReading else { return }
      server.settle()
      server.later { [weak self] in
        guard let self else { return }
        while !isReading, !queue.isEmpty { queue.removeFirst()() }
        changed?()
      }
    }
  }

  // MARK: Notifications

  func notify(_ line: String) {
    if !isClosed { news?(line) }
  }

  /// Lets everything that the client launches from now on outlive the client, without notifying the client about it.
  func detach() { isTransient = true }

  /// Subscribes the client to all events in all worlds.
  package func observe() {
    isObserver = true
    subscription = ControlSubscription(others: .init())
  }

  /// Ends the client after its connection has ended. The apps that the client launched end as if the system had killed
  /// them.
  package func close(_ reason: String) {
    guard !isClosed else { return }
    isClosed = true
    (news, changed) = (nil, nil)
    server.clientEnded(self, reason)
  }
}

struct ControlSubscription {
  /// Selects the events that the client receives from a world. A property that is nil selects all events.
  struct Choice {
    var names: Set<String>?
    var accessories: Set<String>?

    func includes(_ notice: ControlNotice) -> Bool {
      guard names?.contains(notice.name) ?? true else { return false }
      return accessories.map { chosen in notice.accessory.map { chosen.contains($0) } ?? false } ?? true
    }
  }

  /// The selection for worlds that are not in ``worlds``, or nil if the client receives no events from them.
  var others: Choice?
  /// The selection for each world listed here, or nil if the client receives no events from that world.
  var worlds: [String: Choice?] = [:]

  func includes(_ notice: ControlNotice) -> Bool {
    (worlds[notice.world] ?? others)?.includes(notice) ?? false
  }
}
