import AccessoryCore
import CLibUSB

/// The host's end of a bulk pair: that of iAP2, or of a native transport.
///
/// Several transfers are in flight each way, so that the bus never waits for this program. Everything libusb reports is
/// queued while its events are handled and judged after, so no handler ever runs inside libusb.
///
/// **Trouble.** A halted endpoint is cleared, and an error on the wire is tried again, each after the other transfers
/// of that direction are back, so that the order of the bytes holds; after ``mostFailures`` in a row the channel fails.
/// A device that is unplugged ends it with ``ChannelEnd/lost(_:)``, after what it sent was delivered, or at once while
/// reading is paused. libusb reports the unplugging for transfers in flight; when there are none, the device's
/// descriptor does.
///
/// **Native transport.** Its endpoints come into being when the alternate setting has been chosen, which blocks and so
/// is done elsewhere; until ``opened(_:)`` what is sent waits. An accessory that ends a session has no other word for
/// it than a halt, so one that is there again right after it was cleared ends the channel in order.
///
/// **Closing.** What was taken still goes out, for as long as ``closingTime``; then the ``USBCable`` gives the
/// interface back.
public final class USBChannel: Channel {
  enum State {
    case made
    case started(any ChannelHandler)
    /// Closed by its owner; the last bytes are on their way.
    case closing
    case over
  }

  /// The most one transfer brings in: one request to the kernel, and a multiple of every packet size.
  static let readSize = 16 * 1024
  private static let readsInFlight = 4
  /// So much is on its way out before `send` takes no more.
  static let capacity = 64 * 1024
  private static let writesInFlight = 32
  static let mostFailures = 5
  /// A device that is being unplugged gives errors for some milliseconds before the kernel knows. Twice as long after
  /// the second failure in a row, and so on.
  static let pauseAfterFailure = Duration.milliseconds(20)
  static let closingTime = Duration.seconds(2)

  /// Always: a transfer is what a device reads.
  public let keepsTransfersApart = true

  /// What a channel has to do with its device.
  struct Place {
    var handle: OpaquePointer
    var incoming: USBEndpoint
    var outgoing: USBEndpoint
    /// Whether the endpoints are those of a native transport.
    var isNative: Bool
  }

  let loop: any PollingLoop
  let place: Place
  /// Whether the endpoints are there.
  private(set) var isOpen: Bool
  /// Called once, when nothing of libusb's points here any more and nobody hears.
  private var idle: ((USBChannel, AbandonedTransfers) -> Void)?
  let calls: BlockingUSBCalls
  // Not checked for overlapping access, from here on: a channel belongs to one loop, and calls nobody while these
  // change but libusb, which calls nobody back when it is given a transfer.
  @exclusivity(unchecked) var state = State.made
  @exclusivity(unchecked) var incoming = USBDirection()
  @exclusivity(unchecked) var outgoing = USBDirection()
  /// Came back while libusb's events were handled.
  @exclusivity(unchecked) var returned: [USBTransfer] = []
  /// Filled by the device, in order, and not delivered yet.
  @exclusivity(unchecked) var held: [USBTransfer] = []
  /// To be sent (again) as soon as the direction is well.
  @exclusivity(unchecked) var unsent: [USBTransfer] = []
  /// On their way to the device.
  @exclusivity(unchecked) var writers: [USBTransfer] = []
  /// Sent, and to be used again.
  @exclusivity(unchecked) var spare: [USBTransfer] = []
  /// How many bytes were taken and have not reached the device.
  @exclusivity(unchecked) var outstanding = 0
  /// How many of them never will.
  @exclusivity(unchecked) var lost = 0
  @exclusivity(unchecked) var end: ChannelEnd?
  /// What the device sent before the channel was made.
  @exclusivity(unchecked) private var early: [UInt8]
  @exclusivity(unchecked) var readers: [USBTransfer] = []
  @exclusivity(unchecked) private var isPaused = false
  @exclusivity(unchecked) private var senderWaits = false
  @exclusivity(unchecked) private var nextOrder = 0
  private var closer: LoopTimer?

