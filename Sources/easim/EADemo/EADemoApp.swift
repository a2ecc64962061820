import AccessoryCore
import AccessoryFormats
import AccessoryHost

/// The parts of EADemo other than its user interface. `EADemoApp` tracks accessories and sessions, carries out
/// commands, and reports events as lines. ``EADemoScreen`` draws these lines on a terminal; without a terminal, they
/// are printed.
///
/// Any number of sessions can be open, and commands apply to the current one. While a command is waiting, EADemo
/// accepts only commands that end the wait. A waiting command fails at its deadline.
///
/// Invariants: byte counts cover a session from the time it opens until it ends, and the first failure determines the
/// exit code.
struct EADemoApp: Equatable {
  private struct Repetition: Equatable {
    let bytes: [UInt8]
    let times: Int
    let interval: Duration
    var done = 0
    var next: Instant
  }

  static let mostSessions = 100

  /// Where easim looks for accessories, as shown in messages.
  let place: String
  let patience: Duration
  private(set) var accessories: [PublishedAccessory] = []
  private(set) var sessions: [EADemoSession] = []
  private var current = 0
  private var opened = 0
  private var repetition: Repetition?
  private(set) var state = AppState.foreground
  private(set) var waiting: Waiting?
  private var limit: Instant?
  private(set) var failure: ExitCode?

  init(lookingAt place: String, patience: Duration) {
    self.place = place
    self.patience = patience
  }

  var session: EADemoSession? { sessions.first { $0.number == current } }

  var deadline: Instant? {
    switch waiting {
    case .pausing: repetition?.next
    case .reading(let collector, _):
      if case .waiting(let quiet?) = collector.state(now: .origin) {
        limit.map { min($0, quiet) } ?? quiet
      } else {
        limit
      }
    default: limit
    }
  }

  var isBusy: Bool { waiting != nil }

  func mayPerform(_ command: EADemoCommand) -> Bool {
    !isBusy || command == .close || command == .quit || command == .stop
  }

  // MARK: Commands

  mutating func perform(_ command: EADemoCommand, now: Instant) -> [Action] {
    precondition(mayPerform(command), "a command waits for the previous command to finish")
    switch command {
    case .list: return EADemoList.lines(accessories, place: place).map(output)
    case .show(let number): return show(number)
    case .open(let name, let number): return open(name, number, now)
    case .send(let bytes): return send(bytes, now)
    case .again(let times, let interval, let bytes): return send(bytes, now, times: times, every: interval)
    case .stop: return stop()
    case .counters: return [output(counters)]
    case .wait(let what): return wait(what, now)
    case .read(let extent): return read(ReplyRule(.anything, reading: extent ?? .quiet(first: .milliseconds(500))), now)
    case .expect(let rule): return read(rule, now)
    case .save(let path): return save(path)
    case .sessions: return listSessions()
    case .use(let number): return use(number)
    case .unplug: return [output("unplugged"), .unplug]
    // `EADemoDriver` handles control messages, because the device, not the app, sends them.
    case .message: return []
    case .close: return close(now)
    case .background: return move(to: .background)
    case .foreground: return move(to: .foreground)
    case .help: return EADemoList.help.map(output)
    case .quit: return sessions.map { .close(session: $0.number) } + [.quit]
    }
  }

  mutating func refuse(_ error: UsageError) -> [Action] { fail(.usage, error.message) }

  private mutating func show(_ number: Int) -> [Action] {
    guard number <= accessories.count else {
      return fail(.checkFailed, "no accessory \(number): \(accessories.count) connected")
    }
    return EADemoList.details(accessories[number - 1]).map(output)
  }

  private mutating func open(_ name: String?, _ number: Int?, _ now: Instant) -> [Action] {
    guard sessions.count < Self.mostSessions else {
      return fail(.checkFailed, "\(Self.mostSessions) sessions are open; close one first")
    }
    switch EADemoChoice(among: accessories, protocolName: name, number: number) {
    case .one(let accessory, let name):
      wait(for: .opening(protocolName: name, number: number), now)
      return [.open(accessory, protocolName: name)]
    case .notYet:
      wait(for: .opening(protocolName: name, number: number), now)
      return []
    case .wrong(let text): return fail(.usage, text)
    }
  }

