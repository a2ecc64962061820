import AccessoryControl
import AccessoryCore
import AccessoryFormats
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import IAP2
import LinuxIO

/// The end of a cable that provides sessions for a pipe's streams: either the device or the accessory.
protocol PipeRole: AnyObject {
  func admit(_ relay: SessionRelay)
  /// Handles the end of a session. Returns true if the stream waits for another session.
  func ended(_ relay: SessionRelay, _ ending: SessionRelay.Ending) -> Bool
  var whenClientLeaves: SessionRelay.WhenReaderLeaves { get }
  /// The streams, which set this property themselves.
  var streams: PipeStreams? { get set }
}

/// The streams of a pipe: either stdin and stdout, or the connections to a listener.
final class PipeStreams {
  private static let mostConnections = 256

  private let loop: any PollingLoop
  private let linger: Duration
  private let log: (String) -> Void
  private unowned let role: any PipeRole
  private var listener: (any Listener)?
  private var relays: [SessionRelay] = []
  private var refusals: ReportLimit?
  private var whenEmpty: (() -> Void)?

  /// Creates the streams, which must not outlive `role`.
  init(_ options: PipeOptions, on loop: any PollingLoop, _ console: Console, to role: any PipeRole) throws {
    (self.loop, self.role, linger) = (loop, role, options.linger)
    log = { console.err("easim: \($0)") }
    role.streams = self
    guard let address = options.listen else {
      add(try DescriptorStream.standard(on: loop), whenReaderLeaves: .close)
      return
    }
    refusals = ReportLimit("warnings about connections", on: loop) { console.err("easim: \($0)") }
    listener = try Transports.listen(at: address, on: loop, options: options.shared.transport) { [unowned self] in
      handle($0)
    }
    console.out("\(listener?.address ?? address)")
  }

  var progress: String {
    let counts = relays.reduce(into: (0, 0)) { $0 = ($0.0 + $1.counts.sent, $0.1 + $1.counts.received) }
    return "\(counts.0.counted("byte")) sent, \(counts.1) received"
  }

  private func handle(_ event: ListenerEvent) {
    switch event {
    case .accepted(let cable, let peer):
      guard relays.count < Self.mostConnections else {
        refusals?.report("refused \(peer): there are already \(Self.mostConnections) connections, which is the limit")
        return cable.main.close()
      }
      guard let socket = (cable.main as? DescriptorChannel)?.release() else { return cable.main.close() }
      do {
        add(try DescriptorStream(takingSocket: socket, on: loop), whenReaderLeaves: role.whenClientLeaves)
      } catch {
        refusals?.report("\(peer): \(error)")
      }
    case .refused(let peer, let reason): refusals?.report("refused \(peer): \(reason)")
    case .cannotAccept(let error): refusals?.report("\(error)")
    case .ended(let error): refusals?.report("\(error)")
    }
  }

  private func add(_ stream: DescriptorStream, whenReaderLeaves: SessionRelay.WhenReaderLeaves) {
    let relay = SessionRelay(stream, linger: linger, whenReaderLeaves: whenReaderLeaves, on: loop) {
      [weak self] relay, ending in
      guard let self, !role.ended(relay, ending), listener != nil else { return }
      remove(relay)
    }
    relays.append(relay)
    role.admit(relay)
  }

  func remove(_ relay: SessionRelay) {
    relay.finish { [weak self] in
      guard let self else { return }
      relays.removeAll { $0 === relay }
      if relays.isEmpty { whenEmpty?() }
    }
  }

  /// Closes all sessions, so that the peer is notified before the cable is unplugged.
  func closeSessions() {
    listener?.close()
    for relay in relays { relay.close() }
  }

  func finish(_ done: @escaping () -> Void) {
    if relays.isEmpty { return done() }
    whenEmpty = done
    for relay in relays { remove(relay) }
  }

  func abandon() {
    for relay in relays { relay.finish() }
    relays = []
  }
}

extension SessionRelay.Ending {
  /// True if the cable was unplugged, or false if only the session was closed.
  var isGone: Bool {
    if case .session(let end) = self { end.isGone } else { false }
  }
}

