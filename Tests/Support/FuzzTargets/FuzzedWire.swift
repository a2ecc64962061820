import IAP2

/// The wire fuzzer's target: an accessory and a device that each receive bytes from an untrusted peer.
///
/// Raw bytes rarely get past a checksum, so the input is a program. Each step of the program begins with a byte that
/// determines what follows. Packets get correct checksums and, if the step requests it, the sequence numbers that the
/// peer expects.
public enum FuzzedWire {
  /// Feeds `bytes` to both roles. Traps if a peer breaks a rule.
  public static func play(_ bytes: [UInt8]) {
    var accessory = AccessoryPeer(identification: identification)
    play(bytes, to: &accessory) { peer, event in
      switch event {
      case .certificateRequested: peer.provideCertificate([1, 2, 3])
      case .challenged(let challenge): peer.provideResponse(challenge)
      case .sessionRequested(let id, _): peer.acceptSession(id, reportingStatus: id % 2 == 0)
      default: break
      }
    }
    var device = DevicePeer()
    play(bytes, to: &device) { peer, event in
      let now = Instant(nanoseconds: 0)
      switch event {
      case .certificateReceived: peer.challenge([4, 5, 6], now: now)
      case .responseReceived: peer.concludeAuthentication(accepted: true, now: now)
      case .ready: _ = peer.openSession(protocolNamed: "com.example.fuzz", now: now)
      default: break
      }
    }
  }

  private static let identification: Identification = {
    var it = Identification()
    it.protocols = [ExternalAccessoryProtocol(id: 0, name: "com.example.fuzz")]
    return it
  }()

  private static func play<Role: PeerRole>(
    _ program: [UInt8], to peer: inout Peer<Role>, answer: (inout Peer<Role>, PeerEvent) -> Void
  ) {
    var now = Instant(nanoseconds: 0)
    var rest = program[...]
    var acknowledged: UInt8 = 0
    var sequence: UInt8 = 0
    peer.core.start(now: now)
    settle(&peer, now, &acknowledged, answer)
    while let step = rest.popFirst() {
      let length = Int(rest.popFirst() ?? 0)
      let taken = Array(rest.prefix(length))
      rest = rest.dropFirst(length)
      switch step & 7 {
      case 0: peer.receive(taken.span.bytes, now: now)
      case 1: now = now + Milliseconds(Int64(length) * 100)
      case 2: feed(PacketWriter.detection, &peer, now)
      case 3:
        let parameters = LinkParameters(maximumPacketLength: UInt16(truncatingIfNeeded: 24 + length * 256)).encoded
        feed(packet([.syn, step & 8 == 0 ? [] : .ack], sequence, acknowledged, 0, parameters), &peer, now)
      case 4: feed(packet(ControlBits(rawValue: step & 0xF8), sequence, acknowledged, 0, taken), &peer, now)
      default:
        sequence &+= step & 0x80 == 0 ? 1 : step >> 3
        feed(packet(.ack, sequence, acknowledged, step & 7 == 5 ? 1 : 2, content(step, taken)), &peer, now)
      }
      if let due = peer.core.deadline, due <= now { peer.handleTimeout(now: now) }
      settle(&peer, now, &acknowledged, answer)
    }
    peer.stop("the program ends")
    settle(&peer, now, &acknowledged, answer)
    precondition(peer.core.deadline == nil, "a stopped peer waits for nothing")
  }

  /// Returns a control message if the step asks for one, or the raw bytes if it does not.
  private static func content(_ step: UInt8, _ bytes: [UInt8]) -> [UInt8] {
    guard step & 7 == 5, step & 8 == 0, bytes.count >= 2 else { return bytes }
    return ControlMessage(
      MessageID(rawValue: UInt16(bytes[0]) << 8 | UInt16(bytes[1])), body: Array(bytes.dropFirst(2))
    ).encoded
  }

  private static func packet(
    _ control: ControlBits, _ sequence: UInt8, _ acknowledgement: UInt8, _ session: UInt8, _ payload: [UInt8]
  ) -> [UInt8] {
    PacketWriter.packet(
      PacketHeader(
        control: control, sequence: sequence, acknowledgement: acknowledgement, session: session,
        payloadCount: payload.count), payload: payload)
  }

  private static func feed<Role: PeerRole>(_ bytes: [UInt8], _ peer: inout Peer<Role>, _ now: Instant) {
    peer.receive(bytes.span.bytes, now: now)
  }

  private static func settle<Role: PeerRole>(
    _ peer: inout Peer<Role>, _ now: Instant, _ acknowledged: inout UInt8,
    _ answer: (inout Peer<Role>, PeerEvent) -> Void
  ) {
    var inbox: [UInt8] = []
    for _ in 0..<1_000 {
      var bytes: [UInt8] = []
      let event = peer.core.nextEvent()
      if let event {
        answer(&peer, event)
        if case .sessionReadable(let id) = event {
          peer.core.takeInbox(id, &inbox)
          peer.core.consume(inbox.count, of: id)
          inbox.removeAll()
        }
      }
      let spoke = peer.core.nextTransmit(into: &bytes, now: now)
      if spoke, bytes.count > 6 { acknowledged = bytes[5] }
      if event == nil, !spoke { return }
    }
    preconditionFailure("the peer never falls silent")
  }
}