  /// A channel whose owner keeps it until it is `idle`, because libusb holds pointers to what is in flight.
  init(
    _ place: Place, by calls: BlockingUSBCalls, early: [UInt8] = [], on loop: any PollingLoop,
    idle: @escaping (USBChannel, AbandonedTransfers) -> Void
  ) {
    self.place = place
    self.calls = calls
    self.loop = loop
    self.early = early
    self.idle = idle
    isOpen = !place.isNative
  }

  /// The endpoints of a native transport are there, or cannot be had.
  func opened(_ result: Result<Void, USBHostError>) {
    isOpen = true
    if case .failure(let error) = result { fail(error == .gone ? Self.unplugged : .failed("\(error)")) }
    read()
    write()
    giveBackIfIdle()
  }

  /// Whether it was closed, or has ended.
  var isLeaving: Bool {
    switch state {
    case .made, .started: end != nil
    case .closing, .over: true
    }
  }

  // MARK: - Channel

  /// Begins to receive.
  public func start(_ handler: any ChannelHandler) {
    loop.preconditionCurrent()
    switch state {
    case .made: break
    case .started: preconditionFailure("a channel is started once")
    case .closing, .over: return
    }
    state = .started(handler)
    for _ in 0..<Self.readsInFlight {
      readers.append(
        USBTransfer(place.handle, endpoint: place.incoming.address, capacity: Self.readSize) {
          [unowned self] in returned.append($0)
        })
    }
    read()
    if !early.isEmpty || end != nil { deliverLater() }
  }

