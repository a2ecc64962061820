/// iAP2's reliable packet link, for either role: detection, synchronization, and numbered, acknowledged packets.
///
/// The wire shows these phases:
///
/// ```
///   accessory                                     device
///   detecting      FF 55 02 00 EE 10 ──────────▶  listening
///                  ◀────────── FF 55 02 00 EE 10
///   synchronizing  SYN ─────────────────────────▶
///                  ◀───────────────────── SYN+ACK  answering
///   established    ACK ─────────────────────────▶  established
///                  ◀──────── data, ACK, EAK ────▶
/// ```
///
/// The link's owner passes in complete packets (see ``PacketScanner``) and the current time. The link decides which
/// payloads to deliver and in which order, and when to send. The link knows sessions only by their numbers.
///
/// Invariants: each payload is delivered once and in order, or the link ends with a reason. The number of packets in
/// flight and their lengths never exceed the limits that the other end announced. An idle link has no deadline.
public struct Link: ~Copyable {
  /// The roles of the link's two ends.
  public enum Role: Hashable, Sendable {
    /// The MFi accessory, which starts detection and synchronization.
    case accessory
    /// The Apple device, which answers detection and synchronization and then sends first.
    case device
  }

  /// The phases of a link, as in the diagram above.
  public enum Phase: Equatable, Sendable {
    /// The link has not started, is asleep, or has given up.
    case stopped
    /// The accessory has sent the detection sequence `attempts` times, and will repeat it at `next`.
    case detecting(attempts: Int, next: Instant)
    /// The device is waiting for the detection sequence or a SYN.
    case listening
    /// The accessory has sent `offer` in a SYN, `attempts` times so far.
    case synchronizing(offer: LinkParameters, attempts: Int, next: Instant)
    /// The device has sent `answer` in reply to an `offer` with the sequence number `peerSequence`, `attempts` times so
    /// far.
    case answering(offer: LinkParameters, answer: LinkParameters, peerSequence: UInt8, attempts: Int, next: Instant)
    case established(LinkAgreement)
  }

  /// An action that the link's owner must take.
  public enum Reaction: Equatable, Sendable {
    case nothing
    /// Deliver the packet's payload to this session, then fetch further payloads with ``Link/takeSuccessor(now:)``.
    case deliver(session: UInt8)
    indirect case established(LinkAgreement)
    indirect case down(LinkEnd)
  }

  /// The packets without data that are waiting to be sent.
  struct Pending: OptionSet {
    let rawValue: UInt8
    static let detection = Pending(rawValue: 1)
    static let synchronization = Pending(rawValue: 2)
    static let acknowledgement = Pending(rawValue: 4)
    static let extendedAcknowledgement = Pending(rawValue: 8)
    static let reset = Pending(rawValue: 16)
    static let probeAnswers = Pending(rawValue: 32)
  }

  /// This end's role.
  public let role: Role
  /// The settings that the link was created with.
  public let settings: LinkSettings
  /// The current phase. Changing the phase also updates `terms`.
  public internal(set) var phase: Phase = .stopped {
    didSet { terms = Terms(phase, settings) }
  }
  /// The link's counters.
  public internal(set) var counters = LinkCounters()

  var sender = SendQueue()
  var receiver = ReceiveWindow()
  var pending: Pending = []
  /// The number of detection sequences that the device has not answered; each needs its own answer.
  var unansweredProbes = 0
  /// The sequence number of the SYN that established, or is establishing, this link.
  var synchronizationSequence: UInt8
  var peerSynchronizationSequence: UInt8 = 0
  /// How many more times the recovery values are exchanged before the link adopts the device's values.
  var settlingRoundsLeft = 0
  var isStalled = false
  /// The out-of-range values that were replaced in the other end's SYN, kept until the owner fetches them.
  var adjustments: [LinkParameters.ValueOutOfRange] = []
  /// The last refused SYN. Copies of that SYN are refused without another report.
  var refusedSynchronization: [UInt8]?
  /// A reusable buffer for packets without data, so that acknowledgements need no allocation.
  private var ownPacket: [UInt8] = []
  /// The values that are read for every packet, in a struct without arrays, which is cheap to read.
  private(set) var terms = Terms()

