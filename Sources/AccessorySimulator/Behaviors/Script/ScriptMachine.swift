import AccessoryCore
import AccessoryProfiles

/// Runs a script for one session. The machine decides how to respond to bytes and timers, and when to send the answers.
///
/// The bytes, the time, and the memory that the sessions of an accessory share are passed as parameters. ``answers``
/// holds the resulting steps until they are due. The same bytes at the same times produce the same steps, regardless of
/// how the bytes were split.
///
/// Invariants: the machine never keeps more than one request and one full ``AnswerQueue``, and reads no bytes while the
/// queue is full. A full queue refuses answers from timers and other sessions, and the machine reports each refused
/// answer.
struct ScriptMachine {
  private struct Timer {
    let timer: Script.Timer
    var due: Instant?
  }

  private let script: Script
  private let protocolName: String
  private let book: RuleBook
  private var matcher: RequestMatcher
  var answers = AnswerQueue()
  private var timers: [Timer]
  private var seenEntries: Int
  private var pacer: ReadPacer?
  var notes = ScriptNotes()

  init(_ script: Script, protocolName: String, now: Instant, _ memory: ScriptMemory) {
    (self.script, self.protocolName) = (script, protocolName)
    book = RuleBook(script.rules)
    matcher = RequestMatcher(script)
    timers = script.timers.map { Timer(timer: $0) }
    seenEntries = memory.entries
    pacer = script.bytesPerSecond.map(ReadPacer.init)
    for index in timers.indices { start(index, now, memory) }
  }

  // MARK: What the machine is waiting for

  func mayRead(at now: Instant) -> Bool { !answers.isFull && (pacer?.allowance(at: now) ?? 1) > 0 }

  /// Returns the next deadline, or nil if there is none. While the session has no room, answers have no deadline.
  func deadline(isBlocked: Bool) -> Instant? {
    var earliest = isBlocked ? nil : answers.deadline
    if let due = pacer?.deadline, !answers.isFull { earliest = min(due, earliest ?? due) }
    for timer in timers { if let due = timer.due { earliest = min(due, earliest ?? due) } }
    return earliest
  }

  // MARK: Bytes

  /// Processes bytes, and returns how many it processed. The remaining bytes stay unread while too many answers are
  /// waiting or the rate limit has been reached.
  mutating func receive(_ bytes: RawSpan, now: Instant, _ memory: inout ScriptMemory) -> Int {
    let allowed = pacer.map { min($0.allowance(at: now), bytes.byteCount) } ?? bytes.byteCount
    let bytes = bytes.extracting(0..<allowed)
    var offset = 0
    while !answers.isFull, let request = matcher.next(in: bytes, at: &offset) { answer(request, now, &memory) }
    pacer?.read(offset, at: now)
    return offset
  }

  private mutating func answer(_ request: RequestMatcher.Request, _ now: Instant, _ memory: inout ScriptMemory) {
    switch request {
    case .whole(let bytes):
      guard let found = book.rule(for: bytes, of: protocolName, memory) else {
        return answerUnknown(bytes, now, memory)
      }
      answer(bytes, found, now, &memory)
    case .endless:
      notes.add(
        .endless,
        "a request reached \(RequestMatcher.longestRequest) bytes without a delimiter: "
          + "everything up to the next delimiter was dropped")
      queue(script.otherwise ?? [], at: now)
    case .skipped(let count): notes.add(.skipped, "skipped \(count.counted("byte")) before the header of a frame")
    case .wrongLength(let length):
      notes.add(.wrongLength, "dropped a frame with the claimed length \(length)")
    case .wrongChecksum(let found, let expected):
      notes.add(
        .wrongChecksum,
        "dropped a frame with the checksum \(Hex.number(found, digits: 2)) instead of \(Hex.number(expected, digits: 2))"
      )
      add(script.wrongChecksum, TemplateRenderer(), now, &memory)
    }
  }

