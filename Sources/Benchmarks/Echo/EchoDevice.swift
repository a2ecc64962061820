import AccessoryCore
import AccessorySessions
import IAP2

/// The device's end of a measurement: takes the accessory to ready, opens a session, and keeps bursts under way.
final class EchoDevice: ConnectionOwner, SessionHandler {
  private let connection: Connection<DevicePeer>
  private let burst: [UInt8]
  private let opensSession: Bool
  private var session: Session?
  private var allowed = 0
  private var inFlight = 0
  private var sent = 0
  private var received = 0
  /// Whether it can begin: its session is open, or the accessory is ready and no session is wanted.
  private(set) var isReady = false
  /// Why it cannot go on.
  private(set) var failure: String?

  /// A device that announces packets of up to `maximumPacket` bytes and sends bursts of `burst` bytes.
  init(maximumPacket: UInt16, burst: Int, opensSession: Bool = true, cable: Cable, on loop: any EventLoop) {
    var settings = DevicePeer.Settings()
    settings.link = LinkSettings(parameters: .echo(maximumPacket))
    connection = Connection(peer: DevicePeer(settings: settings), cable: cable, on: loop)
    self.opensSession = opensSession
    self.burst = (0..<burst).map { UInt8(truncatingIfNeeded: $0) }
  }

  func start() {
    connection.start(self)
  }

  /// Whether every burst came back.
  var isDone: Bool { received == allowed || failure != nil }

  /// How many packets it has sent and received.
  var packets: Int { connection.inspect { $0.counters.packetsSent + $0.counters.packetsReceived } }

  /// Sends `bursts` bursts, `inFlight` of them under way at a time.
  func drive(bursts: Int, inFlight: Int) {
    (sent, received, allowed) = (0, 0, bursts * burst.count)
    self.inFlight = inFlight
    guard let session else { return }
    send(session)
  }

  /// Closes the cable, which ends the other process.
  func close() {
    connection.close("measured")
  }

  private func send(_ session: Session) {
    let burst = burst
    let limit = min(allowed, (received / burst.count + inFlight) * burst.count)
    while sent < limit {
      let start = sent % burst.count
      let taken = session.write(burst.span.bytes.extracting(start..<burst.count))
      if taken == 0 { return }
      sent += taken
    }
  }

  // MARK: The session

  func sessionIsReadable(_ session: Session) {
    session.read { bytes in
      received += bytes.byteCount
      return bytes.byteCount
    }
    send(session)
  }

  func sessionIsWritable(_ session: Session) {
    send(session)
  }

  func session(_ session: Session, endedWith end: SessionEnd) {
    failure = "the session ended: \(end)"
  }

  // MARK: The connection

  func connectionTold(_ event: PeerEvent) {
    switch event {
    case .certificateReceived:
      connection.perform { $0.challenge([UInt8](repeating: 0x42, count: 32), now: $1) }
    case .responseReceived: connection.perform { $0.concludeAuthentication(accepted: true, now: $1) }
    case .ready:
      if opensSession { openSession() }
      isReady = true
    case .malformed(let what): failure = what
    case .linkDown(let end): failure = "the link went down: \(end)"
    default: break
    }
  }

  private func openSession() {
    do {
      let opened = try connection.openSession(EchoAccessory.protocolName)
      opened.handler = self
      session = opened
    } catch {
      failure = error.description
    }
  }

  func connectionSessionEnded(_ session: Session, _ end: SessionEnd) {}

  func connectionEnded(_ end: ChannelEnd) {
    failure = failure ?? end.description
  }
}
