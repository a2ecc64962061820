import AccessoryControl
import AccessoryCore
import AccessorySessions
import LinuxIO

/// The end of a cable that provides sessions for a pipe's streams: either the device or the accessory.
protocol PipeRole: AnyObject {
  func admit(_ relay: SessionRelay)
  /// Handles the end of a session. Returns true if the stream waits for another session.
  func ended(_ relay: SessionRelay, _ ending: SessionRelay.Ending) -> Bool
  /// What to do with a stream if its client disconnects.
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

  /// Ends all streams, and calls `done` once everything has been written.
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
  /// Returns the exit code and message for the end of a session that uses stdin and stdout.
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