  private mutating func answer(
    _ request: [UInt8], _ found: RuleBook.Found, _ now: Instant, _ memory: inout ScriptMemory
  ) {
    let rule = script.rules[found.rule]
    if rule.times != nil { memory.use(.init(protocolName: protocolName, index: found.rule)) }
    if let next = rule.next { enter(next, now, &memory) }
    queue(rule.response, at: now + rule.delay)
    if rule.answers.isEmpty { return }
    let names = rule.regex?.names ?? [:]
    add(rule.answers, TemplateRenderer(request: request, groups: found.groups, names: names), now, &memory)
  }

  private mutating func answerUnknown(_ request: [UInt8], _ now: Instant, _ memory: ScriptMemory) {
    guard let otherwise = script.otherwise else {
      let more = request.count > 16 ? " …" : ""
      notes.add(
        .unanswered,
        "no rule answers the \(request.count)-byte request \(Hex.spaced(request.prefix(16)))\(more)"
          + (book.nearest(to: request, of: protocolName, memory).map { "; \($0)" } ?? ""))
      return
    }
    queue(otherwise, at: now)
  }

  // MARK: Answers

  private mutating func add(
    _ list: [Script.Answer], _ renderer: TemplateRenderer, _ now: Instant, _ memory: inout ScriptMemory
  ) {
    var due = now
    for answer in list {
      due = due + answer.after
      var unfit: [Int] = []
      if let template = answer.send {
        let bytes = renderer.render(template, at: due, &memory, unfit: &unfit)
        if let target = answer.protocolName {
          answers.add(.forward(to: target, bytes, isUnframed: answer.isUnframed), at: due)
        } else if answer.isUnframed {
          answers.add(bytes, at: due)
        } else {
          queue(bytes, at: due)
        }
      }
      for number in unfit { notes.add(.unfit, "the number \(number) does not fit into its field in an answer") }
      // Without a delay, the state changes immediately. The next request is handled in the new state, even if both
      // requests arrive in the same read.
      if let next = answer.next {
        if due == now { enter(next, now, &memory) } else { answers.add(.enter(next), at: due) }
      }
      if let quirk = answer.quirk { answers.add(.accessory(.quirk(quirk)), at: due) }
      // Unplugging takes effect in the next turn of the loop, after the session has been closed.
      if let absence = answer.unplug { answers.add(.accessory(.unplug(absence)), at: due) }
      if let reason = answer.close { answers.add(.close(reason), at: due) }
    }
  }

  private mutating func queue(_ bytes: [UInt8], at due: Instant) {
    guard case .frame(let frame) = script.framing, !bytes.isEmpty else { return answers.add(bytes, at: due) }
    do throws(Script.Frame.Fault) { answers.add(try frame.encode(bytes), at: due) } catch {
      guard case .tooLong(let count) = error else { return }
      notes.add(.dropped, "an answer was not sent, because its frame of \(count) bytes would be too long")
    }
  }

  mutating func push(_ bytes: [UInt8], isUnframed: Bool, now: Instant) {
    if answers.isFull {
      return notes.add(.dropped, "too many answers are waiting: an answer from another session was not sent")
    }
    if isUnframed { answers.add(bytes, at: now) } else { queue(bytes, at: now) }
  }

  // MARK: States and timers

  mutating func enter(_ state: String, _ now: Instant, _ memory: inout ScriptMemory) {
    memory.enter(state)
    noticeState(now, memory)
  }

  /// Starts and stops timers after this or another session has entered a state.
  mutating func noticeState(_ now: Instant, _ memory: ScriptMemory) {
    guard seenEntries != memory.entries else { return }
    seenEntries = memory.entries
    for index in timers.indices where !timers[index].timer.states.isEmpty { start(index, now, memory) }
  }

  private mutating func start(_ index: Int, _ now: Instant, _ memory: ScriptMemory) {
    let timer = timers[index].timer
    timers[index].due = memory.isIn(timer.states) ? (timer.after ?? timer.every).map { now + $0 } : nil
  }

