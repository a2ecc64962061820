import AccessoryCore

/// One device in the hands of one client: answers its transfers over the connection that it was imported on.
///
/// A cable begins with the first bulk transfer after the host chose the configuration or the alternate setting of the iAP
/// interface, so that each program which opens the device finds the accessory freshly plugged in. It ends with the
/// connection, with the next such choice, when the accessory closes it, or when the host has taken all of its reads back
/// and for ``hostPatience`` has asked for nothing: the program is gone, for which USB has no word.
///
/// A native channel of the cable begins when the host chooses alternate 1 of a native transport and ends with any other
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

  // Not checked for overlapping access, as all that a transfer touches: an import belongs to one loop, and calls nobody while
  // these change but the connection's `send`, which calls nobody back.
  @exclusivity(unchecked) private var control: ControlEndpoint
  /// The pair of iAP2.
  private let main: USBIPLine
  /// The pairs of native transport.
  private let natives: [USBIPLine]
  private var nativeListener: Cable.Listener?
  /// All of them, that of iAP2 first.
  private let lines: [USBIPLine]
  @exclusivity(unchecked) private var quiet: LoopTimer?
  /// The beginning of a request whose end has not come.
  @exclusivity(unchecked) private var inbox: [UInt8] = []
  /// Answers on their way to the connection.
  @exclusivity(unchecked) private var outbox = ByteQueue()
  @exclusivity(unchecked) private var isOver = false
  @exclusivity(unchecked) private var isReceiving = false
  /// Whether another request lies behind the one that is handled.
  @exclusivity(unchecked) private var isMoreToCome = false

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
    natives = lines.filter { $0.protocolName != nil }
    self.lines = [main] + natives
    quiet = loop.makeTimer { [unowned self] in endCable(.lost("the host stopped reading")) }
  }

  deinit { quiet?.cancel() }

  // MARK: The connection

  func received(_ bytes: RawSpan) {
    guard !isOver else { return }
    isReceiving = true
    if inbox.isEmpty {
      let end = work(bytes)
      bytes.extracting(end..<bytes.byteCount).withUnsafeBytes { inbox.append(contentsOf: $0) }
    } else {
      bytes.withUnsafeBytes { inbox.append(contentsOf: $0) }
      // Moved out for the call: what is delivered lies in it.
      var whole: [UInt8] = []
      swap(&whole, &inbox)
      let end = work(whole.span.bytes)
      swap(&whole, &inbox)
      inbox.removeFirst(end)
    }
    isReceiving = false
    flush()
  }

  /// Handles the requests that are whole; where they end.
  private func work(_ bytes: RawSpan) -> Int {
    var head = 0
    do throws(USBIPError) {
      while !isOver, let (request, end) = try USBIPRequest.read(bytes, at: head) {
        head = end
        isMoreToCome = bytes.byteCount - end >= USBIPRequest.headerSize
        try handle(request, bytes)
      }
    } catch {
      finish(error)
    }
    isMoreToCome = false
    return head
  }

  /// Sends what waits for the connection.
  func flush() {
    guard !isOver else { return }
    while !outbox.isEmpty, outbox.consume({ connection.send($0) }) > 0 {}
  }

  /// Whether the client takes so few answers that no more of its requests are to be read.
  var isBehind: Bool { outbox.count > Self.mostAnswers }

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
    nativeListener = nil
    // The main one first: it is what the accessory goes by.
    for line in lines { line.leave()?.end(end) }
    for line in lines { serve(line) }
    if !isReceiving { flush() }
  }

  // MARK: Requests

  private func handle(_ request: USBIPRequest, _ bytes: RawSpan) throws(USBIPError) {
    switch request {
    case .unlink(let sequence, let victim): unlink(sequence, victim)
    case .submit(let submission) where submission.endpoint == 0: answerControl(submission)
    case .submit(let submission):
      guard lines.reduce(0, { $0 + $1.pendingCount }) < Self.mostPending else {
        throw .tooManyRequests(Self.mostPending)
      }
      transfer(submission, bytes.extracting(submission.data))
    }
  }

  private func answerControl(_ submission: USBIPRequest.Submission) {
    let (answer, effect) = control.handle(submission.setup)
    switch effect {
    case .nothing, .haltCleared: break
    case .restarted, .stopped: endCable(.closedByPeer)
    case .chosen(let interface, let alternate): choose(alternate, of: interface)
    }
    switch answer {
    case .stall: self.answer(submission.sequence, status: Status.stalled)
    case .data(let bytes):
      let data = submission.isIncoming ? bytes.prefix(submission.length) : []
      let count = submission.isIncoming ? data.count : submission.length
      self.answer(submission.sequence, count: count)
      outbox.append(contentsOf: data)
    }
  }

  /// The host begins or ends a session of native transport. One that begins without a cable, or that the accessory does
  /// not want, finds its endpoints halted.
  private func choose(_ alternate: UInt8, of interface: UInt8) {
    guard let line = natives.first(where: { $0.interface == interface }), let name = line.protocolName else { return }
    line.leave()?.end(.closedByPeer)
    if alternate == 1, let nativeListener {
      let pipe = BulkPipe(self, on: loop)
      line.begin(pipe)
      nativeListener(name, pipe)
    }
    serve(line)
  }

  private func transfer(_ submission: USBIPRequest.Submission, _ data: RawSpan) {
    let sequence = submission.sequence
    guard control.isConfigured, let line = line(of: submission), line.takes(submission) else {
      return answer(sequence, status: Status.stalled)
    }
    if submission.isIncoming {
      line.addReader(sequence, submission.length)
    } else if !line.deliversAtOnce {
      guard lines.reduce(data.byteCount, { $0 + $1.heldBytes }) <= Self.mostHeld else {
        return answer(sequence, status: Status.noMemory)
      }
      line.addWriter(sequence, data.withUnsafeBytes { Array($0) })
    } else {
      answer(sequence, count: data.byteCount)
      line.pipe?.deliver(data)
    }
    if line === main {
      quiet?.cancel()
      if main.pipe == nil, !isOver { beginCable() }
    }
    serve(line)
  }

  private func line(of submission: USBIPRequest.Submission) -> USBIPLine? {
    main.has(submission) ? main : natives.first { $0.has(submission) }
  }

  private func beginCable() {
    let pipe = BulkPipe(self, on: loop)
    main.begin(pipe)
    if natives.isEmpty { return hear(Cable(main: pipe)) }
    hear(
      Cable(main: pipe) { [weak self, weak pipe] listener in
        if let self, pipe === main.pipe { nativeListener = listener }
      })
  }

  private func unlink(_ sequence: UInt32, _ victim: UInt32) {
    let wasRead = main.isRead
    let wasPending = lines.contains { $0.unlink(victim) }
    if wasRead, !main.isRead, main.pipe != nil { quiet?.arm(at: loop.now + Self.hostPatience) }
    outbox.write { USBIPRequest.unlinked(sequence, wasPending: wasPending, into: &$0) }
  }

  private func serve(_ line: USBIPLine) {
    serveReaders(line)
    serveWriters(line)
    line.pipe?.tellWritable()
  }

  private func serveReaders(_ line: USBIPLine) {
    while hasRoom, let (sequence, piece) = line.nextRead() {
      if let piece { answer(sequence, with: piece.span.bytes) } else { answer(sequence, status: Status.stalled) }
    }
  }

  private func serveWriters(_ line: USBIPLine) {
    while let (sequence, data) = line.nextWrite() {
      guard let data else {
        answer(sequence, status: Status.stalled)
        continue
      }
      answer(sequence, count: data.count)
      line.pipe?.deliver(data.span.bytes)
    }
  }

  // MARK: Answers

  /// Whether bytes may go to the host.
  private var hasRoom: Bool { outbox.count < Self.fullOutbox }

  private func answer(_ sequence: UInt32, status: Int32 = 0, count: Int = 0) {
    outbox.write { USBIPRequest.answer(sequence, status: status, count: count, into: &$0) }
  }

  /// Gives the host bytes. They go out from where they lie, with all answers before them; but while more requests are at
  /// hand, the answers to all of them are gathered for one call of the system.
  private func answer(_ sequence: UInt32, with piece: RawSpan) {
    answer(sequence, count: piece.byteCount)
    var taken = 0
    if !isMoreToCome {
      outbox.consume { answers in
        let sent = connection.send(answers, then: piece)
        taken = max(0, sent - answers.byteCount)
        return sent - taken
      }
    }
    if taken < piece.byteCount { outbox.append(piece.extracting(taken..<piece.byteCount)) }
  }

  // MARK: The pipes

  private func line(of pipe: BulkPipe) -> USBIPLine? {
    main.pipe === pipe ? main : natives.first { $0.pipe === pipe }
  }

  func pipe(_ pipe: BulkPipe, takes bytes: RawSpan) -> Int {
    guard let line = line(of: pipe) else { return 0 }
    var taken = 0
    while taken < bytes.byteCount, hasRoom, let (sequence, length) = line.takeReader() {
      // No more than what waits could be, so that what the connection does not take has a bound.
      let piece = bytes.extracting(taken..<min(taken + min(length, BulkPipe.capacity), bytes.byteCount))
      taken += piece.byteCount
      answer(sequence, with: piece)
    }
    return taken
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
