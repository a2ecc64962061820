import AccessoryCore

/// What carries the bulk transfers of a ``BulkPipe``: the USB/IP connection of one import, or a gadget's endpoints.
protocol BulkCarrier: AnyObject {
  /// The accessory sends these bytes, and nothing waits before them. Returns how many of them, from the front, are on their
  /// way; the rest waits.
  func pipe(_ pipe: BulkPipe, takes bytes: RawSpan) -> Int
  /// There are bytes for the host.
  func pipeHasBytes(_ pipe: BulkPipe)
  /// The accessory takes bytes again.
  func pipeTakesBytes(_ pipe: BulkPipe)
  /// The accessory is through with this cable.
  func pipeIsClosed(_ pipe: BulkPipe)
}

/// The accessory's end of a bulk pair: what the session layer sees as a channel.
///
/// Each `send` is one transfer, and waits until the host asks for it. What the host gives is delivered as it comes, unless
/// the accessory paused: then the carrier leaves the host's transfer unanswered, which is how a USB device says "later".
final class BulkPipe: Channel {
  private enum State {
    case made
    case started(any ChannelHandler)
    case over
  }

  /// So much waits for the host before `send` takes no more.
  static let capacity = 64 * 1024

  let keepsTransfersApart = true
  private let loop: any EventLoop
  // Not checked for overlapping access: a pipe belongs to one loop, and calls nobody while it changes.
  /// Held until the end, and not known weakly, which would make every count of it a slow one.
  @exclusivity(unchecked) private var carrier: (any BulkCarrier)?
  @exclusivity(unchecked) private var state = State.made
  @exclusivity(unchecked) private var isPaused = false
  @exclusivity(unchecked) private var senderWaits = false
  @exclusivity(unchecked) private var waiting = Queue<[UInt8]>()
  /// How much of the first one has gone.
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
    case .started: preconditionFailure("a channel is started once")
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

  // MARK: The carrier's side

  /// Whether what the host gives can be delivered now.
  var takesBytes: Bool {
    if case .started = state { !isPaused } else { false }
  }

  /// Whether there is something for the host.
  var hasBytes: Bool { waitingCount > 0 }

  /// Whether what ``take(_:)`` gave last was not the end of its transfer.
  var isInsideTransfer: Bool { gone > 0 }

  /// Delivers what the host gave. Only while ``takesBytes``.
  func deliver(_ bytes: RawSpan) {
    guard case .started(let handler) = state, !bytes.isEmpty else { return }
    handler.channel(self, received: bytes)
  }

  /// The next transfer for the host, of at most `limit` bytes; nil when there is none. A transfer longer than that goes
  /// in pieces.
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

  /// Tells the accessory that there is room, if it waits for some. Not from within its own call to `send`.
  func tellWritable() {
    guard senderWaits, waitingCount < Self.capacity / 2, case .started(let handler) = state else { return }
    senderWaits = false
    handler.channelIsWritable(self)
  }

  /// The host is gone, or began anew.
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