  private mutating func send(
    _ bytes: [UInt8], _ now: Instant, times: Int = 1, every interval: Duration = .zero
  ) -> [Action] {
    guard session != nil else { return fail(.checkFailed, "no session is open; open one first") }
    if bytes == CountingPattern.bytes(CountingPattern.usual) { change { $0.expectPattern(times: times) } }
    repetition = times > 1 ? Repetition(bytes: bytes, times: times, interval: interval, next: now) : nil
    return sendOnce(bytes, now)
  }

  private mutating func sendOnce(_ bytes: [UInt8], _ now: Instant) -> [Action] {
    if var repeated = repetition {
      repeated.done += 1
      repeated.next = max(now, repeated.next + repeated.interval)
      repetition = repeated
    }
    change { $0.ask(bytes.count) }
    wait(for: .sending(bytes.count), now)
    return [.send(bytes, session: current)]
  }

  private mutating func stop() -> [Action] {
    guard let stopped = repetition else { return fail(.checkFailed, "nothing is repeated") }
    repetition = nil
    if waiting == .pausing { stopWaiting() }
    return [output("stopped after \(stopped.done) of \(stopped.times) times")]
  }

  private mutating func close(_ now: Instant) -> [Action] {
    guard session != nil else { return fail(.checkFailed, "no session is open") }
    repetition = nil
    wait(for: .closing, now)
    return [.close(session: current)]
  }

  // MARK: Several sessions

  private mutating func change(_ number: Int? = nil, _ body: (inout EADemoSession) -> Void) {
    guard let index = sessions.firstIndex(where: { $0.number == number ?? current }) else { return }
    body(&sessions[index])
  }

  private mutating func listSessions() -> [Action] {
    if sessions.isEmpty { return [output("no session is open")] }
    return sessions.map {
      output("\($0.number == current ? "*" : " ") \($0.number)  \($0.protocolName)  \(counters(of: $0))")
    }
  }

  private mutating func use(_ number: Int) -> [Action] {
    guard let chosen = sessions.first(where: { $0.number == number }) else {
      let open = sessions.map { "\($0.number)" }.joined(separator: ", ")
      return fail(.usage, "no session \(number) is open" + (open.isEmpty ? "" : "; open: \(open)"))
    }
    current = number
    return [output("session \(number) on \(chosen.protocolName)")]
  }

  private func name(of session: EADemoSession) -> String {
    opened > 1 ? "session \(session.number) on \(session.protocolName)" : "session on \(session.protocolName)"
  }

  // MARK: Received bytes

  private mutating func save(_ path: String) -> [Action] {
    guard let session else { return fail(.checkFailed, "no session is open") }
    let dropped = session.received.first
    let missing = dropped > 0 ? [output("the first \(dropped.counted("byte")) are no longer kept")] : []
    return missing + [.save(session.received.bytes, path: path)]
  }

  mutating func saved(_ path: String, _ failure: String?, count: Int) -> [Action] {
    if let failure { return fail(.checkFailed, "\(path): \(failure)") }
    return [output("\(count.counted("byte")) saved to \(path)")]
  }

  private mutating func read(_ rule: ReplyRule, _ now: Instant) -> [Action] {
    guard session != nil else { return fail(.checkFailed, "no session is open, so nothing can be read") }
    wait(for: .reading(ReplyCollector(rule, since: now), rule), now)
    return readOn(now)
  }

  private mutating func readOn(_ now: Instant) -> [Action] {
    guard case .reading(var collector, let rule) = waiting, let session else { return [] }
    let unread = Array(session.received.from(session.readCount))
    let taken = collector.take(unread.span.bytes, now: now)
    change { $0.readCount = max($0.readCount, $0.received.count - unread.count) + taken }
    waiting = .reading(collector, rule)
    return collector.state(now: now) == .complete ? finishReading(collector, rule) : []
  }

