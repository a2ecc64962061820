import AccessoryCore

/// One exported device attached to one client. Answers the client's transfers over the connection through which the
/// client imported the device.
///
/// A cable begins with the first bulk transfer after the host selects the configuration or the alternate setting of the
/// iAP2 interface. Each program that opens the device therefore finds the accessory newly plugged in. The cable is
/// closed when the connection ends, when the host reselects the configuration or alternate setting, when the accessory
/// closes the cable, or when the host has cancelled all its reads and then made no requests for ``hostPatience``. USB
/// does not report that a host program has ended, so a host that has cancelled its reads and stays silent is assumed to
/// have ended.
///
/// A native channel of the cable begins when the host selects alternate setting 1 of a native transport. The channel
/// ends when the host selects any other setting, when the cable is closed, or when the accessory closes the channel.
final class USBIPImport: BulkCarrier {
  /// The maximum number of pending transfers. No host needs this many transfers.
  private static let mostPending = 1024
  /// The maximum number of bytes, across all endpoints, that the accessory may leave unread. This limit equals Linux's
  /// limit on the pending transfers of all programs. A transfer that exceeds the limit is answered with ENOMEM.
  static let mostHeld = 16 << 20
  /// While at least this many bytes of answers are unsent, the server does not send accessory bytes to the host.
  private static let fullOutbox = 256 * 1024
  /// While at least this many bytes of answers are unsent, the server does not read the client's requests. A client
  /// that reads its answers never reaches this limit.
  private static let mostAnswers = 2 << 20
  /// How long a host that has cancelled all its reads may stay silent before its program is assumed to have ended. A
  /// program that reads with a timeout sends a new request right after cancelling the previous one.
  static let hostPatience = Duration.seconds(5)

  private enum Status {
    static let stalled: Int32 = -32
    static let noMemory: Int32 = -12
  }

  private let loop: any EventLoop
  private let connection: any Channel
  private let onEvent: (Cable) -> Void
  private let over: (_ problem: USBIPError?) -> Void

  // Exclusivity checking is off for the properties that transfers use. An import belongs to one loop. While these
  // properties change, the import calls only the connection's `send`, which does not call back.
  @exclusivity(unchecked) private var control: ControlEndpoint
  private let main: USBIPEndpoints
  private let natives: [USBIPEndpoints]
  private var nativeListener: Cable.Listener?
  private let pairs: [USBIPEndpoints]
  @exclusivity(unchecked) private var quiet: LoopTimer?
  /// The step that the client must take before its time limit expires.
  @exclusivity(unchecked) private var debt: USBIPDebt? = .firstTransfer
  @exclusivity(unchecked) private var debtTimer: LoopTimer?
  @exclusivity(unchecked) private var wasUsed = false
  /// Whether the client has made progress since the timer's previous check.
  @exclusivity(unchecked) private var hasPaid = false
  @exclusivity(unchecked) private var inbox: [UInt8] = []
  /// The answers that the connection has not accepted yet.
  @exclusivity(unchecked) private var outbox = ByteQueue()
  @exclusivity(unchecked) private var isOver = false
  @exclusivity(unchecked) private var isReceiving = false
  @exclusivity(unchecked) private var isMoreToCome = false

  /// - Parameters:
  ///   - onEvent: called with each new cable, before the cable's channel is started.
  ///   - over: called once, when the server must close the connection, with the client's protocol error, if any.
  init(
    _ shape: USBAccessoryShape, on connection: any Channel, loop: any EventLoop, onEvent: @escaping (Cable) -> Void,
    over: @escaping (_ problem: USBIPError?) -> Void
  ) {
    self.connection = connection
    self.loop = loop
    self.onEvent = onEvent
    self.over = over
    control = ControlEndpoint(shape)
    let interfaces = shape.interfaces(at: shape.speed)
    let pairs = interfaces.compactMap { USBIPEndpoints($0, protocolName: shape.nativeProtocol(of: $0)) }
    guard let main = pairs.first(where: { $0.protocolName == nil }) else {
      preconditionFailure("an accessory's first interface has a bulk pair")
    }
    self.main = main
    natives = pairs.filter { $0.protocolName != nil }
    self.pairs = [main] + natives
    quiet = loop.makeTimer { [unowned self] in endCable(.lost("the host stopped reading")) }
    debtTimer = loop.makeTimer { [unowned self] in if let debt { finish(USBIPError(debt.problem)) } }
    debtTimer?.arm(at: loop.now + USBIPDebt.firstTransfer.limit)
  }

  deinit {
    quiet?.cancel()
    debtTimer?.cancel()
  }

