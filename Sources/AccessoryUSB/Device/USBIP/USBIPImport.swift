import AccessoryCore

/// One device in the hands of one client: answers its transfers over the connection that it was imported on.
///
/// A cable begins with the first bulk transfer after the host chose the configuration or the alternate setting, so that
/// each program which opens the device finds the accessory freshly plugged in. It ends with the connection, with the
/// next such choice, or when the accessory closes it.
final class USBIPImport: BulkCarrier {
  /// More than any host keeps pending.
  private static let mostPending = 1024
  /// Answers that may wait for the connection; then no more bytes go to the host.
  private static let fullOutbox = 256 * 1024

  private let loop: any EventLoop
  private let connection: any Channel
  private let hear: (Cable) -> Void
  private let over: (_ problem: USBIPError?) -> Void

  private var control: ControlEndpoint
  private let endpoints: (incoming: UInt8, outgoing: UInt8)
  private var pipe: BulkPipe?
  /// Transfers in which the host waits for bytes, in order.
  private var readers: [(sequence: UInt32, length: Int)] = []
  /// Transfers whose bytes the accessory does not take yet, in order.
  private var writers: [(sequence: UInt32, data: [UInt8])] = []
  private var inbox: [UInt8] = []
  private var outbox: [UInt8] = []
  private var outboxHead = 0
  private var isOver = false
  private var isReceiving = false

  /// - Parameters:
  ///   - hear: gets each cable; its channel is not started.
  ///   - over: called once, when the connection is over from this side: with what the client did wrong, if it did.
  init(
    _ shape: USBAccessoryShape, on connection: any Channel, loop: any EventLoop, hear: @escaping (Cable) -> Void,
    over: @escaping (_ problem: USBIPError?) -> Void
  ) {
    self.connection = connection
    self.loop = loop
    self.hear = hear
    self.over = over
    control = ControlEndpoint(shape)
    guard let pair = shape.interfaces(at: shape.speed)[0].bulkPair else {
      preconditionFailure("an accessory's first interface has a bulk pair")
    }
    endpoints = (pair.incoming.address & 0x0F, pair.outgoing.address & 0x0F)
  }

  // MARK: The connection

  func received(_ bytes: RawSpan) {
    bytes.withUnsafeBytes { inbox.append(contentsOf: $0) }
    work()
  }

  private func work() {
    guard !isReceiving, !isOver else { return }
    isReceiving = true
    defer { isReceiving = false }
    var head = 0
    do throws(USBIPError) {
      while !isOver, let (request, end) = try USBIPRequest.read(inbox, at: head) {
        head = end
        try handle(request)
      }
    } catch {
      finish(error)
    }
    inbox.removeFirst(min(head, inbox.count))
    if !isOver { flush() }
  }

  /// Sends what waits for the connection.
  func flush() {
    guard !isOver else { return }
    while outboxHead < outbox.count {
      let taken = connection.send(outbox.span.bytes.extracting(outboxHead..<outbox.count))
      if taken == 0 { break }
      outboxHead += taken
    }
    if outboxHead == outbox.count {
      outbox.removeAll(keepingCapacity: true)
      outboxHead = 0
    }
  }

  /// There is room on the connection again.
  func writable() {
    flush()
    serveReaders()
    pipe?.tellWritable()
    flush()
  }

  /// The connection is gone.
  func connectionEnded(_ end: ChannelEnd) {
    guard !isOver else { return }
    isOver = true
    endPipe(.lost("the USB/IP client left: \(end)"))
  }

  /// Pulls the plug from this side.
  func unplug() {
    finish(nil)
  }

  private func finish(_ problem: USBIPError?) {
    guard !isOver else { return }
    flush()
    isOver = true
    connection.close()
    endPipe(.lost("unplugged"))
    over(problem)
  }

  private func endPipe(_ end: ChannelEnd) {
    let old = pipe
    pipe = nil
    old?.end(end)
  }

  // MARK: Requests

  private func handle(_ request: USBIPRequest) throws(USBIPError) {
    switch request {
    case .unlink(let sequence, let victim): unlink(sequence, victim)
    case .submit(let submission) where submission.endpoint == 0: answerControl(submission)
    case .submit(let submission):
      guard readers.count + writers.count < Self.mostPending else { throw .tooManyRequests(Self.mostPending) }
      transfer(submission)
    }
  }

  private func answerControl(_ submission: USBIPRequest.Submission) {
    let setup = ControlEndpoint.Setup(submission.setup[...])
    let (answer, effect) = control.handle(setup)
    switch effect {
    case .nothing: break
    case .restarted, .stopped: endPipe(.closedByPeer)
    case .haltCleared: break
    }
    switch answer {
    case .stall: USBIPRequest.answer(submission.sequence, status: -32, count: 0, into: &outbox)
    case .data(let bytes):
      let data = submission.isIncoming ? bytes.prefix(submission.length) : []
      let count = submission.isIncoming ? data.count : submission.length
      USBIPRequest.answer(submission.sequence, status: 0, count: count, into: &outbox)
      outbox += data
    }
  }

  private func transfer(_ submission: USBIPRequest.Submission) {
    let expected = submission.isIncoming ? endpoints.incoming : endpoints.outgoing
    guard control.isConfigured, submission.endpoint == expected else {
      return USBIPRequest.answer(submission.sequence, status: -32, count: 0, into: &outbox)
    }
    if submission.isIncoming {
      readers.append((submission.sequence, submission.length))
    } else {
      writers.append((submission.sequence, submission.data))
    }
    if pipe == nil {
      let made = BulkPipe(self, on: loop)
      pipe = made
      hear(Cable(main: made))
    }
    serveReaders()
    serveWriters()
    pipe?.tellWritable()
  }

  private func unlink(_ sequence: UInt32, _ victim: UInt32) {
    let pending = readers.count + writers.count
    readers.removeAll { $0.sequence == victim }
    writers.removeAll { $0.sequence == victim }
    USBIPRequest.unlinked(sequence, wasPending: readers.count + writers.count < pending, into: &outbox)
  }

  private func serveReaders() {
    while !readers.isEmpty, outbox.count - outboxHead < Self.fullOutbox, let piece = pipe?.take(readers[0].length) {
      USBIPRequest.answer(readers.removeFirst().sequence, status: 0, count: piece.count, into: &outbox)
      outbox += piece
    }
  }

  private func serveWriters() {
    while let pipe, pipe.takesBytes, !writers.isEmpty {
      let (sequence, data) = writers.removeFirst()
      USBIPRequest.answer(sequence, status: 0, count: data.count, into: &outbox)
      pipe.deliver(data)
    }
  }

  // MARK: The pipe

  func pipeHasBytes(_ pipe: BulkPipe) {
    serveReaders()
    // Inside a turn of the connection everything goes out at its end.
    if !isReceiving { flush() }
  }

  func pipeTakesBytes(_ pipe: BulkPipe) {
    serveWriters()
    serveReaders()
    self.pipe?.tellWritable()
    flush()
  }

  func pipeIsClosed(_ pipe: BulkPipe) {
    guard pipe === self.pipe else { return }
    serveReaders()
    self.pipe = nil
    finish(nil)
  }
}
