import AccessoryCore
import AccessoryFormats
import AccessoryProfiles

// Each of these types applies one of the quirks in AccessoryProfiles/Quirks/SessionQuirks.swift.

// MARK: When the bytes of a session are passed on

/// Applies the quirk `drops-beyond`. The buffer is emptied at a given rate, once every hundredth of a second.
struct OverrunningBuffer {
  private let quirk: SmallBuffer
  private var waiting = ByteQueue()
  private(set) var deadline: Instant?

  init(_ quirk: SmallBuffer) {
    self.quirk = quirk
  }

  private var piece: Int { max(1, quirk.rate / 100) }
  private var interval: Duration { .nanoseconds(Int64(piece) * 1_000_000_000 / Int64(quirk.rate)) }

  mutating func receive(_ bytes: [UInt8], now: Instant) -> Int {
    let fitting = min(bytes.count, quirk.bytes - waiting.count)
    waiting.append(contentsOf: bytes[..<fitting])
    if deadline == nil, !waiting.isEmpty { deadline = now + interval }
    return bytes.count - fitting
  }

  /// Returns the bytes to take from the buffer now. `isIdle` is true if all earlier bytes have been read.
  mutating func handleTimeout(now: Instant, isIdle: Bool) -> [UInt8] {
    guard let due = deadline, due <= now else { return [] }
    deadline = now + interval
    guard isIdle else { return [] }
    let bytes = waiting.copy(0..<min(piece, waiting.count))
    waiting.removeFirst(bytes.count)
    if waiting.isEmpty { deadline = nil }
    return bytes
  }
}

/// Applies the quirk `reply-chunking` by deciding how many of the waiting bytes to send now.
struct ReplyChunker {
  enum Step: Equatable {
    case send(Int)
    case wait(until: Instant)
  }

  private let quirk: ReplyChunking
  private var random: SeededRandom
  private var ready: Instant?
  /// The length of the next piece. The length stays the same while the piece waits for room.
  private var piece: Int?

  init(_ quirk: ReplyChunking, _ random: SeededRandom) {
    (self.quirk, self.random) = (quirk, random)
  }

  mutating func next(waiting count: Int, now: Instant) -> Step {
    if quirk.pieces == .glued, ready == nil { ready = now + quirk.gap }
    if let ready, ready > now { return .wait(until: ready) }
    switch quirk.pieces {
    case .bytes: return .send(1)
    case .glued: return .send(count)
    case .split:
      let length = piece ?? Int.random(in: 1...quirk.size, using: &random)
      piece = length
      return .send(min(length, count))
    }
  }

  mutating func sent(now: Instant) {
    piece = nil
    ready = quirk.pieces == .glued ? nil : now + quirk.gap
  }
}

/// The last bytes that an accessory wrote in its sessions. If the accessory has the stale-bytes quirk, the endpoint
/// still holds these bytes when a session ends, and sends them in the next session.
///
/// Stale bytes do not outlive an attachment, because the endpoint is empty after the accessory reconnects.
struct StaleBytes: Equatable {
  private let limit: Int
  private var bytes: [UInt8] = []

  init(limit: Int) {
    self.limit = limit
  }

  mutating func keep(_ written: RawSpan) {
    let fresh = written.extracting(max(0, written.byteCount - limit)..<written.byteCount)
    bytes.removeFirst(max(0, bytes.count + fresh.byteCount - limit))
    fresh.withUnsafeBytes { bytes.append(contentsOf: $0) }
  }

  mutating func take() -> [UInt8] {
    defer { bytes.removeAll(keepingCapacity: true) }
    return bytes
  }
}

// MARK: - How long an accessory's sessions last

/// Applies the quirk `ends-sessions`.
///
/// ```
///            first session      after `episode`      first session after `calm`
///   waiting ──────────────▶ episode ────────────▶ calm ──────────────────────▶ episode …
/// ```
///
/// Time continues to pass while the accessory is unplugged.
struct SessionEnder {
  private let quirk: EndedSessions
  private var random: SeededRandom
  private var beginning: Instant?

  init(_ quirk: EndedSessions, _ random: SeededRandom) {
    (self.quirk, self.random) = (quirk, random)
  }

  /// Handles a new session. Returns how long the session lasts, or nil if only the device ends it.
  mutating func opened(now: Instant) -> Duration? {
    if let beginning, quirk.episode > .zero, now >= beginning + quirk.episode {
      guard quirk.calm > .zero, now >= beginning + quirk.episode + quirk.calm else { return nil }
      self.beginning = now
    }
    if beginning == nil { beginning = now }
    return (quirk.shortest...quirk.longest).random(using: &random)
  }
}

