import AccessoryControl
import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import IAP2

/// The accessory's end of `easim pipe`, which connects each session that a device opens to the next stream. With a
/// listener, sessions wait for connections, and connections wait for sessions.
final class PipeAccessory: PipeRole {
  private static let mostSessions = 64

  weak var streams: PipeStreams?
  /// The exit code, or nil while the command is running.
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
