import AccessoryCore
import AccessoryLoad
import AccessorySessions
import IAP2

/// The device's end of a measurement. It connects to the accessory, opens a session, and keeps bursts in flight.
final class EchoDevice: ConnectionOwner, SessionHandler {
  private let connection: Connection<DeviceRole>
  private let burst: [UInt8]
  private let opensSession: Bool
  // Exclusivity is not checked, to keep the cost of measuring low.
  @exclusivity(unchecked) private var session: Session?
  @exclusivity(unchecked) private var allowed = 0
  @exclusivity(unchecked) private var inFlight = 0
  @exclusivity(unchecked) private var sent = 0
  @exclusivity(unchecked) private var received = 0
  @exclusivity(unchecked) private var isStream = false
  /// Whether the measurement can start: the session is open or, if no session is needed, the accessory is ready.
  private(set) var isReady = false
  /// Why the device cannot continue; nil if it can continue.
  @exclusivity(unchecked) private(set) var failure: String?
  /// Whether to record how long each burst takes. Use this only for bursts that are sent one at a time.
  var isTimed = false
  /// The durations of the last run's bursts, in nanoseconds.
  private(set) var times: [Int64] = []
  private var began = 0.0
  /// Compares the echoes; nil if they are not compared.
  @exclusivity(unchecked) private var verifier: ReplyVerifier?
  /// Called with the number of received bytes.
  var heard: (Int) -> Void = { _ in }

  /// Creates a device that announces packets of up to `maximumPacket` bytes and sends bursts of `burst` bytes.
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

  /// Makes the device compare every byte that comes back from now on.
  func compare() {
    var plan = BurstPlan()
    plan.payload = .bytes(burst)
    verifier = ReplyVerifier(plan)
  }

  /// Whether every burst has come back or, for a stream, whether all bytes have been acknowledged.
  var isDone: Bool {
    if failure != nil { return true }
    return isStream ? sent == allowed && session?.unacknowledged == 0 : received == allowed
  }

  /// How many packets the device has sent and received.
  var packets: Int { connection.inspect { $0.core.counters.packetsSent + $0.core.counters.packetsReceived } }

  /// Sends `bursts` bursts, with up to `inFlight` of them in flight.
  func drive(bursts: Int, inFlight: Int) {
    (sent, received, allowed, isStream) = (0, 0, bursts * burst.count, false)
    self.inFlight = inFlight
    times.removeAll(keepingCapacity: true)
    guard let session else { return }
    send(session)
  }

  /// Sends the given number of bytes, as fast as they are accepted, to an accessory that only reads.
  func stream(_ bytes: Int) {
    (sent, received, allowed, isStream) = (0, 0, bytes, true)
    guard let session else { return }
    send(session)
  }

  /// Closes the cable, which ends the other process.
  func close() {
    connection.close("measured")
  }

  private func send(_ session: Session) {
    let burst = burst
    let limit = isStream ? allowed : min(allowed, (received / burst.count + inFlight) * burst.count)
    if isTimed, sent % burst.count == 0 { noteTime() }
    while sent < limit {
      let start = sent % burst.count
      let taken = session.write(burst.span.bytes.extracting(start..<min(burst.count, start + limit - sent)))
      if taken == 0 { return }
      sent += taken
    }
  }

  /// Compares the bytes, burst by burst.
  private func verify(_ bytes: RawSpan, _ verifier: ReplyVerifier) {
    var done = 0
    while done < bytes.byteCount {
      let place = (received + done) % burst.count
      let part = bytes.extracting(done..<min(done + burst.count - place, bytes.byteCount))
      if let difference = verifier.difference(in: part, at: place) { failure = "an echo differs: \(difference)" }
      done += part.byteCount
    }
  }

  /// Records the time at which a burst begins, once the previous one has ended.
  private func noteTime() {
    guard received % burst.count == 0 else { return }
    let now = Stopwatch.now
    if received > 0 { times.append(Int64((now - began) * 1e9)) }
    began = now
  }

  // MARK: Session

  func sessionIsReadable(_ session: Session) {
    session.read { bytes in
      if let verifier { verify(bytes, verifier) }
      received += bytes.byteCount
      heard(bytes.byteCount)
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

  // MARK: Connection

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
