import AccessoryCore

/// One device in the hands of one client: answers its transfers over the connection that it was imported on.
///
/// A cable begins with the first bulk transfer after the host chose the configuration or the alternate setting of the iAP
/// interface, so that each program which opens the device finds the accessory freshly plugged in. It ends with the
/// connection, with the next such choice, when the accessory closes it, or when the host has taken all of its reads back
/// and for ``hostPatience`` has asked for nothing: the program is gone, for which USB has no word.
///
/// A side channel of the cable begins when the host chooses alternate 1 of a native transport and ends with any other
/// choice, with the cable, or when the accessory closes it.
final class USBIPImport: BulkCarrier {
  /// More than any host keeps pending.
  private static let mostPending = 1024
  /// What the accessory has not taken yet may have so many bytes, on all endpoints together; as many as Linux lets all its
  /// programs have on their way. A transfer that would make it more is answered with ENOMEM.
  static let mostHeld = 16 << 20
  /// Answers that may wait for the connection; then no more bytes go to the host.
  private static let fullOutbox = 256 * 1024
  /// Answers that may wait before the client's requests are left unread; more than a client that reads ever leaves.
  private static let mostAnswers = 2 << 20
  /// How long a host that has taken back all of its reads may ask for nothing. Programs that read with a time limit ask
  /// again at once.
  static let hostPatience = Duration.seconds(5)

  private enum Status {
    static let stalled: Int32 = -32
    static let noMemory: Int32 = -12
  }

  private let loop: any EventLoop
  private let connection: any Channel
  private let hear: (Cable) -> Void
  private let over: (_ problem: USBIPError?) -> Void

