import AccessoryCore
import CLibUSB

/// How one direction of a channel is.
struct USBLane {
  /// What has to happen before transfers are given to the kernel again.
  enum Cure: Equatable {
    case clearHalt
    case pause
  }

  /// How many transfers the kernel has.
  var inFlight = 0
  /// Set from a failure until it is cured.
  var cure: Cure?
  /// Whether the cure has begun.
  var isBeingCured = false
  /// Failures since a transfer went well.
  var failures = 0

  /// Whether transfers may be given to the kernel.
  var isWell: Bool { cure == nil }
}

/// What becomes of transfers that come back.
extension USBChannel {
  /// Called after libusb's events were handled, outside of it.
  func judgeReturned() {
    // Moved out, so that its memory can be used again.
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
    if incoming.isWell { read() } else { begin(\.incoming, at: place.incoming.address) { $0.read() } }
    if outgoing.isWell { write() } else { begin(\.outgoing, at: place.outgoing.address) { $0.write() } }
    if case .closing = state, outstanding == 0 { over() }
    tellWritable()
    giveBackIfIdle()
  }

  private func judgeReader(_ transfer: USBTransfer) {
    let outcome = transfer.outcome
    transfer.keepReceived()
    switch outcome {
    case .done: incoming.failures = 0
    case .gone: fail(Self.unplugged)
    case .cancelled: break
    case .stalled: note(\.incoming, .clearHalt, "it stalls reading")
    case .failed(let reason): note(\.incoming, .pause, reason)
    }
    // What came before it stopped is as good as any.
    if !transfer.bytes.isEmpty { held.append(transfer) }
  }

  private func judgeWriter(_ transfer: USBTransfer) {
    let outcome = transfer.outcome
    let before = transfer.bytes.count
    transfer.advance()
    let left = transfer.bytes.count
    switch outcome {
    case .done: outgoing.failures = 0
    case .gone: fail(Self.unplugged)
    case .cancelled: break
    case .stalled: note(\.outgoing, .clearHalt, "it stalls writing")
    case .failed(let reason): note(\.outgoing, .pause, reason)
    }
    let mayGoOut: Bool
    switch state {
    case .made, .started, .closing: mayGoOut = end == nil
    case .over: mayGoOut = false
    }
    if left == 0 || !mayGoOut {
      lost += left
      return sent(transfer, before)
    }
    outstanding -= before - left
    // The others of its direction come back too; all go out again in the order in which they were taken.
    unsent.insert(transfer, at: unsent.firstIndex { $0.order > transfer.order } ?? unsent.endIndex)
  }

  private func note(_ lane: ReferenceWritableKeyPath<USBChannel, USBLane>, _ cure: USBLane.Cure, _ reason: String) {
    self[keyPath: lane].failures += 1
    if place.isSide, cure == .clearHalt, self[keyPath: lane].failures > 1 { return fail(.closedByPeer) }
    guard self[keyPath: lane].failures <= Self.mostFailures else {
      return fail(.failed("\(reason), \(Self.mostFailures) times in a row"))
    }
    // A halt outweighs an error.
    if self[keyPath: lane].cure != .clearHalt { self[keyPath: lane].cure = cure }
    for transfer in lane == \USBChannel.outgoing ? writers : readers { transfer.cancel() }
  }

  /// Begins to cure a direction that is not well, once all of its transfers are back; goes on with it when it is.
  private func begin(
    _ lane: ReferenceWritableKeyPath<USBChannel, USBLane>, at endpoint: UInt8, goOn: @escaping (USBChannel) -> Void
  ) {
    guard let cure = self[keyPath: lane].cure, self[keyPath: lane].inFlight == 0, !self[keyPath: lane].isBeingCured,
      end == nil
    else { return }
    self[keyPath: lane].isBeingCured = true
    let well = { [weak self] in
      guard let self else { return }
      self[keyPath: lane].cure = nil
      self[keyPath: lane].isBeingCured = false
      goOn(self)
    }
    switch cure {
    case .pause: loop.schedule(after: Self.pauseAfterFailure * self[keyPath: lane].failures, well)
    case .clearHalt:
      let (handle, loop, errands) = (USBHandle(place.handle), loop, errands)
      let box = LoopBound(well, on: loop)
      errands.run {
        libusb_clear_halt(handle.pointer, endpoint)
        loop.execute { box.value() }
      }
    }
  }
}
