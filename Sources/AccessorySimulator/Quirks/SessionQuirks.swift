import AccessoryCore
import AccessoryFormats
import AccessoryProfiles
import AccessorySessions
import IAP2

/// The state of an accessory's session quirks. The state outlives cables and sessions.
///
/// Each quirk is a state machine. This class carries out what the machines decide, such as ending a session or dropping
/// bytes. Each session has a ``QuirkStream``.
final class SessionQuirks {
  private let serial: String
  private let loop: any EventLoop
  private let report: (TimelineEvent.Kind) -> Void

  /// The quirk that applies to the next sessions. `troubled` counts the sessions that the quirk has already affected.
  private var trouble: OddSession?
  private var troubled = 0
  private var ender: SessionEnder?
  private var opens: OpenCounter?
  private var silence: SilenceMachine?
  private var phantom: PhantomMachine?
  private var touch: TouchMachine?
  private var transactions: TransactionCounter?
  private var chunking: (quirk: ReplyChunking, random: SeededRandom)?
  private var buffer: SmallBuffer?
  private var settings: FirstSettingsOnly?

  private var streams: [QuirkStream] = []
  private var streamCount = 0
  private var unpluggedAt: Instant?
  private var touchTimer: LoopTimer?

  private var isIdle = true
  var isEmpty: Bool { isIdle && trouble == nil }

  init(
    _ profile: Profile, on loop: any EventLoop, report: @escaping (TimelineEvent.Kind) -> Void
  ) {
    serial = profile.identity.serialNumber
    (self.loop, self.report) = (loop, report)
    for quirk in profile.quirks { play(quirk) }
  }

  /// Applies a quirk to later sessions. The quirk replaces any other quirk of the same kind.
  func play(_ quirk: Quirk) {
    switch quirk {
    case .flicker, .authentication, .identification, .noStatus, .staleBytes: return
    case .session(let odd):
      (trouble, troubled) = (odd, 0)
      return
    case .endsSessions(let odd): ender = SessionEnder(odd, random(odd.seed, "ends-sessions"))
    case .wedgesAfter(let odd): opens = OpenCounter(odd)
    case .goesSilent(let odd): silence = SilenceMachine(odd, random(odd.seed, "goes-silent"))
    case .phantomSession(let odd): phantom = PhantomMachine(odd, random(odd.seed, "phantom-session"))
    case .busyAfterCancel(let odd):
      touch = TouchMachine(odd)
      touchTimer = touchTimer ?? loop.makeTimer { [unowned self] in touchCame() }
      armTouch()
    case .failsAfterFirstTransaction(let odd): transactions = TransactionCounter(odd)
    case .replyChunking(let odd): chunking = (odd, random(odd.seed, "reply-chunking"))
    case .dropsBeyond(let odd): buffer = odd
    case .obeysFirstSettingsOnly(let odd): settings = odd
    }
    isIdle = false
  }

  deinit { touchTimer?.cancel() }

  /// Returns the random number generator for a quirk, which is derived from the quirk's seed. If the seed of the quirk
  /// is 0, the generator is derived from the seed of the run and differs for each accessory.
  private func random(_ seed: UInt64, _ quirk: StaticString) -> SeededRandom {
    if seed != 0 { return SeededRandom(seed: seed) }
    var derived = loop.random.derived(quirk)
    return SeededRandom(seed: derived.next() ^ serial.utf8.stableHash)
  }

  // MARK: The plug

  /// Records that the accessory was plugged in. Plugging the accessory in for the first time does not count as
  /// restoring power.
  func pluggedIn() {
    guard let unpluggedAt else { return }
    let rest = loop.now - unpluggedAt
    self.unpluggedAt = nil
    opens?.pluggedIn(after: rest)
    silence?.pluggedIn(after: rest)
    phantom?.pluggedIn(after: rest)
  }

  /// Records that the accessory was unplugged. Called after the accessory's sessions have ended.
  func unplugged() {
    unpluggedAt = loop.now
    transactions?.unplugged()
    touch?.unplugged()
    touchTimer?.cancel()
  }

  // MARK: Sessions

