import AccessoryCore
import AccessorySessions
import IAP2

/// Applies the quirks that ``SessionQuirks`` selects to one session of an accessory.
///
/// ```
///   behavior ─▶ dropped when silent ─▶ queue: held for a touch, cut into pieces ─▶ device
///   behavior ◀─ first settings ◀─ busy, failing ◀─ small buffer ◀─ device
/// ```
///
/// Like a session, the queue has a limit. A write accepts only as many bytes as fit.
final class QuirkStream: SessionFilter {
  private static let queueLimit = 64 * 1024

  /// The number of the session, which is unique within the accessory.
  let number: Int
  private unowned let session: Session
  private let quirks: SessionQuirks
  private let loop: any EventLoop
  private var buffer: OverrunningBuffer?
  private var settings: SettingsFilter?
  private var chunker: ReplyChunker?

  private var queue = ByteQueue()
  private var wasFull = false
  private let sending = OneAtATime()
  private var isSilent = false
  private var lastByte: Instant?
  private var pieceTimer: LoopTimer?
  private var bufferTimer: LoopTimer?
  private var endTimers: [LoopTimer] = []
  /// For each reason why bytes were dropped, how many were dropped the first time and in total.
  private var losses: [(why: String, first: Int, count: Int)] = []

  init(
    _ number: Int, _ session: Session, of quirks: SessionQuirks, on loop: any EventLoop,
    buffer: OverrunningBuffer?, settings: SettingsFilter?, chunker: ReplyChunker?
  ) {
    (self.number, self.session, self.quirks, self.loop) = (number, session, quirks, loop)
    (self.buffer, self.settings, self.chunker) = (buffer, settings, chunker)
  }

  func isOf(_ session: Session) -> Bool { self.session === session }

  func log(_ text: String) { quirks.log("session \(session.id): \(text)") }

  // MARK: Lifetime

  func ends(after time: Duration, _ reason: String) {
    endTimers.append(loop.schedule(after: time) { [weak self] in self?.session.close(reason) })
  }

  func goesSilent(after time: Duration) {
    endTimers.append(
      loop.schedule(after: time) { [weak self] in
        self?.goesSilent()
        self?.log("sends nothing from now on because of the goes-silent quirk")
      })
  }

  func goesSilent() {
    isSilent = true
    queue.removeAll()
    pump()
  }

  // MARK: From the accessory

  func write(_ bytes: RawSpan, on session: Session) -> Int {
    if isSilent || quirks.isWedged { return bytes.byteCount }
    if queue.isEmpty, chunker == nil, !quirks.holdsReplies(of: self) {
      let taken = session.send(bytes)
      if taken > 0 { noteSent() }
      wasFull = taken < bytes.byteCount
      return taken
    }
    var taken = 0
    while taken < bytes.byteCount, queue.count < Self.queueLimit {
      let count = min(bytes.byteCount - taken, Self.queueLimit - queue.count)
      queue.append(bytes.extracting(taken..<taken + count))
      taken += count
      send()
    }
    wasFull = taken < bytes.byteCount
    return taken
  }

  /// Sends bytes that come from a quirk rather than from the accessory's behavior.
  func add(_ bytes: [UInt8]) {
    if isSilent || quirks.isWedged { return }
    queue.append(contentsOf: bytes)
    pump()
  }

  func hasRoom(on session: Session) { pump() }

  /// Sends the bytes that may be sent now. If the queue was full and has room again, notifies the behavior.
  func pump() {
    send()
    if wasFull, queue.count < Self.queueLimit / 2 {
      wasFull = false
      session.notifyWritable()
    }
  }

  private func send() {
    sending.run { sendWhatIsDue() }
  }

  private func sendWhatIsDue() {
    while !queue.isEmpty, session.isOpen, !quirks.holdsReplies(of: self) {
      var count = queue.count
      switch chunker?.next(waiting: count, now: loop.now) {
      case nil: break
      case .send(let piece): count = piece
      case .wait(let deadline):
        pieceTimer = pieceTimer ?? loop.makeTimer { [weak self] in self?.pump() }
        pieceTimer?.arm(at: deadline)
        return
      }
      // The bytes are copied because the call may cause further writes to the queue.
      let piece = queue.copy(0..<count)
      let taken = session.send(piece.span.bytes)
      queue.removeFirst(min(taken, queue.count))
      if taken > 0 { noteSent() }
      if taken < count { return }
      chunker?.sent(now: loop.now)
    }
  }

  private func noteSent() {
    lastByte = loop.now
    quirks.sent(in: self)
  }

  // MARK: From the device

  var isEager: Bool { buffer != nil }

  func receive(_ bytes: [UInt8], on session: Session) {
    lastByte = loop.now
    guard buffer != nil else { return pass(bytes) }
    let lost = buffer?.receive(bytes, now: loop.now) ?? 0
    if lost > 0 { note(lost, "beyond its buffer because of the drops-beyond quirk") }
    armBuffer()
  }

  private func armBuffer() {
    guard let deadline = buffer?.deadline else { return }
    bufferTimer =
      bufferTimer
      ?? loop.makeTimer { [weak self] in
        guard let self else { return }
        let bytes = buffer?.handleTimeout(now: loop.now, isIdle: session.isReadToTheEnd) ?? []
        armBuffer()
        if bytes.isEmpty { return }
        pass(bytes)
        session.notifyReadable()
      }
    bufferTimer?.arm(at: deadline)
  }

  private func pass(_ bytes: [UInt8]) {
    switch quirks.received(in: self) {
    case .accepted: break
    case .ignored(let why): return note(bytes.count, why)
    case .ends(let why):
      note(bytes.count, why)
      return ends(after: .zero, why)
    }
    let before = settings?.ignored ?? 0
    let obeyed = settings?.receive(bytes, now: loop.now) ?? bytes
    note((settings?.ignored ?? 0) - before, "of later settings because of the obeys-first-settings-only quirk")
    if !obeyed.isEmpty { session.pass(obeyed) }
  }

  /// For each reason why bytes are dropped, reports the first loss and, when the session ends, the total.
  private func note(_ count: Int, _ why: String) {
    guard count > 0 else { return }
    if let index = losses.firstIndex(where: { $0.why == why }) {
      losses[index].count += count
    } else {
      losses.append((why, count, count))
      log("drops \(count) bytes \(why)")
    }
  }

  // MARK: The end

  func willClose(_ session: Session) {
    guard !quirks.holdsReplies(of: self), !queue.isEmpty else { return }
    let rest = queue.copy(0..<queue.count)
    queue.removeFirst(min(session.send(rest.span.bytes), queue.count))
  }

  func session(_ session: Session, over end: SessionEnd) {
    for timer in endTimers + [pieceTimer, bufferTimer].compactMap(\.self) { timer.cancel() }
    endTimers = []
    for loss in losses where loss.count > loss.first { log("dropped a total of \(loss.count) bytes \(loss.why)") }
    let held = queue.copy(0..<queue.count)
    queue.removeAll()
    quirks.ended(self, end, quiet: lastByte.map { loop.now - $0 }, held: held)
  }
}