  /// Gives the bytes to the kernel as one transfer.
  public func send(_ bytes: RawSpan) -> Int {
    loop.preconditionCurrent()
    switch state {
    case .made, .started: break
    case .closing, .over: return 0
    }
    guard !bytes.isEmpty else { return 0 }
    if end != nil {
      senderWaits = true
      deliverLater()
      return 0
    }
    let hasRoom = outgoing.inFlight + unsent.count < Self.writesInFlight
    let count = hasRoom ? min(bytes.byteCount, Self.capacity - outstanding) : 0
    if count < bytes.byteCount { senderWaits = true }
    guard count > 0 else { return 0 }
    let transfer =
      spare.popLast()
      ?? USBTransfer(place.handle, endpoint: place.outgoing.address, capacity: Self.capacity) {
        [unowned self] in returned.append($0)
      }
    bytes.withUnsafeBytes { transfer.fill(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    transfer.order = nextOrder
    nextOrder += 1
    outstanding += count
    unsent.append(transfer)
    write()
    return count
  }

  /// What the device has not taken, and what it never will.
  public var undelivered: Int { outstanding + lost }

  /// Leaves the device's transfers unanswered once those in flight are filled.
  public func pauseReading() {
    loop.preconditionCurrent()
    isPaused = true
  }

  /// Goes on.
  public func resumeReading() {
    loop.preconditionCurrent()
    guard isPaused else { return }
    isPaused = false
    deliverLater()
  }

  /// Closes the channel in order.
  public func close() {
    loop.preconditionCurrent()
    switch state {
    case .made, .started: break
    case .closing, .over: return
    }
    state = .closing
    if outstanding == 0 || end != nil { return over() }
    closer = loop.schedule(after: Self.closingTime) { [weak self] in self?.over() }
  }

  // MARK: - Reading

  /// Puts every reader that is idle to work.
  func read() {
    guard isOpen, case .started = state, end == nil, incoming.isHealthy else { return }
    if incoming.inFlight + held.count == readers.count { return }
    for reader in readers where !reader.isInFlight && !held.contains(where: { $0 === reader }) {
      reader.empty()
      guard submitted(reader.submit(endsWithZero: false)) else { return }
      incoming.inFlight += 1
    }
  }

  func deliver() {
    if !isPaused, !early.isEmpty, case .started(let handler) = state {
      let bytes = early
      early = []
      handler.channel(self, received: bytes.span.bytes)
    }
    while case .started(let handler) = state, !isPaused, !held.isEmpty {
      let reader = held.removeFirst()
      if !reader.bytes.isEmpty { handler.channel(self, received: reader.bytes.bytes) }
      read()
    }
    if end != nil { tellEnd() }
  }

  // MARK: - Writing

  /// Gives the kernel everything that waits.
  func write() {
    guard isOpen, end == nil, idle != nil, outgoing.isHealthy else { return }
    while let first = unsent.first {
      let fillsPackets = first.bytes.count % Int(place.outgoing.packetSize) == 0
      guard submitted(first.submit(endsWithZero: fillsPackets)) else { return }
      unsent.removeFirst()
      writers.append(first)
      outgoing.inFlight += 1
    }
  }

  /// A transfer has been taken by the device, or is not to be sent any more.
  func sent(_ transfer: USBTransfer, _ count: Int) {
    outstanding -= count
    if spare.count < 4 { spare.append(transfer) }
  }

  func tellWritable() {
    guard senderWaits, outstanding <= Self.capacity / 2, end == nil, case .started(let handler) = state else { return }
    senderWaits = false
    handler.channelIsWritable(self)
  }

  private func submitted(_ code: Int32) -> Bool {
    if code == 0 { return true }
    let isGone = code == LIBUSB_ERROR_NO_DEVICE.rawValue
    fail(isGone ? Self.unplugged : .failed("a transfer was refused: \(String(cString: libusb_error_name(code)))"))
    return false
  }

  // MARK: - The end

  static let unplugged = ChannelEnd.lost("the accessory was unplugged")

  /// The device's descriptor hung up. Transfers in flight will return with what they received, and report it
  /// themselves.
  func deviceHungUp() {
    if incoming.inFlight == 0, outgoing.inFlight == 0 { fail(Self.unplugged) }
  }

  /// Remembers the first reason; the handler hears of it in a later turn.
  func fail(_ reason: ChannelEnd) {
    guard end == nil else { return }
    end = reason
    deliverLater()
  }

  /// Handlers are never called from within `start` or `send`.
  private func deliverLater() {
    loop.schedule(after: .zero) { [weak self] in self?.deliver() }
  }

  /// Tells of the end, once nothing is left to be delivered.
  private func tellEnd() {
    guard let end else { return }
    switch state {
    case .started(let handler):
      let unread = held.reduce(early.count) { $0 + $1.bytes.count }
      // The rule for an end while reading is paused: see ``Channel``.
      guard unread == 0 || isPaused && (end != .closedByPeer || senderWaits) else { return }
      over()
      handler.channel(self, endedWith: end.dropping(unread: unread))
    case .closing: over()
    case .made, .over: break
    }
  }

  private func cancelAll() {
    for reader in readers { reader.cancel() }
    for writer in writers { writer.cancel() }
  }

  /// Ends: nothing is to be sent any more, and nobody hears.
  func over() {
    state = .over
    closer?.cancel()
    closer = nil
    // The device goes on being used.
    if place.isNative { cancelAll() }
    giveBackIfIdle()
  }

  /// Lets go, in a later turn, because a handler may have closed the channel while it still reads from a transfer's
  /// buffer.
  ///
  /// What the main channel has in flight is taken back by the thread that gives the device back: the kernel lets nobody
  /// else use a device while it takes a transfer back, and behind USB/IP it asks another machine for each.
  func giveBackIfIdle() {
    guard case .over = state, isOpen, !place.isNative || incoming.inFlight == 0 && outgoing.inFlight == 0 else {
      return
    }
    guard let idle else { return }
    self.idle = nil
    loop.schedule(after: .zero) { [self] in
      let abandoned = AbandonedTransfers(readers + held + unsent + writers + spare + returned)
      for transfers in [\USBChannel.readers, \.held, \.unsent, \.writers, \.spare, \.returned] {
        self[keyPath: transfers] = []
      }
      idle(self, abandoned)
    }
  }
}