/// Applies the quirk `wedges-after` by counting the sessions that were opened during the period `within`. Invariant: a
/// wedged accessory answers nothing until it has been without power for at least `rest`.
struct OpenCounter {
  private let quirk: WedgedByOpens
  private var opens: [Instant] = []
  private(set) var isWedged = false

  init(_ quirk: WedgedByOpens) {
    self.quirk = quirk
  }

  /// Counts a session that was opened. Returns true if the session wedges the accessory.
  mutating func opened(now: Instant) -> Bool {
    guard !isWedged else { return false }
    opens.removeAll { $0 + quirk.within < now }
    opens.append(now)
    isWedged = opens.count >= quirk.opens
    return isWedged
  }

  /// Called when power returns. `rest` is how long the accessory was without power.
  mutating func pluggedIn(after rest: Duration) {
    if rest >= quirk.rest { (opens, isWedged) = ([], false) }
  }

  var story: String {
    "wedged by \(quirk.opens) opens within \(DurationText.format(quirk.within)): it stops answering until it is "
      + "unplugged for \(DurationText.format(quirk.rest)) (wedges-after quirk)"
  }
}

/// Applies the quirk `goes-silent` by counting sessions since the last power cycle.
struct SilenceMachine {
  private let quirk: GoesSilent
  private var random: SeededRandom
  private var sessions = 0

  init(_ quirk: GoesSilent, _ random: SeededRandom) {
    (self.quirk, self.random) = (quirk, random)
  }

  mutating func opened() -> Duration {
    sessions += 1
    let time = sessions == 1 ? quirk.after : sessions == 2 ? quirk.restart : quirk.later
    guard quirk.jitter > .zero else { return time }
    return max(.zero, time + quirk.jitter * Double.random(in: -1...1, using: &random))
  }

  mutating func pluggedIn(after rest: Duration) {
    if rest >= quirk.rest { sessions = 0 }
  }
}

/// Applies the quirk `phantom-session`. Invariant: a session that the accessory itself ends leaves no phantom session
/// behind.
struct PhantomMachine {
  private let quirk: PhantomSession
  private var random: SeededRandom
  private(set) var isHaunted = false

  init(_ quirk: PhantomSession, _ random: SeededRandom) {
    (self.quirk, self.random) = (quirk, random)
  }

  /// Handles a new session. Returns how long the session lasts, or nil if only the device ends it.
  mutating func opened() -> Duration? {
    isHaunted ? (Duration.zero...quirk.ends).random(using: &random) : nil
  }

  /// Handles the end of a session that was ended by the device or by an unplug. `quiet` is the time since the session's
  /// last byte. Returns true if a phantom session remains.
  mutating func cutOff(after quiet: Duration) -> Bool {
    guard !isHaunted, quiet < quirk.within else { return false }
    isHaunted = true
    return true
  }

  mutating func pluggedIn(after rest: Duration) {
    if rest >= quirk.rest { isHaunted = false }
  }

  var story: String {
    "stays open as a phantom: every new session ends until the accessory is unplugged for "
      + "\(DurationText.format(quirk.rest)) (phantom-session quirk)"
  }
}

extension ClosedRange<Duration> {
  fileprivate func random(using random: inout SeededRandom) -> Duration {
    lowerBound + (upperBound - lowerBound) * Double.random(in: 0...1, using: &random)
  }
}

// MARK: - Which requests an accessory handles, across all of its sessions

/// Applies the quirk `busy-after-cancel`.
///
/// ```
///           request           after `touch`: the reply goes out
///   free ─────────────▶ waiting ───────────────────────────────▶ free
///     ▲                    │ its session ends
///     │                    ▼             after `busy`              a session is open
///     └─────────────── (cancelled) busy ───────────────▶ owing ──────────────────────▶ free
/// ```
///
/// While the accessory is waiting or busy, it ignores requests in other sessions. Unplugging resets the accessory.
struct TouchMachine {
  private enum State: Equatable {
    case free
    case waiting(session: Int, since: Instant)
    case busy(until: Instant, reply: [UInt8])
    case owing([UInt8])
  }

  enum Action: Equatable {
    case nothing
    case release(session: Int)
    /// The reply to the cancelled request is due.
    case lateReply
  }

  private let quirk: BusyAfterCancel
  private var state = State.free

  init(_ quirk: BusyAfterCancel) {
    self.quirk = quirk
  }

  var deadline: Instant? {
    switch state {
    case .free, .owing: nil
    case .waiting(_, let since): since + quirk.touch
    case .busy(let until, _): until
    }
  }

