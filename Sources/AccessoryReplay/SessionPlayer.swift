import AccessoryCaptures
import AccessoryCore
import AccessorySessions
import IAP2

/// Plays one end of a recorded session on a live one.
final class SessionPlayer: SessionHandler {
  private var machine: ReplayedSession
  private let patience: Duration?
  private let settle: Duration
  private let loop: any EventLoop
  private var session: Session?
  private var unsent: ArraySlice<UInt8> = []
  private var isClosing = false
  private var timer: LoopTimer?
  private var watchdog: LoopTimer?
  private var settling: LoopTimer?
  /// When the last thing of the recording happened.
  private(set) var completed: Instant?
  /// Called once: when everything passed as recorded and the session ended as recorded, or at the first difference.
  private var done: ((SessionPlayer, ReplayDifference?) -> Void)?

  var recorded: Recording.Session { machine.recorded }
  /// How many bytes came as recorded.
  var received: Int { machine.received }
  /// How many of these were not compared.
  var masked: Int { machine.maskedCount }
  /// How many bytes are still to come before this end does more; 0 while it does something itself.
  var awaited: Int { machine.deadline == nil ? machine.missing : 0 }

  init(
    _ recorded: Recording.Session, as role: Recording.End, _ settings: ReplaySettings, on loop: any EventLoop,
    done: @escaping (SessionPlayer, ReplayDifference?) -> Void
  ) {
    machine = ReplayedSession(recorded, as: role, settings, at: loop.now)
    (patience, settle, self.loop, self.done) = (settings.patience, settings.settle, loop, done)
    timer = loop.makeTimer { [weak self] in self?.advance() }
    watchdog = loop.makeTimer { [weak self] in self?.patienceIsOver() }
    settling = loop.makeTimer { [weak self] in self?.finish(nil) }
  }

  deinit {
    timer?.cancel()
    watchdog?.cancel()
    settling?.cancel()
  }

  /// Begins on a session that was just opened; its handler is this object.
  func start(on session: Session) {
    self.session = session
    // The first action may be due at once, and a handler is not called back while it is being made.
    timer?.arm(at: loop.now)
  }

  // MARK: SessionHandler

  func sessionIsReadable(_ session: Session) {
    read(session)
    advance()
  }

  private func read(_ session: Session) {
    session.read { bytes in
      if done != nil, !isClosing, let difference = machine.receive(bytes, at: loop.now) { finish(difference) }
      return bytes.byteCount
    }
  }

  func sessionIsWritable(_ session: Session) { advance() }

  func session(_ session: Session, endedWith end: SessionEnd) {
    self.session = nil
    timer?.cancel()
    read(session)
    finish(machine.ended("\(end)"))
  }

  // MARK: Playing

  private func advance() {
    guard done != nil, let session, session.isOpen else { return }
    while true {
      while !unsent.isEmpty {
        let taken = session.write(Array(unsent).span.bytes)
        if taken == 0 { return watch() }
        unsent = unsent.dropFirst(taken)
      }
      switch machine.due(at: loop.now) {
      case .send(let bytes)?: unsent = bytes[...]
      case .close?:
        isClosing = true
        return session.close("as recorded")
      case nil:
        if let deadline = machine.deadline { timer?.arm(at: deadline) }
        guard machine.isComplete, machine.recorded.ending == .open else { return watch() }
        if completed == nil {
          completed = loop.now
          settling?.arm(at: loop.now + settle)
        }
        return
      }
    }
  }

  /// What is due must come in time.
  private func watch() {
    guard let patience else { return }
    watchdog?.arm(at: loop.now + patience)
  }

  private func patienceIsOver() {
    guard let patience, machine.deadline == nil else { return }
    if let difference = machine.overdue(within: patience) { finish(difference) }
  }

  private func finish(_ difference: ReplayDifference?) {
    guard let done else { return }
    self.done = nil
    watchdog?.cancel()
    settling?.cancel()
    done(self, difference)
  }
}