  private mutating func finishReading(_ collector: ReplyCollector, _ rule: ReplyRule) -> [Action] {
    stopWaiting()
    let reply = collector.reply
    if rule.expectation == .anything {
      return reply.isEmpty ? [output("nothing arrived")] : ReplyText.lines(reply).map(output)
    }
    if collector.isAsExpected { return [output("✓ \(reply.count.counted("byte")) as expected")] }
    let differences = ReplyText.difference(rule.expectation, reply)
    return fail(.checkFailed, "✗ the reply is not as expected")
      + differences.map { .output(Line(text: $0, isError: true)) }
  }

  private mutating func wait(_ what: EADemoWait, _ now: Instant) -> [Action] {
    if case .received = what, session == nil {
      return fail(.checkFailed, "no session is open, so nothing can be received")
    }
    wait(for: .asked(what), now)
    return settle(what)
  }

  private mutating func move(to next: AppState) -> [Action] {
    if state == next { return [] }
    state = next
    return [output(next == .foreground ? "in the foreground" : "in the background"), .move(to: next)]
  }

  // MARK: Events

  mutating func handle(_ event: Event, now: Instant) -> [Action] {
    switch event {
    case .appeared(let accessory):
      accessories.append(accessory)
      return [output("connected: \(EADemoList.line(accessory))")] + lookAgain(now)
    case .disappeared(let accessory):
      accessories.removeAll { $0.connectionID == accessory.connectionID }
      return [output("disconnected: \(EADemoList.line(accessory))")] + settle(.disconnect)
    case .opened(let accessory, let name):
      opened += 1
      current = opened
      sessions.append(EADemoSession(number: current, connectionID: accessory.connectionID, protocolName: name))
      stopWaiting()
      return [output(opened > 1 ? "session \(current) open on \(name)" : "session open on \(name)")]
    case .refused(let text):
      stopWaiting()
      return fail(.checkFailed, text)
    case .sent(let count, let number): return noteSent(count, number ?? current, now)
    case .received(let bytes, let number):
      var verdicts: [Line] = []
      change(number) { verdicts = $0.take(bytes) }
      let lines = verdicts.flatMap { $0.isError ? fail(.checkFailed, $0.text) : [.output($0)] }
      guard number == nil || number == current else { return lines }
      if case .reading = waiting { return lines + readOn(now) }
      guard case .asked(.received(let wanted)) = waiting else { return lines }
      return lines + settle(.received(wanted))
    case .ended(let reason, let number): return noteEnd(reason, number ?? current, now)
    }
  }

  private mutating func noteSent(_ count: Int, _ number: Int, _ now: Instant) -> [Action] {
    change(number) { $0.note(sent: count) }
    guard number == current, let session, case .sending(let bytes) = waiting, session.sent == session.asked else {
      return []
    }
    stopWaiting()
    guard let repetition else { return [output("sent \(bytes.counted("byte"))")] }
    if repetition.done < repetition.times {
      if repetition.next <= now { return sendOnce(repetition.bytes, now) }
      waiting = .pausing
      return []
    }
    self.repetition = nil
    return [output("sent \(bytes.counted("byte")) \(repetition.times) times")]
  }

  private mutating func noteEnd(_ reason: String, _ number: Int, _ now: Instant) -> [Action] {
    guard let index = sessions.firstIndex(where: { $0.number == number }) else { return [] }
    let ended = sessions.remove(at: index)
    let text = "\(name(of: ended)) ended: \(reason); \(counters(of: ended))"
    guard number == current else { return [output(text)] }
    current = sessions.last?.number ?? 0
    repetition = nil
    switch waiting {
    case .closing?:
      stopWaiting()
      return [output(text)]
    case .reading(let collector, let rule)? where collector.isCompleteAtTheEnd:
      return finishReading(collector, rule) + [output(text)]
    case .sending?, .pausing?, .reading?, .asked(.received)?:
      stopWaiting()
      return fail(.gone, text)
    default: return [output(text)]
    }
  }

  private mutating func lookAgain(_ now: Instant) -> [Action] {
    guard case .opening(let name, let number) = waiting else { return settle(.connect) }
    switch EADemoChoice(among: accessories, protocolName: name, number: number) {
    case .one(let accessory, let name): return [.open(accessory, protocolName: name)]
    case .notYet: return []
    case .wrong(let text):
      stopWaiting()
      return fail(.usage, text)
    }
  }