  /// Creates a link that has not started.
  public init(role: Role, settings: LinkSettings) {
    self.role = role
    self.settings = settings
    synchronizationSequence = settings.initialSequence
  }

  /// Starts the link: the accessory begins detection, and the device listens.
  public mutating func start(now: Instant) {
    precondition(phase == .stopped, "a link can be started only once, or again after it stopped")
    restart(now: now)
  }

  /// Whether data may be queued.
  public var isEstablished: Bool { terms.isUp }

  /// The maximum payload of one packet to the other end, or 0 while the link is down.
  public var maximumPayload: Int { terms.maximumPayload }

  // MARK: Sending

  /// Queues control bytes as one packet; `payload` must not exceed ``maximumPayload``.
  public mutating func send(_ payload: RawSpan, session: UInt8) {
    send(payload, after: .none, session: session)
  }

  /// Queues a control message as one packet if it fits, otherwise as several, because the control session is a byte
  /// stream in which length fields separate the messages.
  mutating func send(_ message: ControlMessage, session: UInt8) {
    if message.body.count + ControlMessage.headerSize <= terms.maximumPayload {
      send(message.body.span.bytes, after: .init(message.header, count: ControlMessage.headerSize), session: session)
      return
    }
    let bytes = message.encoded
    for start in stride(from: 0, to: bytes.count, by: terms.maximumPayload) {
      let end = min(start + terms.maximumPayload, bytes.count)
      send(bytes.span.bytes.extracting(start..<end), after: .none, session: session)
    }
  }

  private mutating func send(_ payload: RawSpan, after prefix: SendQueue.Prefix, session: UInt8) {
    precondition(terms.isUp, "nothing can be sent while the link is down")
    let taken = sender.append(
      session: session, owner: SendQueue.linkItself, prefix: prefix, bytes: payload,
      maximumPayload: terms.maximumPayload)
    precondition(taken == payload.byteCount, "a message must fit in one packet, but this one does not")
  }

  /// Queues as many of `bytes` as the External Accessory session's limit allows, and returns how many it queued.
  public mutating func send(_ bytes: RawSpan, externalAccessory id: UInt16, session: UInt8) -> Int {
    guard terms.isUp else { return 0 }
    let owner = SendQueue.Owner(id)
    let prefix = SendQueue.Prefix(UInt64(id), count: 2)
    let total = min(bytes.byteCount, settings.sessionSendBound - sender.balance(of: owner))
    var taken = 0
    while taken < total {
      taken += sender.append(
        session: session, owner: owner, prefix: prefix, bytes: bytes.extracting(taken..<total),
        maximumPayload: terms.maximumDataPayload)
    }
    return max(0, taken)
  }

  /// The number of bytes in control messages and files that are waiting to be sent or acknowledged.
  var unacknowledgedMessages: Int { sender.messageBytes }

  /// Returns how many of an External Accessory session's bytes are waiting to be sent or acknowledged.
  public func unacknowledged(externalAccessory id: UInt16) -> Int {
    sender.balance(of: SendQueue.Owner(id))
  }

  /// Passes the next run of complete packets to `body`, which sends or copies it. Returns false if there is nothing to
  /// send. A run consists of at least one packet, and ends once it has at least `limit` bytes. If the run wraps around
  /// the end of the buffer, `body` gets it in two spans; otherwise the second span is empty.
  public mutating func transmit(atMost limit: Int, now: Instant, _ body: (RawSpan, RawSpan) -> Void) -> Bool {
    if terms.isUp, sender.canTransmit(window: terms.sendWindow), pending.isDisjoint(with: [.synchronization, .reset]) {
      let run = sender.takeRun(
        atMost: limit, window: terms.sendWindow, acknowledgement: receiver.acknowledgement, now: now)
      sender.show(run, to: body)
      // On a link without acknowledgements, packets count as acknowledged once they are sent.
      if terms.isZeroAcknowledgement { sender.acknowledge(upTo: sender.lastSent) }
      if run.wraps { counters.sequenceWraps += 1 }
      receiver.settle()
      pending.remove(.acknowledgement)
      counters.packetsSent += run.packets
      noteStall()
      return true
    }
    if pending.isEmpty { return false }
    var packet: [UInt8] = []
    swap(&packet, &ownPacket)
    packet.removeAll(keepingCapacity: true)
    // Enough for a SYN, so that the memory does not grow for the packets before it.
    if packet.capacity < 48 { packet.reserveCapacity(48) }
    transmitPending(into: &packet)
    body(packet.span.bytes, packet.span.bytes.extracting(0..<0))
    swap(&packet, &ownPacket)
    return true
  }