  // MARK: The connection

  func received(_ bytes: RawSpan) {
    guard !isOver else { return }
    isReceiving = true
    if inbox.isEmpty {
      let end = work(bytes)
      bytes.extracting(end..<bytes.byteCount).withUnsafeBytes { inbox.append(contentsOf: $0) }
    } else {
      bytes.withUnsafeBytes { inbox.append(contentsOf: $0) }
      // The buffer is moved out during the call, because the call passes slices of it to other code.
      var whole: [UInt8] = []
      swap(&whole, &inbox)
      let end = work(whole.span.bytes)
      swap(&whole, &inbox)
      inbox.removeFirst(end)
    }
    isReceiving = false
    flush()
  }

  /// Handles all complete requests in `bytes`, and returns the offset of the first byte after them.
  private func work(_ bytes: RawSpan) -> Int {
    var head = 0
    do throws(USBIPError) {
      while !isOver, let (request, end) = try USBIPRequest.read(bytes, at: head) {
        head = end
        (wasUsed, hasPaid) = (true, true)
        isMoreToCome = bytes.byteCount - end >= USBIPRequest.headerSize
        try handle(request, bytes)
      }
    } catch {
      finish(error)
    }
    isMoreToCome = false
    return head
  }

  func flush() {
    guard !isOver else { return }
    while !outbox.isEmpty, outbox.consume({ connection.send($0) }) > 0 { hasPaid = true }
    noteDebt()
  }

  private func noteDebt() {
    let next: USBIPDebt? =
      !outbox.isEmpty ? .transferAnswers : !inbox.isEmpty ? .restOfTransfer : wasUsed ? nil : .firstTransfer
    if next == nil, debt == nil { return }
    if next != debt || hasPaid, let next { debtTimer?.arm(at: loop.now + next.limit) }
    if next == nil { debtTimer?.cancel() }
    (debt, hasPaid) = (next, false)
  }

  /// Whether the client has so many unread answers that the server should stop reading its requests.
  var isBehind: Bool { outbox.count > Self.mostAnswers }

  func writable() {
    flush()
    for pair in pairs {
      serveReaders(pair)
      pair.pipe?.notifyWritable()
    }
    flush()
  }

  func connectionEnded(_ end: ChannelEnd) {
    guard !isOver else { return }
    isOver = true
    debtTimer?.cancel()
    endCable(.lost("the USB/IP client left: \(end)"))
  }

  func unplug() {
    finish(nil)
  }

  private func finish(_ problem: USBIPError?) {
    guard !isOver else { return }
    flush()
    isOver = true
    debtTimer?.cancel()
    endCable(.lost("unplugged"))
    over(problem)
  }

  private func endCable(_ end: ChannelEnd) {
    quiet?.cancel()
    nativeListener = nil
    // The main channel ends first because the accessory watches that channel.
    for pair in pairs { pair.leave()?.end(end) }
    for pair in pairs { serve(pair) }
    if !isReceiving { flush() }
  }

  // MARK: Requests

  private func handle(_ request: USBIPRequest, _ bytes: RawSpan) throws(USBIPError) {
    switch request {
    case .unlink(let sequence, let victim): unlink(sequence, victim)
    case .submit(let submission) where submission.endpoint == 0: answerControl(submission)
    case .submit(let submission):
      guard pairs.reduce(0, { $0 + $1.pendingCount }) < Self.mostPending else {
        throw USBIPError("the client has \(Self.mostPending) transfers pending, which is the limit")
      }
      transfer(submission, bytes.extracting(submission.data))
    }
  }

  private func answerControl(_ submission: USBIPRequest.Submission) {
    let (answer, effect) = control.handle(submission.setup)
    switch effect {
    case .nothing: break
    case .restarted, .stopped: endCable(.closedByPeer)
    case .chosen(let interface, let alternate): choose(alternate, of: interface)
    }
    guard let answer else { return self.answer(submission.sequence, status: Status.stalled) }
    let data = submission.isIncoming ? answer.prefix(submission.length) : []
    self.answer(submission.sequence, count: submission.isIncoming ? data.count : submission.length)
    outbox.append(contentsOf: data)
  }

  /// Begins or ends a native transport session, as the host requested. If there is no cable, or if the accessory
  /// refuses the session, the endpoints are halted.
  private func choose(_ alternate: UInt8, of interface: UInt8) {
    guard let pair = natives.first(where: { $0.interface == interface }), let name = pair.protocolName else { return }
    pair.leave()?.end(.closedByPeer)
    if alternate == 1, let nativeListener {
      let pipe = BulkPipe(self, on: loop)
      pair.begin(pipe)
      nativeListener(name, pipe)
    }
    serve(pair)
  }