  /// Counts a new session. Returns the reason why the accessory will not answer in the session, or nil if it will.
  func silenceForNewSession() -> String? {
    guard opens != nil else { return nil }
    if opens?.opened(now: loop.now) == true, let story = opens?.story {
      log(story)
      for stream in streams { stream.goesSilent() }
    }
    return opens?.isWedged == true ? "the accessory is wedged" : nil
  }

  func troubleForNewSession() -> OddSession? {
    guard let trouble, trouble.times == 0 || troubled < trouble.times else { return nil }
    troubled += 1
    return trouble
  }

  func opened(_ session: Session) {
    guard !isIdle else { return }
    streamCount += 1
    let stream = QuirkStream(
      streamCount, session, of: self, on: loop,
      buffer: buffer.map(OverrunningBuffer.init), settings: settings.map(SettingsFilter.init), chunker: makeChunker())
    streams.append(stream)
    session.filter = stream
    if let time = ender?.opened(now: loop.now) { stream.ends(after: time, "the ends-sessions quirk") }
    if let time = phantom?.opened() { stream.ends(after: time, "the phantom-session quirk") }
    if let time = silence?.opened() { stream.goesSilent(after: time) }
  }

  /// Called when the behavior for a session is ready. Sends the late reply, if there is one.
  func began(_ session: Session) {
    if let stream = streams.last, stream.isOf(session) { payLateReply(to: stream) }
  }

  private func makeChunker() -> ReplyChunker? {
    guard var chunking else { return nil }
    let random = SeededRandom(seed: chunking.random.next())
    self.chunking = chunking
    return ReplyChunker(chunking.quirk, random)
  }

  var isWedged: Bool { opens?.isWedged ?? false }

  // MARK: Bytes

  enum Reception {
    case accepted
    case ignored(why: String)
    case ends(why: String)
  }

  func received(in stream: QuirkStream) -> Reception {
    if isWedged { return .ignored(why: "while it is wedged") }
    if touch != nil {
      let isHeard = touch?.received(in: stream.number, now: loop.now) ?? true
      armTouch()
      if !isHeard { return .ignored(why: "while it is busy because of the busy-after-cancel quirk") }
    }
    if transactions != nil, transactions?.received(in: stream.number, now: loop.now) == false {
      let why = "because of the fails-after-first-transaction quirk"
      return transactions?.answer == .close ? .ends(why: why) : .ignored(why: why)
    }
    return .accepted
  }

  func sent(in stream: QuirkStream) { transactions?.sent(in: stream.number, now: loop.now) }

  func holdsReplies(of stream: QuirkStream) -> Bool { touch?.holds(stream.number) ?? false }

  /// Handles the end of a session. `held` contains the replies that have not been sent.
  func ended(_ stream: QuirkStream, _ end: SessionEnd, quiet: Duration?, held: [UInt8]) {
    streams.removeAll { $0 === stream }
    if end != .closedByAccessory, let quiet, phantom?.cutOff(after: quiet) == true, let story = phantom?.story {
      stream.log(story)
    }
    if touch?.ended(stream.number, held: held, now: loop.now) == true {
      stream.log("was cancelled, which keeps the accessory busy because of the busy-after-cancel quirk")
      armTouch()
    }
  }

  func log(_ warning: String) { report(.warning(warning)) }

  // MARK: The touch

  private func armTouch() {
    if let deadline = touch?.deadline { touchTimer?.arm(at: deadline) } else { touchTimer?.cancel() }
  }

  private func touchCame() {
    let action = touch?.handleTimeout(now: loop.now) ?? .nothing
    armTouch()
    switch action {
    case .nothing: break
    case .release(let number): streams.first { $0.number == number }?.pump()
    case .lateReply: if let stream = streams.last { payLateReply(to: stream) }
    }
  }

  private func payLateReply(to stream: QuirkStream) {
    guard let reply = touch?.takeLateReply(), !reply.isEmpty else { return }
    stream.log("gets the \(reply.count)-byte reply to the cancelled request because of the busy-after-cancel quirk")
    stream.add(reply)
  }
}