  private mutating func settle(_ what: EADemoWait) -> [Action] {
    let hasHappened =
      switch what {
      case .connect: accessories.contains { !$0.protocols.isEmpty }
      case .disconnect: accessories.isEmpty
      case .received(let count): session.map { $0.received.count >= count } ?? false
      }
    guard hasHappened, waiting == .asked(what) else { return [] }
    stopWaiting()
    return if case .received = what { [output(counters)] } else { [] }
  }

  // MARK: Time

  mutating func handleTimeout(now: Instant) -> [Action] {
    guard let deadline, deadline <= now, let waiting else { return [] }
    if case .pausing = waiting, let repetition { return sendOnce(repetition.bytes, now) }
    if case .reading(let collector, let rule) = waiting, collector.state(now: now) == .complete {
      return finishReading(collector, rule)
    }
    stopWaiting()
    repetition = nil
    let limit = DurationText.format(patience)
    switch waiting {
    case .opening where accessories.isEmpty:
      return fail(.unreachable, "no session within \(limit): \(EADemoList.nothing(place))")
    case .opening(let name, _):
      return fail(.timedOut, "no session within \(limit): \(EADemoList.unfit(accessories, name))")
    case .pausing: return []
    case .reading(let collector, let rule):
      let came = collector.reply.count.counted("byte")
      let rest = rule.expectation == .anything ? ReplyText.lines(collector.reply) : []
      let difference = collector.reply.isEmpty ? [] : ReplyText.difference(rule.expectation, collector.reply)
      return fail(.timedOut, "the reply was not complete within \(limit): \(came) arrived")
        + (rest + difference).map { .output(Line(text: $0, isError: true)) }
    case .sending: return fail(.timedOut, "not everything was sent within \(limit): \(counters)")
    case .closing: return fail(.timedOut, "the session did not end within \(limit)")
    case .asked(.connect): return fail(.timedOut, "no accessory with a protocol connected within \(limit)")
    case .asked(.disconnect): return fail(.timedOut, "no accessory disconnected within \(limit)")
    case .asked(.received(let count)):
      return fail(.timedOut, "\(count.counted("byte")) did not arrive within \(limit): \(counters)")
    }
  }

  private mutating func wait(for what: Waiting, _ now: Instant) {
    waiting = what
    limit = now + patience
  }

  private mutating func stopWaiting() {
    waiting = nil
    limit = nil
  }

  // MARK: Words

  private var counters: String { counters(of: session) }

  private func counters(of session: EADemoSession?) -> String {
    "sent \((session?.sent ?? 0).counted("byte")), received \((session?.received.count ?? 0).counted("byte"))"
  }

  private func output(_ text: String) -> Action { .output(Line(text: text)) }

  private mutating func fail(_ code: ExitCode, _ text: String) -> [Action] {
    failure = failure ?? code
    return [.output(Line(text: text, isError: true))]
  }
}

extension EADemoApp {
  enum Waiting: Equatable {
    /// Waiting for a protocol to be offered, so that a session can be opened.
    case opening(protocolName: String?, number: Int?)
    case sending(Int)
    case pausing
    case reading(ReplyCollector, ReplyRule)
    case closing
    /// Waiting for the condition of a script's `wait` command.
    case asked(EADemoWait)
  }

  enum Event: Equatable {
    case appeared(PublishedAccessory)
    case disappeared(PublishedAccessory)
    case opened(PublishedAccessory, protocolName: String)
    case refused(String)
    /// Bytes were sent in a session, or in the current session if `session` is nil.
    case sent(Int, session: Int? = nil)
    case received([UInt8], session: Int? = nil)
    case ended(String, session: Int? = nil)
  }

  enum Action: Equatable {
    case open(PublishedAccessory, protocolName: String)
    case send([UInt8], session: Int)
    case close(session: Int)
    case unplug
    case save([UInt8], path: String)
    case move(to: AppState)
    case quit
    case output(Line)
  }

  struct Line: Equatable {
    var text: String
    var isError = false
    var time: Instant?
  }
}
