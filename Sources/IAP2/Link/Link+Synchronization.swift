extension Link {
  /// Handles the detection sequence.
  public mutating func handleDetection(now: Instant) -> Reaction {
    switch (role, phase) {
    case (.accessory, .detecting):
      synchronize(settings.parameters, now: now)
    case (.accessory, .established):
      // The device restarted without disconnecting the cable.
      return fail(.restarted, now: now)
    case (.device, .stopped), (.accessory, _):
      break
    case (.device, .established), (.device, .answering):
      // A device resets an established link when it receives the detection sequence.
      let reaction = fail(.restarted, now: now)
      answerProbe()
      return reaction
    case (.device, _):
      answerProbe()
    }
    return .nothing
  }

  private mutating func answerProbe() {
    unansweredProbes += 1
    pending.insert(.probeAnswers)
  }

  /// Handles an iAP1 frame. During detection, an iAP1 frame can tell the accessory that the device supports only iAP1.
  /// Any other iAP1 frame is ignored, because damaged bytes can look like one.
  public mutating func handleLegacy(_ frame: RawSpan) -> Reaction {
    let frame = frame.withUnsafeBytes { [UInt8]($0) }
    guard role == .accessory, case .detecting = phase, Self.isLegacyAnswer(frame) else { return .nothing }
    stop()
    return .down(.legacyDevice(frame: frame))
  }

  /// Returns true if the frame is an iAP1-only device's answer to detection. Both possible answers belong to the
  /// general lingo, namely RequestIdentify and an acknowledgement of command EE with any status.
  private static func isLegacyAnswer(_ frame: [UInt8]) -> Bool {
    switch frame.count {
    case 6: frame[3] == 0x00 && frame[4] == 0x00
    case 8: frame[3] == 0x00 && frame[4] == 0x02 && frame[6] == 0xEE
    default: false
    }
  }

  /// Ends the link with a reset, which only a device may send.
  public mutating func reset(now: Instant) {
    precondition(role == .device, "only the device sends a reset")
    guard phase != .stopped else { return }
    _ = fail(.reset, now: now)
    pending.insert(.reset)
  }

  /// Stops without sending anything, because the cable is disconnected. Unacknowledged packets are dropped; the
  /// sequence numbers are kept, because a later reset needs them.
  public mutating func stop() {
    phase = .stopped
    pending = []
    unansweredProbes = 0
    sender.restart(after: sender.lastSent)
    receiver.restart(after: receiver.lastInOrder)
  }

  mutating func restart(now: Instant) {
    stop()
    switch role {
    case .accessory: detect(attempts: 0, now: now)
    case .device: phase = .listening
    }
  }

  private mutating func detect(attempts: Int, now: Instant) {
    phase = .detecting(attempts: attempts + 1, next: now + settings.detectionPeriod)
    pending.insert(.detection)
  }

  /// Starts the accessory's synchronization with a new sequence number.
  mutating func synchronize(_ offer: LinkParameters, now: Instant) {
    settlingRoundsLeft = Self.settlingRounds
    phase = .synchronizing(offer: settings.offer(offer), attempts: 1, next: now + settings.synchronizationPeriod)
    pending.insert(.synchronization)
  }

  mutating func handleSynchronization(_ header: PacketHeader, _ payload: RawSpan, now: Instant) -> Reaction {
    var parameters: LinkParameters
    let adjusted: [LinkParameters.ValueOutOfRange]
    do throws(LinkParametersError) {
      parameters = try LinkParameters(reading: payload)
      // A SYN with ACK carries the device's answer, not an accessory's offer.
      adjusted = parameters.valuesOutOfRange(isOffer: role == .device && !header.control.contains(.ack))
    } catch {
      return refuse(error, now: now)
    }
    parameters = parameters.replacing(adjusted)
    if role == .device { return answer(parameters, header, adjusted, now: now) }
    return handleAnswer(parameters, header, payload, adjusted, now: now)
  }

  /// Handles an unusable SYN. The accessory waits for one period before it tries again; otherwise, two ends that
  /// disagree would repeat this exchange as fast as the wire allows.
  private mutating func refuse(_ error: LinkParametersError, now: Instant) -> Reaction {
    let isRepetition = refusedSynchronization == error.bytes && !terms.isUp
    switch (role, phase) {
    case (.device, .listening), (.device, .answering), (.device, .established):
      let reaction = fail(.unusable(error), now: now)
      refusedSynchronization = error.bytes
      return isRepetition ? .nothing : reaction
    case (.accessory, .synchronizing):
      let reaction = fail(.unusable(error), now: now)
      refusedSynchronization = error.bytes
      phase = .detecting(attempts: 0, next: now + settings.detectionPeriod)
      pending.remove(.detection)
      return isRepetition ? .nothing : reaction
    default:
      // The link is already established, so this packet is late or forged.
      return .nothing
    }
  }

  // MARK: The device's side

  private mutating func answer(
    _ offer: LinkParameters, _ header: PacketHeader, _ adjusted: [LinkParameters.ValueOutOfRange], now: Instant
  ) -> Reaction {
    var ended: Reaction = .nothing
    switch phase {
    case .stopped, .detecting, .synchronizing:
      return .nothing
    case .listening:
      break
    case .answering(let known, let answer, let sequence, let attempts, _):
      if header.sequence == sequence, known == offer {
        // The same SYN arrived again, so the answer was lost. The repeated SYN counts as an attempt, because answering
        // it restarts this end's own retransmission timer.
        if attempts >= settings.synchronizationLimit { return fail(.unsynchronized(attempts: attempts), now: now) }
        self.answer(known, with: answer, sequence, attempts: attempts + 1, now: now)
        return .nothing
      }
      takeFreshSequence()
    case .established:
      // No data has arrived since the link was established, so this SYN is a late copy of the SYN that established the
      // link, and the other end already has the answer.
      if header.sequence == receiver.lastInOrder { return .nothing }
      ended = .down(.restarted)
      takeFreshSequence()
    }
    adjustments = adjusted
    let own = settings.parameters
    var answer = settings.deviceAnswer == .echo ? own.adoptingRecovery(of: offer) : own
    if offer.isZeroAcknowledgement { answer = own.withoutAcknowledgements }
    answer.sessions = offer.sessions
    if let allowance = settings.allowance(timeout: Milliseconds(Int64(answer.retransmissionTimeout))) {
      answer = allowance.limiting(answer)
    }
    stop()
    self.answer(offer, with: answer, header.sequence, attempts: 1, now: now)
    return ended
  }

  private mutating func answer(
    _ offer: LinkParameters, with answer: LinkParameters, _ peerSequence: UInt8, attempts: Int, now: Instant
  ) {
    phase = .answering(
      offer: offer, answer: answer, peerSequence: peerSequence, attempts: attempts,
      next: now + settings.synchronizationPeriod)
    pending.insert(.synchronization)
  }

  /// In the `answering` phase, establishes the link if the packet acknowledges this end's SYN+ACK.
  mutating func completeAnswer(_ header: PacketHeader) -> Reaction {
    guard case .answering(let offer, let answer, let peerSequence, _, _) = phase,
      header.control.contains(.ack), header.acknowledgement == synchronizationSequence
    else { return .nothing }
    // By acknowledging the device's answer, the accessory accepts it, including the recovery values.
    return establish(LinkAgreement(ours: answer, theirs: offer.adoptingRecovery(of: answer)), peerSequence)
  }

  // MARK: The accessory's side

  private mutating func handleAnswer(
    _ answer: LinkParameters, _ header: PacketHeader, _ payload: RawSpan,
    _ adjusted: [LinkParameters.ValueOutOfRange], now: Instant
  ) -> Reaction {
    if case .established = phase {
      guard header.control.contains(.ack), header.acknowledgement == synchronizationSequence else { return .nothing }
      // The device answered a late copy of this accessory's SYN as if it were new, so the device has lost its state for
      // this link.
      if header.sequence != peerSynchronizationSequence { return fail(.restarted, now: now) }
      // This end's acknowledgement of the SYN+ACK was lost.
      pending.insert(.acknowledgement)
      return .nothing
    }
    guard case .synchronizing(let offer, _, _) = phase, header.control.contains(.ack),
      header.acknowledgement == synchronizationSequence
    else { return .nothing }
    if let control = offer.controlSession, answer.controlSession != control {
      return refuse(.init(.otherControlSession(offered: control), in: payload), now: now)
    }
    if offer.isZeroAcknowledgement, !answer.isZeroAcknowledgement, let fallback = settings.fallbackParameters,
      !fallback.isZeroAcknowledgement
    {
      synchronizationSequence &+= 1
      synchronize(fallback, now: now)
      return .nothing
    }
    if settings.settling == .offerAgain, !offer.agreesOnRecovery(with: answer), settlingRoundsLeft > 0 {
      synchronizationSequence &+= 1
      receiver.restart(after: header.sequence)
      settlingRoundsLeft -= 1
      phase = .synchronizing(
        offer: offer.adoptingRecovery(of: answer), attempts: 1, next: now + settings.synchronizationPeriod)
      pending.insert(.synchronization)
      return .nothing
    }
    adjustments = adjusted
    let reaction = establish(LinkAgreement(ours: offer, theirs: answer), header.sequence)
    pending.insert(.acknowledgement)
    return reaction
  }

  // MARK: Both

  private mutating func establish(_ agreement: LinkAgreement, _ peerSequence: UInt8) -> Reaction {
    phase = .established(agreement)
    pending = []
    unansweredProbes = 0
    peerSynchronizationSequence = peerSequence
    sender.restart(after: synchronizationSequence)
    receiver.restart(after: peerSequence)
    isStalled = false
    counters.establishments += 1
    refusedSynchronization = nil
    return .established(agreement)
  }

  /// Chooses a sequence number that the other end has not seen, so that late packets from the previous synchronization
  /// are not mistaken for an answer.
  mutating func takeFreshSequence() {
    synchronizationSequence = (terms.isUp ? sender.lastSent : synchronizationSequence) &+ 1
  }

  /// Ends a link that cannot continue, and restarts it.
  mutating func fail(_ end: LinkEnd, now: Instant) -> Reaction {
    takeFreshSequence()
    restart(now: now)
    switch end {
    // No source says whether a device must reset a link when it gives up. Without the reset, an idle accessory would
    // keep the dead link, because iAP2 has no keep-alive.
    case .unanswered, .unsynchronized: if role == .device { pending.insert(.reset) }
    default: break
    }
    return .down(end)
  }

  mutating func handlePhaseTimeout(now: Instant) -> Reaction {
    switch phase {
    case .detecting(let attempts, let next) where next <= now:
      detect(attempts: attempts, now: now)
    case .synchronizing(let offer, let attempts, let next) where next <= now:
      // The SYN is repeated unchanged, because a different sequence number would make it a new SYN.
      if attempts >= settings.synchronizationLimit { return fail(.unsynchronized(attempts: attempts), now: now) }
      phase = .synchronizing(offer: offer, attempts: attempts + 1, next: now + settings.synchronizationPeriod)
      pending.insert(.synchronization)
    case .answering(let offer, let answer, let sequence, let attempts, let next) where next <= now:
      if attempts >= settings.synchronizationLimit { return fail(.unsynchronized(attempts: attempts), now: now) }
      self.answer(offer, with: answer, sequence, attempts: attempts + 1, now: now)
    default:
      break
    }
    return .nothing
  }

  var phaseDeadline: Instant? {
    switch phase {
    case .detecting(_, let next): next
    case .synchronizing(_, _, let next): next
    case .answering(_, _, _, _, let next): next
    default: nil
    }
  }
}
