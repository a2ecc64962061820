extension Link {
  /// Handles a complete packet. If the packet's session cannot take the payload (`hasRoom` is false), the packet is
  /// treated as lost, so that the other end retransmits it.
  public mutating func handle(
    _ header: PacketHeader, payload: RawSpan, hasRoom: Bool = true, now: Instant
  ) -> Reaction {
    counters.packetsReceived += 1
    if header.control.contains(.syn) { return handleSynchronization(header, payload, now: now) }
    if header.control.contains(.rst) { return handleEnd(.reset, now: now) }
    if header.control.contains(.slp) { return handleEnd(.asleep, now: now) }
    guard terms.isUp else { return completeAnswer(header) }
    if header.control.contains(.ack), !terms.isZeroAcknowledgement, sender.inFlight > 0 {
      sender.acknowledge(upTo: header.acknowledgement)
    }
    if header.control.contains(.eak) {
      counters.hastened += sender.hasten(payload)
      return .nothing
    }
    // A header-only packet carries only an acknowledgement; its sequence number is not checked.
    guard payload.byteCount > 0 else { return .nothing }
    if terms.isZeroAcknowledgement {
      receiver.advanceSilently(to: header.sequence)
      return .deliver(session: header.session)
    }
    return judge(header, payload, hasRoom, now: now)
  }

  private mutating func judge(
    _ header: PacketHeader, _ payload: RawSpan, _ hasRoom: Bool, now: Instant
  ) -> Reaction {
    switch receiver.judge(header.sequence, window: terms.receiveWindow) {
    case .next:
      guard hasRoom else {
        counters.refused += 1
        return .nothing
      }
      advance(now: now)
      return .deliver(session: header.session)
    case .duplicate:
      counters.duplicates += 1
      if receiver.covers(header.sequence) { pending.insert(.acknowledgement) }
    case .ahead:
      counters.ahead += 1
      guard settings.keepsPacketsAheadOfGap, hasRoom else { break }
      if receiver.store(header.sequence, session: header.session, payload: payload),
        settings.extendedAcknowledgement != .never
      {
        pending.insert(.extendedAcknowledgement)
      }
    case .outside:
      counters.outside += 1
      if !receiver.isHolding { pending.insert(.acknowledgement) }
    }
    return .nothing
  }

  private mutating func advance(now: Instant) {
    receiver.advance(now: now, timeout: terms.acknowledgementTimeout, settings.acknowledgementTimer)
    if receiver.owed >= terms.cumulativeLimit, !receiver.isHolding { pending.insert(.acknowledgement) }
  }

  var keepsPackets: Bool { receiver.keepsPackets }

  /// Returns the session and payload of the next packet in order, if that packet has already arrived.
  public mutating func takeSuccessor(now: Instant) -> (session: UInt8, payload: [UInt8])? {
    guard terms.isUp, let session = receiver.successor, let payload = receiver.takeSuccessor() else { return nil }
    advance(now: now)
    return (session, payload)
  }

  /// Handles a packet with a wrong payload checksum. The packet is not acknowledged, so the other end retransmits it.
  public mutating func handleSpoiled() {
    counters.spoiled += 1
  }

  private mutating func handleEnd(_ end: LinkEnd, now: Instant) -> Reaction {
    // RST and SLP packets from an accessory are ignored, because only a device may send them.
    guard role == .accessory else { return .nothing }
    switch phase {
    case .synchronizing where end == .reset:
      // The device rejected this SYN, so the next SYN gets a new sequence number and is sent at the usual time.
      takeFreshSequence()
      settlingRoundsLeft = Self.settlingRounds
      pending.remove(.synchronization)
    case .synchronizing, .established:
      takeFreshSequence()
      stop()
      // After a reset, the accessory starts with a SYN, not with detection.
      if end == .reset { synchronize(settings.parameters, now: now) }
    case .stopped, .detecting, .listening, .answering:
      return .nothing
    }
    return .down(end)
  }

  // MARK: A session that is not being read

  /// Whether this end is withholding acknowledgements.
  public var isHoldingAcknowledgements: Bool { receiver.isHolding }

  /// Whether the link is established without acknowledgements.
  public var isZeroAcknowledgement: Bool { terms.isZeroAcknowledgement }

  /// Withholds acknowledgements because a session has reached its limit of unread bytes.
  public mutating func holdAcknowledgements() {
    counters.withholdings += 1
    if receiver.hold() { pending.insert(.acknowledgement) }
  }

  /// Resumes acknowledgements, and immediately sends one if any packet is unacknowledged.
  public mutating func releaseAcknowledgements() {
    if receiver.release() { pending.insert(.acknowledgement) }
  }

  /// How long the other end retransmits a packet before it gives up on the link.
  public var patience: Milliseconds {
    Milliseconds(terms.retransmissionTimeout.count * Int64(max(1, terms.retransmissionLimit)))
  }

  // MARK: Time

  /// The time at which to call ``handleTimeout(now:)``, or nil on an idle link.
  public var deadline: Instant? {
    guard terms.isUp else { return phaseDeadline }
    if terms.isZeroAcknowledgement { return nil }
    return Instant.earlier(
      sender.deadline(timeout: terms.retransmissionTimeout, settings.retransmission), receiver.deadline)
  }

  /// Handles all timeouts that have expired by `now`.
  public mutating func handleTimeout(now: Instant) -> Reaction {
    guard terms.isUp else { return handlePhaseTimeout(now: now) }
    if terms.isZeroAcknowledgement { return .nothing }
    if let due = receiver.deadline, due <= now {
      receiver.forgetDeadline()
      pending.insert(.acknowledgement)
    }
    switch sender.expire(
      now: now, timeout: terms.retransmissionTimeout, limit: terms.retransmissionLimit, settings.retransmission)
    {
    case .nothing: return .nothing
    case .resend(let count):
      counters.retransmissions += count
      return .nothing
    case .giveUp(let sequence):
      counters.giveUps += 1
      return fail(.unanswered(sequence: sequence, retransmissions: terms.retransmissionLimit), now: now)
    }
  }
}