  private func transfer(_ submission: USBIPRequest.Submission, _ data: RawSpan) {
    let sequence = submission.sequence
    guard control.isConfigured, let pair = pair(of: submission), pair.takes(submission) else {
      return answer(sequence, status: Status.stalled)
    }
    if submission.isIncoming {
      pair.addReader(sequence, submission.length)
    } else if !pair.deliversAtOnce {
      guard pairs.reduce(data.byteCount, { $0 + $1.heldBytes }) <= Self.mostHeld else {
        return answer(sequence, status: Status.noMemory)
      }
      pair.addWriter(sequence, data.withUnsafeBytes { Array($0) })
    } else {
      answer(sequence, count: data.byteCount)
      pair.pipe?.deliver(data)
    }
    if pair === main {
      quiet?.cancel()
      if main.pipe == nil, !isOver { beginCable() }
    }
    serve(pair)
  }

  private func pair(of submission: USBIPRequest.Submission) -> USBIPEndpoints? {
    main.has(submission) ? main : natives.first { $0.has(submission) }
  }

  private func beginCable() {
    let pipe = BulkPipe(self, on: loop)
    main.begin(pipe)
    if natives.isEmpty { return onEvent(Cable(main: pipe)) }
    onEvent(
      Cable(main: pipe) { [weak self, weak pipe] listener in
        if let self, pipe === main.pipe { nativeListener = listener }
      })
  }

  private func unlink(_ sequence: UInt32, _ victim: UInt32) {
    let wasRead = main.isRead
    let wasPending = pairs.contains { $0.unlink(victim) }
    if wasRead, !main.isRead, main.pipe != nil { quiet?.arm(at: loop.now + Self.hostPatience) }
    outbox.write { USBIPRequest.unlinked(sequence, wasPending: wasPending, into: &$0) }
  }

  private func serve(_ pair: USBIPEndpoints) {
    serveReaders(pair)
    serveWriters(pair)
    pair.pipe?.notifyWritable()
  }

  private func serveReaders(_ pair: USBIPEndpoints) {
    while hasRoom, let (sequence, piece) = pair.nextRead() {
      if let piece { answer(sequence, with: piece.span.bytes) } else { answer(sequence, status: Status.stalled) }
    }
  }

  private func serveWriters(_ pair: USBIPEndpoints) {
    while let (sequence, data) = pair.nextWrite() {
      guard let data else {
        answer(sequence, status: Status.stalled)
        continue
      }
      answer(sequence, count: data.count)
      pair.pipe?.deliver(data.span.bytes)
    }
  }

  // MARK: Answers

  private var hasRoom: Bool { outbox.count < Self.fullOutbox }

  private func answer(_ sequence: UInt32, status: Int32 = 0, count: Int = 0) {
    outbox.write { USBIPRequest.answer(sequence, status: status, count: count, into: &$0) }
  }

  /// Sends bytes to the host after all earlier answers, without copying them. While more requests are waiting, their
  /// answers are collected and then sent with one system call.
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

  private func pair(of pipe: BulkPipe) -> USBIPEndpoints? {
    main.pipe === pipe ? main : natives.first { $0.pipe === pipe }
  }

  func pipe(_ pipe: BulkPipe, takes bytes: RawSpan) -> Int {
    guard let pair = pair(of: pipe) else { return 0 }
    var taken = 0
    while taken < bytes.byteCount, hasRoom, let (sequence, length) = pair.takeReader() {
      // Limiting the size of an answer also limits how many bytes are queued.
      let piece = bytes.extracting(taken..<min(taken + min(length, BulkPipe.capacity), bytes.byteCount))
      taken += piece.byteCount
      answer(sequence, with: piece)
    }
    if !isReceiving { noteDebt() }
    return taken
  }

  func pipeHasBytes(_ pipe: BulkPipe) {
    guard let pair = pair(of: pipe) else { return }
    serveReaders(pair)
    // While requests keep arriving, answers are held and sent together at the end of the event loop turn.
    if !isReceiving { flush() }
  }

  func pipeTakesBytes(_ pipe: BulkPipe) {
    guard let pair = pair(of: pipe) else { return }
    serve(pair)
    flush()
  }

  func pipeIsClosed(_ pipe: BulkPipe) {
    guard let pair = pair(of: pipe) else { return }
    serveReaders(pair)
    guard pair === main else {
      pair.close()
      serve(pair)
      if !isReceiving { flush() }
      return
    }
    _ = main.leave()
    finish(nil)
  }
}