  /// Lets the packets that are not acknowledged borrow their memory.
  mutating func borrow(from spares: SpareBuffers) { sender.borrow(from: spares) }

  /// Frees the memory of packets that were sent and acknowledged.
  mutating func releaseMemory() {
    sender.releaseMemory()
    ownPacket = []
  }

  private mutating func noteStall() {
    let stalled = sender.waiting > 0 && !sender.canTransmit(window: terms.sendWindow)
    if stalled, !isStalled { counters.windowStalls += 1 }
    isStalled = stalled
  }

  private mutating func transmitPending(into bytes: inout [UInt8]) {
    func take(_ one: Pending) -> Bool { pending.remove(one) != nil }
    if take(.reset) {
      counters.packetsSent += 1
      append(.rst, to: &bytes)
      return
    }
    if take(.detection) {
      bytes += PacketWriter.detection
      return
    }
    if pending.contains(.probeAnswers) {
      unansweredProbes -= 1
      if unansweredProbes == 0 { pending.remove(.probeAnswers) }
      bytes += settings.refusesDetection ? Self.legacyRefusal : PacketWriter.detection
      return
    }
    counters.packetsSent += 1
    if take(.synchronization) {
      appendSynchronization(to: &bytes)
    } else if take(.extendedAcknowledgement) {
      pending.remove(.acknowledgement)
      // Sequence numbers that do not fit go into the next list.
      let list = Array(
        receiver.extendedAcknowledgement(settings.extendedAcknowledgement).prefix(terms.maximumPayload))
      append(list.isEmpty ? .ack : [.eak, .ack], payload: list, to: &bytes)
      receiver.settle()
    } else if take(.acknowledgement) {
      counters.acknowledgementsSent += 1
      append(.ack, to: &bytes)
      receiver.settle()
    }
  }

  /// Appends a packet without data. Such a packet repeats the last sequence number instead of taking a new one.
  private func append(_ control: ControlBits, payload: [UInt8] = [], to bytes: inout [UInt8]) {
    let header = PacketHeader(
      control: control, sequence: sender.lastSent, acknowledgement: receiver.acknowledgement,
      payloadCount: payload.count)
    PacketWriter.append(header, payload: payload.span.bytes, to: &bytes)
  }

  private func appendSynchronization(to bytes: inout [UInt8]) {
    let parameters: LinkParameters
    var control: ControlBits = .syn
    var acknowledgement: UInt8 = 0
    switch phase {
    case .synchronizing(let offer, _, _):
      parameters = offer
      // After the first exchange of recovery values, the SYN also acknowledges the device's SYN+ACK.
      if settlingRoundsLeft < Self.settlingRounds {
        control = [.syn, .ack]
        acknowledgement = receiver.lastInOrder
      }
    case .answering(_, let answer, let peerSequence, _, _):
      parameters = answer
      control = [.syn, .ack]
      acknowledgement = peerSequence
    default: preconditionFailure("only a link that is synchronizing sends a SYN")
    }
    let payload = parameters.encoded
    let header = PacketHeader(
      control: control, sequence: synchronizationSequence, acknowledgement: acknowledgement,
      payloadCount: payload.count)
    PacketWriter.append(header, payload: payload.span.bytes, to: &bytes)
  }

  /// The iAP1 frame that an iAP1-only device sends to reject detection: the general lingo's acknowledgement of command
  /// EE with status 4 (bad parameter).
  private static let legacyRefusal: [UInt8] = [0xFF, 0x55, 0x04, 0x00, 0x02, 0x04, 0xEE, 0x08]
  static let settlingRounds = 4
}
