import AccessoryCore
import AccessoryFormats
import CUSB

/// The host's side of a pair of bulk endpoints, for iAP2 or for a native transport.
///
/// In each direction, several transfers are in flight, so that the bus never has to wait for this program. Transfers
/// that return while libusb is handling events are queued and handled afterwards, so that no handler is called from
/// libusb.
///
/// **Errors.** After an endpoint halts or a transfer fails on the wire, the channel keeps the bytes in order by waiting
/// until the other transfers in that direction have returned. The channel then clears the halt or repeats the transfer.
/// After ``mostFailures`` consecutive failures, the channel fails. When the device is unplugged, the channel ends with
/// ``ChannelEnd/lost(_:)`` after delivering the device's bytes, or immediately if reading is paused. libusb reports the
/// unplug through the transfers in flight. If no transfers are in flight, the device's descriptor reports the unplug.
///
/// **Native transport.** A native transport's endpoints exist only once the alternate setting has been selected.
/// Selecting an alternate setting blocks, so it is done on another thread. Bytes that are sent before ``opened(_:)`` is
/// called are queued. An accessory can end a session only with a halt. Therefore, if a halt recurs right after it was
/// cleared, the channel ends normally.
///
/// **Closing.** The channel spends at most ``closingTime`` sending the bytes it has accepted. The ``USBCable`` then
/// releases the interface.
final class USBChannel: Channel {
  enum State {
    case made
    case started(any ChannelHandler)
    /// The owner has closed the channel, and the last bytes are being sent.
    case closing
    case over
  }

  /// The maximum number of bytes that one transfer receives. The limit is a multiple of every packet size and fits into
  /// a single request to the kernel.
  static let readSize = 16 * 1024
  private static let readsInFlight = 4
  /// The number of unsent bytes at which `send` stops accepting more.
  static let capacity = 64 * 1024
  private static let writesInFlight = 32
  static let mostFailures = 5
  /// The delay after a failure, which is multiplied by the number of consecutive failures. When a device is unplugged,
  /// transfers fail for a few milliseconds before the kernel notices.
  static let pauseAfterFailure = Duration.milliseconds(20)
  static let closingTime = Duration.seconds(2)

  /// Always true because each transfer must reach the device unchanged.
  let keepsTransfersApart = true

  /// The parts of a device that a channel needs: endpoints and operations.
  struct Place {
    var handle: OpaquePointer
    var pair: BulkPair
    var isNative: Bool
  }

  let loop: any PollingLoop
  let place: Place
  private(set) var isOpen: Bool
  /// Called once, after libusb has returned its last pointer to this channel and the handler has been released.
  private var idle: ((AbandonedTransfers) -> Void)?
  let calls: BlockingUSBCalls
  let incoming: USBDirection
  let outgoing: USBDirection
  // Exclusivity checking is off for the following properties. A channel belongs to one loop. While a channel changes
  // these properties, it calls only libusb, which does not call back when a transfer is submitted.
  @exclusivity(unchecked) var state = State.made
  /// Transfers that returned while libusb was handling events.
  @exclusivity(unchecked) var returned: [USBTransfer] = []
  /// Received transfers that have not been delivered yet, in order.
  @exclusivity(unchecked) var held: [USBTransfer] = []
  /// Transfers to submit or resubmit once their direction works again.
  @exclusivity(unchecked) var unsent: [USBTransfer] = []
  @exclusivity(unchecked) var writers: [USBTransfer] = []
  /// Completed transfers whose memory can be reused.
  @exclusivity(unchecked) var spare: [USBTransfer] = []
  /// The number of bytes that were accepted but have not reached the device.
  @exclusivity(unchecked) var outstanding = 0
  /// The number of accepted bytes that will never reach the device.
  @exclusivity(unchecked) var lost = 0
  @exclusivity(unchecked) var end: ChannelEnd?
  /// Bytes that the device sent before the channel was created.
  @exclusivity(unchecked) private var early: [UInt8]
  @exclusivity(unchecked) var readers: [USBTransfer] = []
  @exclusivity(unchecked) private var isPaused = false
  @exclusivity(unchecked) private var senderWaits = false
  @exclusivity(unchecked) private var nextOrder = 0
  private var closer: LoopTimer?

