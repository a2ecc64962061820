import AccessoryCore
import CUSB

struct USBDirection {
  /// What must be done before transfers can be submitted again.
  enum Recovery: Equatable {
    case clearHalt
    case pause
  }

  var inFlight = 0
  /// The pending recovery if this direction has failed and has not recovered yet; nil otherwise.
  var recovery: Recovery?
  var isRecovering = false
  var failures = 0

  var isHealthy: Bool { recovery == nil }
}

extension USBChannel {
  /// Handles the transfers that have returned. Do not call this method from a libusb callback.
  func judgeReturned() {
    // The arrays are swapped rather than copied so that their memory is reused.
    var back: [USBTransfer] = []
    swap(&back, &returned)
    for transfer in back {
      if transfer.isIncoming {
        incoming.inFlight -= 1
        judgeReader(transfer)
      } else {
        writers.removeAll { $0 === transfer }
        outgoing.inFlight -= 1
        judgeWriter(transfer)
      }
    }
    back.removeAll(keepingCapacity: true)
    if returned.isEmpty { swap(&back, &returned) }
    deliver()
    if incoming.isHealthy { read() } else { begin(\.incoming, at: place.pair.incoming.address) { $0.read() } }
    if outgoing.isHealthy { write() } else { begin(\.outgoing, at: place.pair.outgoing.address) { $0.write() } }
    if case .closing = state, outstanding == 0 { over() }
    notifyWritable()
    giveBackIfIdle()
  }

  private func judgeReader(_ transfer: USBTransfer) {
    transfer.keepReceived()
    noteOutcome(of: transfer)
    // Bytes that arrived before a failure are valid.
    if !transfer.bytes.isEmpty { held.append(transfer) }
  }

  private func judgeWriter(_ transfer: USBTransfer) {
    let before = transfer.bytes.count
    transfer.advance()
    let left = transfer.bytes.count
    noteOutcome(of: transfer)
    let isOver = if case .over = state { true } else { false }
    if left == 0 || isOver || end != nil {
      lost += left
      return sent(transfer, before)
    }
    outstanding -= before - left
    // Once the other transfers in this direction have returned, all of them are resubmitted in their original order.
    unsent.insert(transfer, at: unsent.firstIndex { $0.order > transfer.order } ?? unsent.endIndex)
  }

  private func noteOutcome(of transfer: USBTransfer) {
    switch transfer.outcome {
    // Every transfer on a healthy channel runs this code, so it avoids key paths, which are slow.
    case .done: if transfer.isIncoming { incoming.failures = 0 } else { outgoing.failures = 0 }
    case .gone: fail(Self.unplugged)
    case .cancelled: break
    case .stalled:
      note(
        transfer.isIncoming ? \.incoming : \.outgoing, .clearHalt,
        "it stalls \(transfer.isIncoming ? "reading" : "writing")")
    case .failed(let reason): note(transfer.isIncoming ? \.incoming : \.outgoing, .pause, reason)
    }
  }

  private func note(
    _ direction: ReferenceWritableKeyPath<USBChannel, USBDirection>, _ recovery: USBDirection.Recovery, _ reason: String
  ) {
    self[keyPath: direction].failures += 1
    if place.isNative, recovery == .clearHalt, self[keyPath: direction].failures > 1 { return fail(.closedByPeer) }
    guard self[keyPath: direction].failures <= Self.mostFailures else {
      return fail(.failed("\(reason), \(Self.mostFailures) times in a row"))
    }
    // A halt takes precedence over an error.
    if self[keyPath: direction].recovery != .clearHalt { self[keyPath: direction].recovery = recovery }
    for transfer in direction == \USBChannel.outgoing ? writers : readers { transfer.cancel() }
  }

  /// Starts recovery in one direction once all its transfers have returned. Sending or receiving resumes once the
  /// failure in that direction has been cleared.
  private func begin(
    _ direction: ReferenceWritableKeyPath<USBChannel, USBDirection>, at endpoint: UInt8,
    goOn: @escaping (USBChannel) -> Void
  ) {
    guard let recovery = self[keyPath: direction].recovery, self[keyPath: direction].inFlight == 0,
      !self[keyPath: direction].isRecovering,
      end == nil
    else { return }
    self[keyPath: direction].isRecovering = true
    let well = { [weak self] in
      guard let self else { return }
      self[keyPath: direction].recovery = nil
      self[keyPath: direction].isRecovering = false
      goOn(self)
    }
    switch recovery {
    case .pause: loop.schedule(after: Self.pauseAfterFailure * self[keyPath: direction].failures, well)
    case .clearHalt:
      nonisolated(unsafe) let handle = place.handle
      let (loop, calls) = (loop, calls)
      let box = LoopBound(well, on: loop)
      calls.run {
        libusb_clear_halt(handle, endpoint)
        loop.execute { box.value() }
      }
    }
  }
}