  mutating func received(in session: Int, now: Instant) -> Bool {
    switch state {
    case .free:
      state = .waiting(session: session, since: now)
      return true
    case .waiting(let waiting, _): return waiting == session
    case .busy: return false
    case .owing: return true
    }
  }

  func holds(_ session: Int) -> Bool {
    if case .waiting(session, _) = state { true } else { false }
  }

  /// Handles the end of a session. `held` contains the replies that were being held back for the session. Returns true
  /// if a request is cancelled because the session has ended.
  mutating func ended(_ session: Int, held: [UInt8], now: Instant) -> Bool {
    guard case .waiting(session, let since) = state else { return false }
    state = .busy(until: max(now, since + quirk.busy), reply: quirk.reply == .late ? held : [])
    return true
  }

  mutating func handleTimeout(now: Instant) -> Action {
    guard let deadline, deadline <= now else { return .nothing }
    switch state {
    case .free, .owing: return .nothing
    case .waiting(let session, _):
      state = .free
      return .release(session: session)
    case .busy(_, let reply):
      state = reply.isEmpty ? .free : .owing(reply)
      return reply.isEmpty ? .nothing : .lateReply
    }
  }

  /// Returns the late reply for an open session, or an empty list if no reply is due.
  mutating func takeLateReply() -> [UInt8] {
    guard case .owing(let reply) = state else { return [] }
    state = .free
    return reply
  }

  mutating func unplugged() { state = .free }
}

/// Applies the quirk `fails-after-first-transaction` by counting transactions until the accessory is unplugged. A
/// transaction consists of a request and all bytes that follow it without a pause.
struct TransactionCounter {
  private let quirk: FailingTransactions
  private var begun = 0
  private var session: Int?
  private var newest: Instant?

  init(_ quirk: FailingTransactions) {
    self.quirk = quirk
  }

  var answer: FailingTransactions.Answer { quirk.answer }

  mutating func received(in session: Int, now: Instant) -> Bool {
    let goesOn = self.session == session && newest.map { now - $0 < quirk.pause } == true
    if !goesOn, begun <= quirk.transactions { begun += 1 }
    (self.session, newest) = (session, now)
    return begun <= quirk.transactions
  }

  mutating func sent(in session: Int, now: Instant) {
    if self.session == session { newest = now }
  }

  mutating func unplugged() { (begun, session, newest) = (0, nil, nil) }
}

/// Applies the quirk `obeys-first-settings-only` in one session.
///
/// Each command is held back until it matches the whole prefix or differs from it, and is then ignored or passed on.
struct SettingsFilter {
  private enum State: Equatable {
    case undecided([UInt8])
    case passing
    case ignoring
  }

  private let quirk: FirstSettingsOnly
  private let prefix: [UInt8]
  private var state = State.undecided([])
  private var hasObeyed = false
  private var newest: Instant?
  private(set) var ignored = 0

  init(_ quirk: FirstSettingsOnly) {
    self.quirk = quirk
    prefix = Array(quirk.prefix.utf8)
  }

  mutating func receive(_ bytes: [UInt8], now: Instant) -> [UInt8] {
    var heard: [UInt8] = []
    if quirk.end == .pause {
      if let newest, now - newest >= quirk.pause { finishCommand(&heard) }
      newest = now
    }
    for byte in bytes { receive(byte, &heard) }
    return heard
  }

  private mutating func receive(_ byte: UInt8, _ heard: inout [UInt8]) {
    switch state {
    case .passing: heard.append(byte)
    case .ignoring: ignored += 1
    case .undecided(var head):
      head.append(byte)
      if head.count < prefix.count, prefix.starts(with: head) {
        state = .undecided(head)
      } else {
        decide(head, &heard)
      }
    }
    if byte == terminator { finishCommand(&heard) }
  }

  private var terminator: UInt8? {
    switch quirk.end {
    case .pause: nil
    case .lf: UInt8(ascii: "\n")
    case .cr: UInt8(ascii: "\r")
    }
  }

  private mutating func decide(_ head: [UInt8], _ heard: inout [UInt8]) {
    let isSettings = head.starts(with: prefix)
    if isSettings, hasObeyed {
      state = .ignoring
      ignored += head.count
      return
    }
    if isSettings { hasObeyed = true }
    state = .passing
    heard += head
  }

  private mutating func finishCommand(_ heard: inout [UInt8]) {
    // A command that is shorter than the prefix is not a settings command.
    if case .undecided(let head) = state { heard += head }
    state = .undecided([])
  }
}