extension SessionRelay {
  func verdict(_ ending: Ending, otherEnd: String) -> (code: ExitCode, text: String?) {
    let missing = counts.lost + unsent
    let loss = missing == 0 ? "" : "; \(missing.counted("byte was", "bytes were")) not acknowledged"
    switch ending {
    case .inputEnded, .readerLeft: return (.done, nil)
    case .failed(let reason): return (.usage, reason)
    case .session(.closedByAccessory), .session(.closedByDevice):
      return missing == 0 ? (.done, nil) : (.checkFailed, "\(otherEnd) closed the session\(loss)")
    case .session(.channelEnded), .session(.linkDown): return (.gone, "\(otherEnd) disconnected\(loss)")
    case .session(let end): return (.checkFailed, "the session ended: \(end)\(loss)")
    }
  }
}

/// The app inside `easim pipe`, which opens a session for each stream as soon as the accessory offers the protocol.
final class PipeHost: AppHandler, PipeRole {
  weak var streams: PipeStreams?
  private(set) var verdict: ExitCode?
  /// Keeps a waiting stream whose client disconnects, because the client may already have sent all its bytes.
  let whenClientLeaves = SessionRelay.WhenReaderLeaves.finishInput(whileWaiting: true)

  private let options: PipeOptions
  private let loop: any EventLoop
  private let log: (String) -> Void
  private var isListening: Bool { options.listen != nil }
  /// The accessory and protocol for new sessions, or nil while no session can be opened.
  private var target: (accessory: PublishedAccessory, protocolName: String)?
  private weak var app: AppView?
  private var sawAccessory = false
  private var hadSession = false
  private var waiting: [(relay: SessionRelay, timer: LoopTimer)] = []

  init(_ options: PipeOptions, on loop: any EventLoop, log: @escaping (String) -> Void) {
    (self.options, self.loop, self.log) = (options, loop, log)
  }

  // MARK: Streams

  func admit(_ relay: SessionRelay) {
    let timer = loop.schedule(after: options.shared.timeout) { [unowned self, unowned relay] in timeIsOver(for: relay) }
    waiting.append((relay, timer))
    openSessions()
  }

  func ended(_ relay: SessionRelay, _ ending: SessionRelay.Ending) -> Bool {
    forget(relay)
    // The next session must wait until the accessory has reconnected, even if the disconnection has not been reported
    // yet.
    if ending.isGone { target = nil }
    let (code, text) = relay.verdict(ending, otherEnd: "the accessory")
    if ending.isGone, options.reconnects {
      log("\(text ?? "the accessory disconnected"); waiting for it")
      admit(relay)
      return true
    }
    if isListening {
      if let text { log("a connection ended: \(text)") }
    } else {
      end(code, text)
    }
    return false
  }

  private func forget(_ relay: SessionRelay) {
    for entry in waiting where entry.relay === relay { entry.timer.cancel() }
    waiting.removeAll { $0.relay === relay }
  }

  private func timeIsOver(for relay: SessionRelay) {
    forget(relay)
    let reason =
      switch (sawAccessory, hadSession) {
      case (false, _): "no accessory connected"
      case (true, true): "the accessory did not come back with a protocol for a session"
      case (true, false): "the accessory offered no protocol for a session"
      }
    if isListening {
      log("a connection ended: \(reason) within \(DurationText.format(options.shared.timeout))")
      streams?.remove(relay)
      return
    }
    if relay.counts.sent + relay.counts.received > 0 {
      end(.gone, "the accessory did not come back within \(DurationText.format(options.shared.timeout))")
    } else if sawAccessory {
      end(.timedOut, "timed out after \(DurationText.format(options.shared.timeout)); \(reason)")
    } else {
      end(.unreachable, nil)
    }
  }

  private func end(_ code: ExitCode, _ text: String?) {
    guard verdict == nil else { return }
    verdict = code
    if let text { log(text) }
  }

  // MARK: Accessory

