import AccessoryCore
import CLibUSB

/// The host's end of a bulk pair.
///
/// Several transfers are in flight each way, so that the bus never waits for this program. Everything libusb reports is
/// queued while its events are handled and judged after, so no handler ever runs inside libusb.
///
/// **Trouble.** A halted endpoint is cleared, and an error on the wire is tried again, each after the other transfers of
/// that direction are back, so that the order of the bytes holds; after ``mostFailures`` in a row the channel fails. A
/// device that is unplugged ends it with ``ChannelEnd/lost(_:)``, after what it sent was delivered.
///
/// **Closing.** What was taken still goes out, for as long as ``closingTime``; then the interface is released, and a
/// kernel driver that was put aside is put back, by the thread that opened it.
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

  let loop: any PollingLoop
  let device: OpenUSBDevice
  var state = State.made
  var incoming = USBLane()
  var outgoing = USBLane()
  /// Came back while libusb's events were handled.
  var returned: [USBTransfer] = []
  /// Filled by the device, in order, and not delivered yet.
  var held: [USBTransfer] = []
  /// To be sent (again) as soon as the direction is well.
  var unsent: [USBTransfer] = []
  /// On their way to the device.
  var writers: [USBTransfer] = []
  /// Sent, and to be used again.
  var spare: [USBTransfer] = []
  /// How many bytes were taken and have not reached the device.
  var outstanding = 0
  var end: ChannelEnd?
  /// What the device sent before the channel was made.
  private var early: [UInt8]
  var readers: [USBTransfer] = []
  private var isPaused = false
  private var senderWaits = false
  private var nextOrder = 0
  private var pump: USBEventPump?
  private var closer: LoopTimer?
  /// libusb holds pointers to what is in flight, so the channel lives until all of it is back.
  private var keptAlive: USBChannel?

  init(_ device: OpenUSBDevice, on loop: any PollingLoop) throws {
    self.device = device
    self.loop = loop
    early = device.early
    pump = try USBEventPump(device.context, on: loop) { [unowned self] in judgeReturned() }
    keptAlive = self
  }

  /// How many bytes of an earlier session were thrown away before this one.
  public var staleCount: Int { device.staleCount }

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
        USBTransfer(device.handle, endpoint: device.interface.incoming.address, capacity: Self.readSize) {
          [unowned self] in returned.append($0)
        })
    }
    read()
    if !device.early.isEmpty || end != nil { deliverLater() }
  }

  /// Gives the bytes to the kernel as one transfer.
  public func send(_ bytes: RawSpan) -> Int {
    loop.preconditionCurrent()
    switch state {
    case .made, .started: break
    case .closing, .over: return 0
    }
    guard end == nil, !bytes.isEmpty else { return 0 }
    let hasRoom = outgoing.inFlight + unsent.count < Self.writesInFlight
    let count = hasRoom ? min(bytes.byteCount, Self.capacity - outstanding) : 0
    if count < bytes.byteCount { senderWaits = true }
    guard count > 0 else { return 0 }
    let transfer =
      spare.popLast()
      ?? USBTransfer(device.handle, endpoint: device.interface.outgoing.address, capacity: Self.capacity) {
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
    guard case .started = state, end == nil, incoming.isWell else { return }
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
    guard end == nil, pump != nil, outgoing.isWell else { return }
    while let first = unsent.first {
      let fillsPackets = first.bytes.count % Int(device.interface.outgoing.packetSize) == 0
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
      guard held.isEmpty, early.isEmpty else { return }
      over()
      handler.channel(self, endedWith: end)
    case .closing: over()
    case .made, .over: break
    }
  }

  /// Ends: nothing is to be sent any more, and nobody hears.
  ///
  /// In a later turn, because a handler may have closed the channel while it still reads from a transfer's buffer, what
  /// is in flight goes to the device's thread with the device itself: the kernel lets nobody else use a device while it
  /// takes a transfer back, and behind USB/IP it asks another machine for each.
  func over() {
    guard let pump else { return }
    state = .over
    closer?.cancel()
    closer = nil
    self.pump = nil
    loop.schedule(after: .zero) { [self] in
      pump.stop()
      let leftovers = USBLeftovers(readers + held + unsent + writers + spare + returned)
      for transfers in [\USBChannel.readers, \.held, \.unsent, \.writers, \.spare, \.returned] {
        self[keyPath: transfers] = []
      }
      let (device, loop) = (device, loop)
      device.errands.run {
        leftovers.takeBack(device.context)
        device.giveBack()
        // Wakes a loop that runs for nothing else than this.
        loop.execute {}
      }
      keptAlive = nil
    }
  }
}
