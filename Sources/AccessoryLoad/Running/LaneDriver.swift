import AccessoryCore
import AccessoryFormats
import AccessoryHost
import AccessorySessions
import IAP2

/// Reads and writes the bytes of one session for its ``BurstLane``, and reports the results.
///
/// The driver is `closed` until the session has been opened or reopened. The driver is `over` after a wrong reply, or
/// if the session will not be reopened. After a wrong byte, no more bursts begin. Once no bytes have arrived for
/// ``quiet``, the driver diagnoses the mistake.
final class LaneDriver: SessionHandler {
  private enum State {
    case closed
    case open(Session)
    case over
  }

  let index: Int
  private unowned let site: BurstSite
  private unowned let runner: BurstRunner
  // Overlapping access is not checked where properties are used for every burst, because a lane belongs to one loop and
  // calls no other code while they change.
  @exclusivity(unchecked) private var state = State.closed
  @exclusivity(unchecked) private var machine: BurstLane
  @exclusivity(unchecked) var tally = BurstReport.Site.SessionTally()
  @exclusivity(unchecked) private var isWriting = false
  private var isWatchingDelivery = false
  private var stream: UniqueStream
  @exclusivity(unchecked) private var drawer: BurstDrawer?
  @exclusivity(unchecked) private(set) var thinkingUntil: Instant?
  /// Fires when nothing has arrived for so long that the reply counts as complete.
  private var replyTimer: LoopTimer?
  /// Fires when nothing has arrived for a while after a wrong byte.
  private var quietTimer: LoopTimer?

  init(index: Int, site: BurstSite, runner: BurstRunner) {
    self.index = index
    self.site = site
    self.runner = runner
    stream = UniqueStream(seed: 0, session: 0)
    machine = runner.makeLane(stream)
    drawer = runner.makeDrawer(lane: index)
  }

  deinit {
    quietTimer?.cancel()
    replyTimer?.cancel()
  }

  var siteIndex: Int { site.index }

  var isOpen: Bool { if case .open = state { true } else { false } }
  var isOver: Bool { if case .over = state { true } else { false } }
  var mayOpen: Bool { if case .closed = state { true } else { false } }
  /// Whether another burst can begin: all earlier bursts have been sent, and one more may be in flight.
  var canBegin: Bool { isOpen && !isWriting && !machine.isSuspicious && machine.hasRoom && machine.unsent == nil }

  func deadline(timeout: Duration) -> Instant? { machine.deadline(timeout: timeout) }

  func open(_ session: Session) {
    stream = runner.nextStream()
    machine = runner.makeLane(stream)
    drawer?.restart()
    thinkingUntil = nil
    state = .open(session)
    session.handler = self
  }

  func begin(_ ticket: BurstSchedule.Ticket, now: Instant) {
    let draw = drawer?.next()
    machine.begin(ticket, request: draw?.request ?? 0, size: draw?.size, now: now)
    send()
  }

  // MARK: Session

  func sessionIsReadable(_ session: Session) {
    session.read { bytes in
      runner.flowed(received: bytes.byteCount)
      receive(bytes)
      return bytes.byteCount
    }
    runner.pump(self)
  }

  func sessionIsWritable(_ session: Session) {
    send()
    runner.pump(self)
  }

  func session(_ session: Session, endedWith end: SessionEnd) {
    guard case .open(let current) = state, current === session else { return }
    lose("the session ended: \(end)")
    site.reopenLater()
    runner.laneIsOver()
  }

  private func send() {
    guard case .open(let session) = state, !isWriting else { return }
    isWriting = true
    defer { isWriting = false }
    while case .open = state, let rest = machine.unsent {
      let taken = write(rest, to: session)
      if taken == 0 { return }
      runner.flowed(sent: taken)
      machine.took(taken)
      while let flight = machine.completeAnswered() { complete(flight) }
      judge()
    }
    if machine.ignoresReplies, !session.hasAcknowledgements { watchDelivery() }
  }

  private func write(_ range: Range<Int>, to session: Session) -> Int {
    if let payload = runner.repeatedPayload ?? machine.fixedBytes {
      return session.write(payload.span.bytes.extracting(range))
    }
    let place = machine.streamPlace
    return runner.scratch.show(stream, place..<place + range.count) { session.write($0) }
  }

  /// How often to check whether bytes have been delivered, on channels without acknowledgements.
  private static let deliveryPace = Duration.milliseconds(1)

  private func watchDelivery() {
    guard case .open = state, !machine.flights.isEmpty, !isWatchingDelivery else { return }
    isWatchingDelivery = true
    runner.loop.schedule(after: Self.deliveryPace) { [weak self] in
      guard let self else { return }
      isWatchingDelivery = false
      lookAtAcknowledgements()
      watchDelivery()
    }
  }