  private var control: ControlEndpoint
  /// The pair of iAP2.
  private let main: USBIPLine
  /// The pairs of native transport.
  private let sides: [USBIPLine]
  private var hearSide: Cable.Listener?
  private var quiet: LoopTimer?
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
    let interfaces = shape.interfaces(at: shape.speed)
    let lines = interfaces.compactMap { USBIPLine($0, protocolName: shape.nativeProtocol(of: $0)) }
    guard let main = lines.first(where: { $0.protocolName == nil }) else {
      preconditionFailure("an accessory's first interface has a bulk pair")
    }
    self.main = main
    sides = lines.filter { $0.protocolName != nil }
    quiet = loop.makeTimer { [unowned self] in endCable(.lost("the host reads no more")) }
  }

  deinit { quiet?.cancel() }

  private var lines: [USBIPLine] { [main] + sides }

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
    } else if outboxHead >= Self.mostAnswers {
      outbox.removeFirst(outboxHead)
      outboxHead = 0
    }
  }

  /// Whether the client takes so few answers that no more of its requests are to be read.
  var isBehind: Bool { outbox.count - outboxHead > Self.mostAnswers }

  /// There is room on the connection again.
  func writable() {
    flush()
    for line in lines {
      serveReaders(line)
      line.pipe?.tellWritable()
    }
    flush()
  }

  /// The connection is gone.
  func connectionEnded(_ end: ChannelEnd) {
    guard !isOver else { return }
    isOver = true
    endCable(.lost("the USB/IP client left: \(end)"))
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
    endCable(.lost("unplugged"))
    over(problem)
  }

  /// Ends everything that the host has of the accessory.
  private func endCable(_ end: ChannelEnd) {
    quiet?.cancel()
    hearSide = nil
    // The main one first: it is what the accessory goes by.
    for line in lines { line.leave()?.end(end) }
    for line in lines { serve(line) }
    if !isReceiving { flush() }
  }

  // MARK: Requests

  private func handle(_ request: USBIPRequest) throws(USBIPError) {
    switch request {
    case .unlink(let sequence, let victim): unlink(sequence, victim)
    case .submit(let submission) where submission.endpoint == 0: answerControl(submission)
    case .submit(let submission):
      guard lines.reduce(0, { $0 + $1.pendingCount }) < Self.mostPending else {
        throw .tooManyRequests(Self.mostPending)
      }
      transfer(submission)
    }
  }

  private func answerControl(_ submission: USBIPRequest.Submission) {
    let setup = ControlEndpoint.Setup(submission.setup[...])
    let (answer, effect) = control.handle(setup)
    switch effect {
    case .nothing, .haltCleared: break
    case .restarted, .stopped: endCable(.closedByPeer)
    case .chosen(let interface, let alternate): choose(alternate, of: interface)
    }
    switch answer {
    case .stall: USBIPRequest.answer(submission.sequence, status: Status.stalled, count: 0, into: &outbox)
    case .data(let bytes):
      let data = submission.isIncoming ? bytes.prefix(submission.length) : []
      let count = submission.isIncoming ? data.count : submission.length
      USBIPRequest.answer(submission.sequence, status: 0, count: count, into: &outbox)
      outbox += data
    }
  }

  /// The host begins or ends a session of native transport. One that begins without a cable, or that the accessory does
  /// not want, finds its endpoints halted.
  private func choose(_ alternate: UInt8, of interface: UInt8) {
    guard let line = sides.first(where: { $0.interface == interface }), let name = line.protocolName else { return }
    line.leave()?.end(.closedByPeer)
    if alternate == 1, let hearSide {
      let pipe = BulkPipe(self, on: loop)
      line.begin(pipe)
      hearSide(name, pipe)
    }
    serve(line)
  }

  private func transfer(_ submission: USBIPRequest.Submission) {
    let line = lines.first { $0.has(submission) }
    guard control.isConfigured, let line, line.take(submission) else {
      return USBIPRequest.answer(submission.sequence, status: Status.stalled, count: 0, into: &outbox)
    }
    if lines.reduce(0, { $0 + $1.heldBytes }) > Self.mostHeld {
      _ = line.unlink(submission.sequence)
      return USBIPRequest.answer(submission.sequence, status: Status.noMemory, count: 0, into: &outbox)
    }
    if line === main {
      quiet?.cancel()
      if main.pipe == nil { beginCable() }
    }
    serve(line)
  }

  private func beginCable() {
    let pipe = BulkPipe(self, on: loop)
    main.begin(pipe)
    if sides.isEmpty { return hear(Cable(main: pipe)) }
    hear(
      Cable(main: pipe) { [weak self, weak pipe] listener in
        if let self, pipe === main.pipe { hearSide = listener }
      })
  }

  private func unlink(_ sequence: UInt32, _ victim: UInt32) {
    let wasRead = main.isRead
    let wasPending = lines.contains { $0.unlink(victim) }
    if wasRead, !main.isRead, main.pipe != nil { quiet?.arm(at: loop.now + Self.hostPatience) }
    USBIPRequest.unlinked(sequence, wasPending: wasPending, into: &outbox)
  }

  private func serve(_ line: USBIPLine) {
    serveReaders(line)
    serveWriters(line)
    line.pipe?.tellWritable()
  }

  private func serveReaders(_ line: USBIPLine) {
    while outbox.count - outboxHead < Self.fullOutbox, let answer = line.nextRead() { put(answer) }
  }

  private func serveWriters(_ line: USBIPLine) {
    while let (answer, data) = line.nextWrite() {
      put(answer)
      if case .written = answer { line.pipe?.deliver(data) }
    }
  }

  private func put(_ answer: USBIPLine.Answer) {
    switch answer {
    case .read(let sequence, let piece):
      USBIPRequest.answer(sequence, status: 0, count: piece.count, into: &outbox)
      outbox += piece
    case .written(let sequence, let count): USBIPRequest.answer(sequence, status: 0, count: count, into: &outbox)
    case .stalled(let sequence): USBIPRequest.answer(sequence, status: Status.stalled, count: 0, into: &outbox)
    }
  }

  // MARK: The pipes

  private func line(of pipe: BulkPipe) -> USBIPLine? {
    lines.first { $0.pipe === pipe }
  }

  func pipeHasBytes(_ pipe: BulkPipe) {
    guard let line = line(of: pipe) else { return }
    serveReaders(line)
    // Inside a turn of the connection everything goes out at its end.
    if !isReceiving { flush() }
  }

  func pipeTakesBytes(_ pipe: BulkPipe) {
    guard let line = line(of: pipe) else { return }
    serve(line)
    flush()
  }

  func pipeIsClosed(_ pipe: BulkPipe) {
    guard let line = line(of: pipe) else { return }
    serveReaders(line)
    guard line === main else {
      line.close()
      serve(line)
      if !isReceiving { flush() }
      return
    }
    _ = main.leave()
    finish(nil)
  }
}
