import AccessoryCore
import AccessoryHost

/// EADemo without its screen: knows the connected accessories and the session, decides what a command does, and
/// reports events as lines. ``EADemoScreen`` draws it; with a pipe, the lines are printed.
///
/// States: with or without an open session. A command can also be `waiting`; then no other one is taken, and after
/// the deadline it has failed.
///
/// Invariants: at most one session; its bytes are counted from its opening to its end; the first failure decides the
/// exit code.
struct EADemoApp: Equatable {
  /// The session.
  struct OpenSession: Equatable {
    var connectionID: Int
    var protocolName: String
    /// Bytes that were to be sent, that were sent, and that came.
    var asked = 0
    var sent = 0
    var received = 0
    /// The last received bytes, at most ``EADemoApp/tailSize``.
    var tail: [UInt8] = []

    mutating func take(_ bytes: [UInt8]) {
      received += bytes.count
      tail = Array((tail + bytes.suffix(EADemoApp.tailSize)).suffix(EADemoApp.tailSize))
    }
  }

  /// What a command waits for.
  enum Waiting: Equatable {
    /// A protocol to open a session on.
    case opening(protocolName: String?, number: Int?)
    /// All bytes to be sent.
    case sending(Int)
    /// The session to be over.
    case closing
    /// What the line says.
    case asked(EADemoWait)
  }

  /// What happens from outside.
  enum Event: Equatable {
    case appeared(PublishedAccessory)
    case disappeared(PublishedAccessory)
    case opened(PublishedAccessory, protocolName: String)
    case refused(String)
    case sent(Int)
    case received([UInt8])
    case ended(String)
  }

  /// What the owner must do.
  enum Action: Equatable {
    case open(PublishedAccessory, protocolName: String)
    case send([UInt8])
    case close
    case move(to: AppState)
    case quit
    case say(Line)
  }

  /// Something to print.
  struct Line: Equatable {
    var text: String
    var isError = false
  }

  static let tailSize = 64

  /// Where accessories are looked for, for messages.
  let place: String
  /// How long a command waits.
  let patience: Duration
  private(set) var accessories: [PublishedAccessory] = []
  private(set) var session: OpenSession?
  private(set) var state = AppState.foreground
  private(set) var waiting: Waiting?
  /// When the waiting command fails.
  private(set) var deadline: Instant?
  /// How the first thing failed that did.
  private(set) var failure: ExitCode?

  /// An app that sees nothing yet.
  init(lookingAt place: String, patience: Duration) {
    self.place = place
    self.patience = patience
  }

  /// Whether the next command has to wait.
  var isBusy: Bool { waiting != nil }

  /// Whether a command may come now: while another waits, only what ends the waiting.
  func mayPerform(_ command: EADemoCommand) -> Bool {
    !isBusy || command == .close || command == .quit
  }

  // MARK: Commands

  /// Does a command.
  mutating func perform(_ command: EADemoCommand, now: Instant) -> [Action] {
    precondition(mayPerform(command), "a command waits for the one before it")
    switch command {
    case .list: return EADemoList.lines(accessories, place: place).map(say)
    case .show(let number): return show(number)
    case .open(let name, let number): return open(name, number, now)
    case .send(let bytes): return send(bytes, now)
    case .counters: return [say(counters)]
    case .wait(let what): return wait(what, now)
    // The device sends it; see `EADemoDriver`.
    case .message: return []
    case .close: return close(now)
    case .background: return move(to: .background)
    case .foreground: return move(to: .foreground)
    case .help: return EADemoList.help.map(say)
    case .quit: return (session == nil ? [] : [.close]) + [.quit]
    }
  }

  /// Handles a line that is not a command.
  mutating func refuse(_ error: EADemoCommandError) -> [Action] {
    fail(.usage, error.description)
  }

  private mutating func show(_ number: Int) -> [Action] {
    guard number <= accessories.count else {
      return fail(.checkFailed, "no accessory \(number): \(accessories.count) connected")
    }
    return EADemoList.details(accessories[number - 1]).map(say)
  }

