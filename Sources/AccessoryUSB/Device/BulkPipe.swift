import AccessoryCore

/// Carries the bulk transfers of a ``BulkPipe`` over a USB/IP connection or a gadget's endpoints.
protocol BulkCarrier: AnyObject {
  /// Sends the accessory's bytes immediately if no earlier bytes are waiting, and returns how many bytes were sent. The
  /// pipe keeps the rest.
  func pipe(_ pipe: BulkPipe, takes bytes: RawSpan) -> Int
  func pipeHasBytes(_ pipe: BulkPipe)
  func pipeTakesBytes(_ pipe: BulkPipe)
  func pipeIsClosed(_ pipe: BulkPipe)
}

/// The accessory's side of a pair of bulk endpoints, as a channel for the session layer.
///
/// Each `send` queues one transfer, which stays queued until the host reads it. Bytes from the host are delivered as
/// they arrive. While the accessory has paused reading, the carrier leaves the host's transfer pending, which is how
/// USB devices slow down a host.
final class BulkPipe: Channel {
  private enum State {
    case made
    case started(any ChannelHandler)
    case over
  }

  /// The number of queued bytes at which `send` stops accepting more.
  static let capacity = 64 * 1024

  let keepsTransfersApart = true
  private let loop: any EventLoop
  // Exclusivity checking is off because a pipe belongs to one loop and calls no other code while its state changes. The
  // carrier is retained until the channel ends. A weak reference would make every retain and release of the carrier
  // slower.
  @exclusivity(unchecked) private var carrier: (any BulkCarrier)?
  @exclusivity(unchecked) private var state = State.made
  @exclusivity(unchecked) private var isPaused = false
  @exclusivity(unchecked) private var senderWaits = false
  @exclusivity(unchecked) private var waiting = Queue<[UInt8]>()
  /// How many bytes of the first transfer have been sent.
  @exclusivity(unchecked) private var gone = 0
  @exclusivity(unchecked) private var waitingCount = 0

  init(_ carrier: any BulkCarrier, on loop: any EventLoop) {
    self.carrier = carrier
    self.loop = loop
  }

  // MARK: Channel

  func start(_ handler: any ChannelHandler) {
    loop.preconditionCurrent()
    switch state {
    case .made: break
    case .started: preconditionFailure("a channel can be started only once")
    case .over: return
    }
    state = .started(handler)
    takeAgain()
  }

  func send(_ bytes: RawSpan) -> Int {
    loop.preconditionCurrent()
    if case .over = state { return 0 }
    let taken = hasBytes ? 0 : carrier?.pipe(self, takes: bytes) ?? 0
    let count = min(bytes.byteCount - taken, Self.capacity - waitingCount)
    if taken + count < bytes.byteCount { senderWaits = true }
    guard count > 0 else { return taken }
    waiting.append(bytes.extracting(taken..<taken + count).withUnsafeBytes { Array($0) })
    waitingCount += count
    carrier?.pipeHasBytes(self)
    return taken + count
  }

  func pauseReading() {
    loop.preconditionCurrent()
    isPaused = true
  }

  func resumeReading() {
    loop.preconditionCurrent()
    guard isPaused else { return }
    isPaused = false
    takeAgain()
  }

  func close() {
    loop.preconditionCurrent()
    if case .over = state { return }
    state = .over
    let told = carrier
    carrier = nil
    told?.pipeIsClosed(self)
  }

  private func takeAgain() {
    loop.schedule(after: .zero) { [self] in
      if takesBytes { carrier?.pipeTakesBytes(self) }
    }
  }

  // MARK: For the carrier

  var takesBytes: Bool {
    if case .started = state { !isPaused } else { false }
  }

  var hasBytes: Bool { waitingCount > 0 }

  /// Whether the most recent call to ``take(_:)`` returned only part of a transfer.
  var isInsideTransfer: Bool { gone > 0 }

  /// Delivers bytes from the host. Call this method only while ``takesBytes`` is true.
  func deliver(_ bytes: RawSpan) {
    guard case .started(let handler) = state, !bytes.isEmpty else { return }
    handler.channel(self, received: bytes)
  }

  /// Returns the next transfer for the host, up to `limit` bytes, or nil if there is none. If a transfer is longer than
  /// `limit`, several calls return it in pieces.
  func take(_ limit: Int) -> ArraySlice<UInt8>? {
    guard hasBytes else { return nil }
    let transfer = waiting[0]
    let count = min(limit, transfer.count - gone)
    let piece = transfer[gone..<gone + count]
    gone += count
    waitingCount -= count
    if gone == transfer.count {
      waiting[0] = []
      waiting.removeFirst(1)
      gone = 0
    }
    return piece
  }

  /// If the accessory is waiting for space in the queue, notifies it that there is space. Do not call this method from
  /// within the accessory's `send`.
  func notifyWritable() {
    guard senderWaits, waitingCount < Self.capacity / 2, case .started(let handler) = state else { return }
    senderWaits = false
    handler.channelIsWritable(self)
  }

  /// Called when the host has disconnected or restarted.
  func end(_ end: ChannelEnd) {
    carrier = nil
    guard case .started(let handler) = state else {
      state = .over
      return
    }
    state = .over
    handler.channel(self, endedWith: end)
  }
}