  func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    sawAccessory = true
    self.app = app
    // Some accessories connect twice, and offer no protocols the first time.
    guard !accessory.protocols.isEmpty, target == nil else { return }
    do {
      target = (accessory, try ProtocolChoice.choose(options.shared.protocolName, among: accessory.protocols))
      openSessions()
    } catch {
      end(.usage, error.description)
    }
  }

  func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {
    if target?.accessory.connectionID == accessory.connectionID { target = nil }
  }

  private func openSessions() {
    while let (accessory, protocolName) = target, let app, let next = waiting.first {
      forget(next.relay)
      do {
        next.relay.attach(try app.openSession(with: accessory, protocolName: protocolName))
        hadSession = true
      } catch {
        if isListening {
          log("a connection ended: \(error)")
          streams?.remove(next.relay)
        } else {
          end(.checkFailed, error.description)
        }
      }
    }
  }
}

/// The accessory's end of `easim pipe`, which connects each session that a device opens to the next stream. With a
/// listener, sessions wait for connections, and connections wait for sessions.
final class PipeAccessory: PipeRole {
  private static let mostSessions = 64

  weak var streams: PipeStreams?
  private(set) var verdict: ExitCode?
  /// Ends a waiting stream whose client disconnects, because the stream would otherwise take up the next session.
  let whenClientLeaves = SessionRelay.WhenReaderLeaves.finishInput(whileWaiting: false)
  /// The protocol whose sessions are connected to streams, or nil for all protocols.
  let protocolName: String?

  private let loop: any EventLoop
  private let log: (String) -> Void
  private let isListening: Bool
  private let reconnects: Bool
  private var relays: [SessionRelay] = []
  private var sessions: [Session] = []

  init(_ options: PipeOptions, on loop: any EventLoop, log: @escaping (String) -> Void) {
    protocolName = options.shared.protocolName
    isListening = options.listen != nil
    reconnects = options.reconnects
    (self.loop, self.log) = (loop, log)
  }

  func admit(_ relay: SessionRelay) {
    relays.append(relay)
    connect()
  }

  func ended(_ relay: SessionRelay, _ ending: SessionRelay.Ending) -> Bool {
    relays.removeAll { $0 === relay }
    let (code, text) = relay.verdict(ending, otherEnd: "the device")
    if case .session = ending, reconnects, !relay.inputIsOver {
      if let text { log("\(text); waiting for the next session") }
      relays.append(relay)
      connect()
      return true
    }
    if isListening {
      if let text { log("a connection ended: \(text)") }
    } else if verdict == nil {
      verdict = code
      if let text { log(text) }
    }
    return false
  }

  func take(_ session: Session, in context: BehaviorContext) -> any SessionHandler {
    if let relay = relays.first {
      relays.removeFirst()
      relay.attach(session)
      return relay
    }
    guard isListening, sessions.count < Self.mostSessions else {
      context.warn(
        isListening
          ? "\(sessions.count) sessions are already waiting for a connection, which is the limit"
          : "stdin and stdout are already used by a session, so this one is closed")
      context.loop.schedule(after: .zero) { session.close("nothing to connect the session to") }
      return Discarder()
    }
    sessions.append(session)
    return WaitingSession(self)
  }

  private func connect() {
    while let relay = relays.first, let session = sessions.first {
      relays.removeFirst()
      sessions.removeFirst()
      relay.attach(session)
    }
  }

  /// Reads nothing from the session, so that the device has to wait.
  private final class WaitingSession: SessionHandler {
    private unowned let owner: PipeAccessory

    init(_ owner: PipeAccessory) { self.owner = owner }

    func sessionIsReadable(_ session: Session) {}
    func sessionIsWritable(_ session: Session) {}
    func session(_ session: Session, endedWith end: SessionEnd) { owner.sessions.removeAll { $0 === session } }
  }
}

/// Passes sessions of the chosen protocol to the pipe. The profile's behavior handles all other sessions.
struct PipeBehavior: AccessoryBehavior {
  private let pipe: PipeAccessory
  private let other: any AccessoryBehavior

  init(_ pipe: PipeAccessory, otherwise behavior: Behavior) {
    self.pipe = pipe
    other = BuiltInBehaviors.behavior(behavior)
  }

  func makeHandler(for session: Session, in context: BehaviorContext) -> any SessionHandler {
    if let wanted = pipe.protocolName, wanted != session.protocolName {
      return other.makeHandler(for: session, in: context)
    }
    return pipe.take(session, in: context)
  }
}