  private mutating func open(_ name: String?, _ number: Int?, _ now: Instant) -> [Action] {
    if let session {
      return fail(.checkFailed, "a session is open on \(session.protocolName); close it first")
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

  private mutating func send(_ bytes: [UInt8], _ now: Instant) -> [Action] {
    guard session != nil else { return fail(.checkFailed, "no session is open; open one first") }
    session?.asked += bytes.count
    wait(for: .sending(bytes.count), now)
    return [.send(bytes)]
  }

  private mutating func close(_ now: Instant) -> [Action] {
    guard session != nil else { return fail(.checkFailed, "no session is open") }
    wait(for: .closing, now)
    return [.close]
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
    return [say(next == .foreground ? "in the foreground" : "in the background"), .move(to: next)]
  }

  // MARK: Events

  /// Something happened.
  mutating func handle(_ event: Event, now: Instant) -> [Action] {
    switch event {
    case .appeared(let accessory):
      accessories.append(accessory)
      return [say("connected: \(EADemoList.line(accessory))")] + lookAgain(now)
    case .disappeared(let accessory):
      accessories.removeAll { $0.connectionID == accessory.connectionID }
      return [say("disconnected: \(EADemoList.line(accessory))")] + settle(.disconnect)
    case .opened(let accessory, let name):
      session = OpenSession(connectionID: accessory.connectionID, protocolName: name)
      stopWaiting()
      return [say("session open on \(name)")]
    case .refused(let text):
      stopWaiting()
      return fail(.checkFailed, text)
    case .sent(let count): return noteSent(count)
    case .received(let bytes):
      session?.take(bytes)
      guard case .asked(.received(let wanted)) = waiting else { return [] }
      return settle(.received(wanted))
    case .ended(let reason): return noteEnd(reason)
    }
  }

  private mutating func noteSent(_ count: Int) -> [Action] {
    session?.sent += count
    guard let session, case .sending(let bytes) = waiting, session.sent == session.asked else { return [] }
    stopWaiting()
    return [say("sent \(bytes.counted("byte"))")]
  }

  private mutating func noteEnd(_ reason: String) -> [Action] {
    guard let ended = session else { return [] }
    let text = "session on \(ended.protocolName) ended: \(reason); \(counters)"
    session = nil
    switch waiting {
    case .closing?:
      stopWaiting()
      return [say(text)]
    case .sending?, .asked(.received)?:
      stopWaiting()
      return fail(.gone, text)
    default: return [say(text)]
    }
  }

  /// Checks whether the waiting command can continue.
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

  /// Completes the waiting command when it waits for `what` and this is true.
  private mutating func settle(_ what: EADemoWait) -> [Action] {
    guard waiting == .asked(what) else { return [] }
    switch what {
    case .connect:
      guard accessories.contains(where: { !$0.protocols.isEmpty }) else { return [] }
      stopWaiting()
      return []
    case .disconnect:
      guard accessories.isEmpty else { return [] }
      stopWaiting()
      return []
    case .received(let count):
      guard let session, session.received >= count else { return [] }
      stopWaiting()
      return [say(counters)]
    }
  }

  // MARK: Time

  /// The time of ``deadline`` has come.
  mutating func handleTimeout(now: Instant) -> [Action] {
    guard let deadline, deadline <= now, let waiting else { return [] }
    stopWaiting()
    let limit = DurationText.format(patience)
    switch waiting {
    case .opening where accessories.isEmpty:
      return fail(.unreachable, "no session within \(limit): \(EADemoList.nothing(place))")
    case .opening(let name, _):
      return fail(.timedOut, "no session within \(limit): \(EADemoList.unfit(accessories, name))")
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
    deadline = now + patience
  }

  private mutating func stopWaiting() {
    waiting = nil
    deadline = nil
  }

  // MARK: Words

  private var counters: String {
    "sent \((session?.sent ?? 0).counted("byte")), received \((session?.received ?? 0).counted("byte"))"
  }

  private func say(_ text: String) -> Action { .say(Line(text: text)) }

  private mutating func fail(_ code: ExitCode, _ text: String) -> [Action] {
    failure = failure ?? code
    return [.say(Line(text: text, isError: true))]
  }
}