  /// Creates a channel. The owner must retain the channel until it is `idle`, because libusb holds pointers to the
  /// transfers in flight.
  init(
    _ place: Place, by calls: BlockingUSBCalls, early: [UInt8] = [], on loop: any PollingLoop,
    idle: @escaping (AbandonedTransfers) -> Void
  ) {
    self.place = place
    incoming = USBDirection(place.pair.incoming.address)
    outgoing = USBDirection(place.pair.outgoing.address)
    self.calls = calls
    self.loop = loop
    self.early = early
    self.idle = idle
    isOpen = !place.isNative
  }

  /// Reports that the endpoints of a native transport now exist or cannot be used.
  func opened(_ result: Result<Void, USBHostError>) {
    isOpen = true
    if case .failure(let error) = result { fail(error == .gone ? Self.unplugged : .failed("\(error)")) }
    read()
    write()
    giveBackIfIdle()
  }

  var isLeaving: Bool {
    switch state {
    case .made, .started: end != nil
    case .closing, .over: true
    }
  }

  // MARK: - Channel

  func start(_ handler: any ChannelHandler) {
    loop.preconditionCurrent()
    switch state {
    case .made: break
    case .started: preconditionFailure("a channel can be started only once")
    case .closing, .over: return
    }
    state = .started(handler)
    for _ in 0..<Self.readsInFlight {
      readers.append(
        USBTransfer(place.handle, endpoint: place.pair.incoming.address, capacity: Self.readSize) {
          [unowned self] in returned.append($0)
        })
    }
    read()
    if !early.isEmpty || end != nil { deliverLater() }
  }

  func send(_ bytes: RawSpan) -> Int {
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
      ?? USBTransfer(place.handle, endpoint: place.pair.outgoing.address, capacity: Self.capacity) {
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

  /// The number of bytes that the device has not read, including those that it will never read.
  var undelivered: Int { outstanding + lost }

  /// Stops receiving. Transfers in flight may still complete.
  func pauseReading() {
    loop.preconditionCurrent()
    isPaused = true
  }

  func resumeReading() {
    loop.preconditionCurrent()
    guard isPaused else { return }
    isPaused = false
    deliverLater()
  }

  func close() {
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
    if end != nil { reportEnd() }
  }

  // MARK: - Writing

  func write() {
    guard isOpen, end == nil, idle != nil, outgoing.isHealthy else { return }
    while let first = unsent.first {
      let fillsPackets = first.bytes.count % Int(place.pair.outgoing.packetSize) == 0
      guard submitted(first.submit(endsWithZero: fillsPackets)) else { return }
      unsent.removeFirst()
      writers.append(first)
      outgoing.inFlight += 1
    }
  }

  /// Handles an outgoing transfer that the device has read or that will not be sent.
  func sent(_ transfer: USBTransfer, _ count: Int) {
    outstanding -= count
    if spare.count < 4 { spare.append(transfer) }
  }

  func notifyWritable() {
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

  /// Handles a hang-up of the device's descriptor. Any transfers in flight will return the bytes received so far and
  /// report that the device was unplugged.
  func deviceHungUp() {
    if incoming.inFlight == 0, outgoing.inFlight == 0 { fail(Self.unplugged) }
  }

  /// Records why the channel ended, unless a reason was already recorded. The handler is notified in a later turn.
  func fail(_ reason: ChannelEnd) {
    guard end == nil else { return }
    end = reason
    deliverLater()
  }

  /// Delivers received bytes in a later turn because handlers are never called from within `start` or `send`.
  private func deliverLater() {
    loop.schedule(after: .zero) { [weak self] in self?.deliver() }
  }

  private func reportEnd() {
    guard let end else { return }
    switch state {
    case .started(let handler):
      let unread = held.reduce(early.count) { $0 + $1.bytes.count }
      // ``Channel`` documents what happens if a channel ends while reading is paused.
      guard unread == 0 || isPaused && (end != .closedByPeer || senderWaits) else { return }
      over()
      handler.channel(self, endedWith: end.dropping(unread: unread))
    case .closing: over()
    case .made, .over: break
    }
  }

  /// Ends the channel. Stops sending and releases the handler.
  func over() {
    state = .over
    closer?.cancel()
    closer = nil
    // The main channel and other native channels may still be using the device.
    if place.isNative { for transfer in readers + writers { transfer.cancel() } }
    giveBackIfIdle()
  }

  /// Releases the transfers in a later turn because the handler that closed the channel may still be reading a
  /// transfer's buffer.
  ///
  /// The main channel's transfers are cancelled by the thread that releases the device. Cancelling a transfer blocks
  /// all other use of the device in the kernel and, over USB/IP, takes a round trip to another machine.
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
      idle(abandoned)
    }
  }
}
