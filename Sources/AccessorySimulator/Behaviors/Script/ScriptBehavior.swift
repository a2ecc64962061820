import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import IAP2

/// Answers requests according to rules: ``ScriptMachine`` makes the decisions, and ``ScriptHub`` connects the sessions
/// of an accessory.
///
/// A request that matches no rule gets the default answer. If there is no default answer, the timeline shows that the
/// request was not answered. A request that is never completed also counts as unmatched.
public struct ScriptBehavior: AccessoryBehavior {
  private let script: Script

  /// Creates a behavior from a script.
  public init(_ script: Script) {
    self.script = script
  }

  /// Returns a handler that answers requests according to the script.
  public func makeHandler(for session: Session, in context: BehaviorContext) -> any SessionHandler {
    let answerer = ScriptAnswerer(script, session, context)
    answerer.begin()
    return answerer
  }
}

final class ScriptAnswerer: SessionHandler {
  private unowned let session: Session
  private let context: BehaviorContext
  private let hub: ScriptHub
  @exclusivity(unchecked) private var machine: ScriptMachine
  private var timer: LoopTimer?
  private let sending = OneAtATime()
  /// Whether answers are due but the session has no room for them.
  private var isBlocked = false
  private var seenEntries: Int

  let protocolName: String

  init(_ script: Script, _ session: Session, _ context: BehaviorContext) {
    self.session = session
    self.context = context
    hub = context.scripts
    protocolName = session.protocolName
    seenEntries = hub.memory.entries
    hub.memory.begin(in: script.states)
    machine = ScriptMachine(script, protocolName: protocolName, now: context.loop.now, hub.memory)
    timer = context.loop.makeTimer { [weak self] in self?.timeCame() }
  }

  deinit { timer?.cancel() }

  func begin() {
    hub.join(self)
    send()
  }

  func sessionIsReadable(_ session: Session) {
    read()
    send()
  }

  func sessionIsWritable(_ session: Session) { send() }

  private func timeCame() {
    machine.handleTimeout(now: context.loop.now, &hub.memory)
    read()
    send()
  }

  private func read() {
    let now = context.loop.now
    // Read until nothing is left, because the first read may return only bytes left over from an earlier read.
    while machine.mayRead(at: now), session.read({ machine.receive($0, now: now, &hub.memory) }) > 0 {}
  }

  private func send() {
    sending.run { sendWhatIsDue() }
    notifyOthers()
  }

  private func sendWhatIsDue() {
    let wasFull = machine.answers.isFull
    isBlocked = false
    while !isBlocked, session.isOpen, let step = machine.answers.due(at: context.loop.now) { perform(step) }
    // Read now, because the session does not report unread bytes a second time.
    if wasFull, !machine.answers.isFull { read() }
    arm()
  }

  private func arm() {
    guard session.isOpen else { return }
    if let deadline = machine.deadline(isBlocked: isBlocked) {
      timer?.arm(at: max(deadline, context.loop.now))
    } else {
      timer?.cancel()
    }
  }

  private func perform(_ step: ScriptStep) {
    switch step {
    case .send(let bytes):
      let taken = session.write(bytes.span.bytes)
      machine.answers.took(taken)
      // If the session has no room for the whole answer, the rest of the answer and all later answers wait.
      isBlocked = taken < bytes.count
    case .act(let action):
      machine.answers.didAct()
      perform(action)
    }
  }

  private func perform(_ action: ScriptAction) {
    switch action {
    case .forward(let target, let bytes, let isUnframed):
      if hub.forward(bytes, to: target, isUnframed: isUnframed) { return }
      machine.notes.add(
        .dropped, "no session of \(target) is open: an answer of \(bytes.count.counted("byte")) was not sent")
    case .enter(let state): machine.enter(state, context.loop.now, &hub.memory)
    case .close(let reason): session.close(reason)
    case .accessory(let action):
      if case .quirk(let quirk) = action {
        context.note("from now on, the accessory has the quirk \(quirk), set by its script")
      }
      hub.perform?(action)
    }
  }

  // MARK: The other sessions

  private func notifyOthers() {
    for event in machine.notes.take() { context.report(event) }
    guard seenEntries != hub.memory.entries else { return }
    seenEntries = hub.memory.entries
    hub.stateWasEntered()
  }

  func push(_ bytes: [UInt8], isUnframed: Bool) {
    machine.push(bytes, isUnframed: isUnframed, now: context.loop.now)
    // The timer defers the work, because the bytes may come from this session itself or from another session that is
    // calling this one.
    if session.isOpen { timer?.arm(noLaterThan: context.loop.now) }
  }

  func noticeState() {
    seenEntries = hub.memory.entries
    machine.noticeState(context.loop.now, hub.memory)
    arm()
  }

  func session(_ session: Session, endedWith end: SessionEnd) {
    timer?.cancel()
    hub.leave(self)
    notifyOthers()
    for total in machine.notes.totals { context.note(total) }
    if machine.answers.count > 0 { context.note("\(machine.answers.count) answers were not sent") }
  }
}