  mutating func handleTimeout(now: Instant, _ memory: inout ScriptMemory) {
    if let ready = pacer?.deadline, ready <= now { pacer?.becomeReady() }
    noticeState(now, memory)
    for index in timers.indices {
      guard let due = timers[index].due, due <= now else { continue }
      let timer = timers[index].timer
      // A timer that is late fires only once and then returns to its original schedule if possible.
      timers[index].due = timer.every.map { due + $0 > now ? due + $0 : now + $0 }
      if let next = timer.next { enter(next, now, &memory) }
      if answers.isFull {
        notes.add(.dropped, "too many answers are waiting: a timer's answers were not sent")
      } else {
        add(timer.answers, TemplateRenderer(), now, &memory)
      }
    }
  }
}

/// Limits how many bytes an accessory reads per second. Bytes are read every tenth of a second.
struct ReadPacer {
  private let bytesPerSecond: Int
  /// The time at which all bytes that have been read will have been processed.
  private(set) var deadline: Instant?

  init(_ bytesPerSecond: Int) { self.bytesPerSecond = bytesPerSecond }

  func allowance(at now: Instant) -> Int {
    if let deadline, deadline > now { return 0 }
    return max(1, bytesPerSecond / 10)
  }

  mutating func read(_ count: Int, at now: Instant) {
    if count > 0 { deadline = now + .nanoseconds(count * 1_000_000_000 / bytesPerSecond) }
  }

  mutating func becomeReady() { deadline = nil }
}

enum ScriptStep: Equatable {
  case send(ArraySlice<UInt8>)
  /// Performs an action other than sending bytes in the script's own session. Indirect because actions are large and
  /// rare.
  indirect case act(ScriptAction)
}

/// An action in a script, other than sending bytes in the script's own session.
enum ScriptAction: Equatable {
  /// Sends bytes in the sessions of a protocol. Each session's script frames the bytes, unless `isUnframed` is set.
  case forward(to: String, [UInt8], isUnframed: Bool)
  case enter(String)
  case close(String)
  case accessory(AccessoryAction)
}

/// Holds answers until they are due, in the order of their requests.
///
/// An answer is sent once its delay has passed and all earlier answers have been sent, as if the accessory handled one
/// request at a time. An answer with a short delay therefore never overtakes an earlier answer, and only the first
/// answer needs to be checked.
struct AnswerQueue {
  /// When this many answers are waiting, no more requests are read. A device that does not read answers therefore
  /// blocks only its own session.
  static let mostAnswers = 4_096
  static let mostBytes = 1_048_576

  private struct Entry {
    var step: ScriptStep
    var due: Instant
  }

  private var answers: [Entry] = []
  private var first = 0
  private var byteCount = 0

  var isFull: Bool { count >= Self.mostAnswers || byteCount >= Self.mostBytes }

  var count: Int { answers.count - first }

  var deadline: Instant? { count == 0 ? nil : answers[first].due }

  mutating func add(_ bytes: [UInt8], at due: Instant) {
    guard !bytes.isEmpty else { return }
    answers.append(Entry(step: .send(bytes[...]), due: due))
    byteCount += bytes.count
  }

  mutating func add(_ action: ScriptAction, at due: Instant) {
    answers.append(Entry(step: .act(action), due: due))
    if case .forward(_, let bytes, _) = action { byteCount += bytes.count }
  }

  func due(at now: Instant) -> ScriptStep? {
    count > 0 && answers[first].due <= now ? answers[first].step : nil
  }

  mutating func took(_ count: Int) {
    guard case .send(var rest) = answers[first].step else { return }
    byteCount -= count
    rest = rest.dropFirst(count)
    answers[first].step = .send(rest)
    if rest.isEmpty { dropFirst() }
  }

  mutating func didAct() {
    if case .act(.forward(_, let bytes, _)) = answers[first].step { byteCount -= bytes.count }
    dropFirst()
  }

  private mutating func dropFirst() {
    first += 1
    if first == answers.count {
      answers.removeAll(keepingCapacity: true)
      first = 0
    } else if first >= 64, first * 2 > answers.count {
      answers.removeFirst(first)
      first = 0
    }
  }
}
