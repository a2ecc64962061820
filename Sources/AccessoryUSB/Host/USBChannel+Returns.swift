import AccessoryCore
import CUSB

final class USBDirection {
  /// What must be done before transfers can be submitted again.
  enum Recovery: Equatable {
    case clearHalt
    case pause
  }

  let endpoint: UInt8
  // Exclusivity checking is off because a direction belongs to one channel.
  @exclusivity(unchecked) var inFlight = 0
  /// The pending recovery if this direction has failed and has not recovered yet; nil otherwise.
  @exclusivity(unchecked) var recovery: Recovery?
  @exclusivity(unchecked) var isRecovering = false
  @exclusivity(unchecked) var failures = 0

  init(_ endpoint: UInt8) { self.endpoint = endpoint }

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
    if incoming.isHealthy { read() } else { recover(incoming) }
    if outgoing.isHealthy { write() } else { recover(outgoing) }
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
    let direction = transfer.isIncoming ? incoming : outgoing
    switch transfer.outcome {
    case .done: direction.failures = 0
    case .gone: fail(Self.unplugged)
    case .cancelled: break
    case .stalled: note(direction, .clearHalt, "it stalls \(transfer.isIncoming ? "reading" : "writing")")
    case .failed(let reason): note(direction, .pause, reason)
    }
  }

  private func note(_ direction: USBDirection, _ recovery: USBDirection.Recovery, _ reason: String) {
    direction.failures += 1
    if place.isNative, recovery == .clearHalt, direction.failures > 1 { return fail(.closedByPeer) }
    guard direction.failures <= Self.mostFailures else {
      return fail(.failed("\(reason), \(Self.mostFailures) times in a row"))
    }
    // A halt takes precedence over an error.
    if direction.recovery != .clearHalt { direction.recovery = recovery }
    for transfer in direction === outgoing ? writers : readers { transfer.cancel() }
  }

  /// Starts recovery in one direction once all its transfers have returned. Sending or receiving resumes once the
  /// failure in that direction has been cleared.
  private func recover(_ direction: USBDirection) {
    guard let recovery = direction.recovery, direction.inFlight == 0, !direction.isRecovering, end == nil else {
      return
    }
    direction.isRecovering = true
    let well = { [weak self] in
      direction.recovery = nil
      direction.isRecovering = false
      self?.read()
      self?.write()
    }
    switch recovery {
    case .pause: loop.schedule(after: Self.pauseAfterFailure * direction.failures, well)
    case .clearHalt:
      nonisolated(unsafe) let handle = place.handle
      let (loop, calls, endpoint) = (loop, calls, direction.endpoint)
      let box = LoopBound(well, on: loop)
      calls.run {
        libusb_clear_halt(handle, endpoint)
        loop.execute { box.value() }
      }
    }
  }
}