  private func receive(_ bytes: RawSpan) {
    var offset = 0
    while isOpen, let event = machine.receive(bytes, at: &offset, now: runner.hasWorkload ? runner.loop.now : .origin) {
      take(event)
    }
    if isOpen, machine.isSuspicious { waitForQuiet() }
    if isOver { runner.laneIsOver() } else { waitForReply() }
  }

  private func take(_ event: BurstLane.Event) {
    switch event {
    case .completed(let flight): complete(flight)
    case .wrong(let flight, let text):
      let name = runner.name(of: flight).map { " (\($0))" } ?? ""
      runner.failed(.different, "burst \(flight.ticket.number)\(name): \(text)", at: site, on: self)
      giveUp()
    case .suspicious: break
    case .unexpected(let count) where machine.ignoresReplies: runner.unasked(count)
    case .unexpected(let count):
      let (findings, words) = machine.conclude(isAsked: false)
      let what = findings.isEmpty ? "" : ": \(findings.text(words))"
      runner.failed(
        .unexpected, "\(count) bytes arrived without being requested by a burst\(what)", findings, at: site, on: self)
      giveUp()
    }
  }

  // MARK: Replies that are complete after a period of silence

  private func judge() {
    guard runner.hasWorkload else { return }
    guard isOpen, let event = machine.judge(now: runner.loop.now) else { return waitForReply() }
    take(event)
    if isOver { runner.laneIsOver() }
  }

  private func waitForReply() {
    guard runner.hasWorkload, let deadline = machine.replyDeadline(now: runner.loop.now) else { return }
    replyTimer =
      replyTimer
      ?? runner.loop.makeTimer { [unowned self] in
        judge()
        runner.pump(self)
      }
    replyTimer?.arm(at: deadline)
  }

  // MARK: Wrong bytes

  /// How long the accessory must be silent after a wrong byte before the driver diagnoses the mistake.
  static let quiet = Duration.milliseconds(500)

  private func waitForQuiet() {
    if machine.isFull { return concludeSuspicion() }
    quietTimer = quietTimer ?? runner.loop.makeTimer { [unowned self] in concludeSuspicion() }
    quietTimer?.arm(at: runner.loop.now + Self.quiet)
  }

  private func concludeSuspicion() {
    reportSuspicion()
    giveUp()
    runner.laneIsOver()
  }

  private func reportSuspicion() {
    quietTimer?.cancel()
    let (findings, words) = machine.conclude()
    if !findings.isEmpty { runner.failed(.different, findings.text(words), findings, at: site, on: self) }
  }

  // MARK: Deliveries

  func lookAtAcknowledgements() {
    guard case .open(let session) = state, !machine.flights.isEmpty else { return }
    while let flight = machine.acknowledged(session.bytesWritten - session.unacknowledged) { complete(flight) }
    runner.pump(self)
  }

  private func complete(_ flight: BurstLane.Flight) {
    site.completed()
    if let pause = drawer?.pause(after: flight.request) { thinkingUntil = runner.loop.now + pause }
    runner.completed(flight, on: self)
  }

  // MARK: Ending

  func lose(_ why: String) {
    guard isOpen else { return }
    reportSuspicion()
    state = runner.plan.reconnects ? .closed : .over
    let count = dropFlights()
    if count > 0 {
      let bursts = count == 1 ? "a burst in flight was" : "\(count) bursts in flight were"
      runner.failed(.lost, "\(bursts) lost: \(why)", count: count, at: site, on: self)
    } else if !runner.plan.reconnects, !runner.isSettling {
      runner.failed(.gone, why, at: site, on: self)
    }
  }

  func giveUp(_ why: String = "the load test has finished with it") {
    let session: Session? = if case .open(let session) = state { session } else { nil }
    reportSuspicion()
    state = .over
    dropFlights()
    session?.close(why)
  }

  func watch(now: Instant) {
    guard let deadline = machine.deadline(timeout: runner.plan.timeout), deadline <= now else { return }
    if machine.isSuspicious { return concludeSuspicion() }
    let oldest = machine.flights.first?.ticket.number ?? 0
    let part =
      machine.partlyAnswered.map { part in
        let of = part.expected.map { " of \($0)" } ?? ""
        return ": \(part.received)\(of) bytes came back, then nothing"
      } ?? ""
    runner.failed(
      .timedOut, "burst \(oldest) took longer than \(DurationText.format(runner.plan.timeout))\(part)", at: site,
      on: self)
    giveUp()
    runner.laneIsOver()
  }

  @discardableResult
  func dropFlights() -> Int {
    let flights = machine.abandon()
    if case .stopped = runner.outcome { return 0 }
    tally.lost += flights.count
    site.lost(flights.count)
    runner.lost(flights, on: self)
    return flights.count
  }
}
