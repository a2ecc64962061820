import AccessoryCaptures
import AccessoryCore
import AccessorySessions
import IAP2

/// Plays one side of a recorded session in a live session.
final class SessionPlayer: SessionHandler {
  private var machine: ReplayedSession
  private let settings: ReplaySettings
  private let loop: any EventLoop
  private var session: Session?
  private var unsent: ArraySlice<UInt8> = []
  private var isClosing = false
  private var timer: LoopTimer?
  private var watchdog: LoopTimer?
  private var settling: LoopTimer?
  /// When the most recent recorded event was replayed, or nil if none has been replayed.
  private(set) var completed: Instant?
  /// Called once, either at the first difference or when all bytes have matched and the session has ended as recorded.
  private var done: ((SessionPlayer, ReplayDifference?) -> Void)?

  var recorded: Recording.Session { machine.recorded }
  /// The number of bytes that arrived as recorded.
  var received: Int { machine.received }
  var masked: Int { machine.maskedCount }
  /// How many bytes are still missing, or 0 if this side is not waiting for bytes.
  var awaited: Int { machine.deadline == nil ? machine.missing : 0 }

  init(
    _ recorded: Recording.Session, as role: Recording.End, _ settings: ReplaySettings, on loop: any EventLoop,
    done: @escaping (SessionPlayer, ReplayDifference?) -> Void
  ) {
    machine = ReplayedSession(recorded, as: role, settings, at: loop.now)
    (self.settings, self.loop, self.done) = (settings, loop, done)
    timer = loop.makeTimer { [weak self] in self?.advance() }
    watchdog = loop.makeTimer { [weak self] in self?.patienceIsOver() }
    settling = loop.makeTimer { [weak self] in self?.finish(nil) }
  }

  deinit {
    timer?.cancel()
    watchdog?.cancel()
    settling?.cancel()
  }

  /// Starts playing a session that was just opened, and becomes its handler.
  func start(on session: Session) {
    self.session = session
    // The first action may already be due, but a session does not call a handler that is still being created.
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
          settling?.arm(at: loop.now + settings.settle)
        }
        return
      }
    }
  }

  /// Arms the timer that checks whether the expected bytes arrive in time.
  private func watch() {
    guard let patience = settings.patience else { return }
    watchdog?.arm(at: loop.now + patience)
  }

  private func patienceIsOver() {
    guard let patience = settings.patience, machine.deadline == nil else { return }
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

/// The state machine for one side of a recorded session. This machine decides what to send and when, and whether the
/// other side behaves as recorded.
///
/// Before sending, this side waits for all the bytes that had arrived by then in the recording, and then for the
/// recorded delay. The other side's bytes are compared as one stream, so they may be split differently and may arrive
/// earlier than in the recording.
///
/// ```swift
/// var session = ReplayedSession(recorded, as: .accessory, settings, at: now)
/// if let difference = session.receive(bytes, at: now) { … }
/// while case .send(let bytes)? = session.due(at: now) { … }
/// ```
struct ReplayedSession {
  enum Action: Equatable {
    case send([UInt8])
    case close
  }

  private struct Plan {
    var action: Action
    /// The number of bytes from the other side that must arrive before the action.
    var after: Int
    /// How long to wait once those bytes have arrived and the previous action has been performed.
    var delay: Duration
  }

  let recorded: Recording.Session
  let role: Recording.End
  private let plans: [Plan]
  private let expected: [UInt8]
  private let masked: [Range<Int>]
  private var nextMask = 0
  private var next = 0
  private(set) var received = 0
  /// The number of received bytes that were not compared.
  private(set) var maskedCount = 0
  /// The most recently received bytes, which are shown as the context of a difference.
  private var recent: [UInt8] = []
  /// The time from which the recorded delay before the next action is measured: when the previous action was performed
  /// or, if later, when the last byte that the next action needs arrived.
  private var since: Instant

  init(_ recorded: Recording.Session, as role: Recording.End, _ settings: ReplaySettings, at now: Instant) {
    (self.recorded, self.role, since) = (recorded, role, now)
    var (plans, count, last): ([Plan], Int, Instant) = ([], 0, recorded.opened)
    for step in recorded.steps {
      if step.from == role {
        plans.append(
          Plan(action: .send(step.bytes), after: count, delay: settings.played(step.time - last)))
      } else {
        count += step.bytes.count
      }
      last = step.time
    }
    if case .closed(by: role, at: let time) = recorded.ending {
      // Closing the session too early would hide bytes that are still in transit.
      let delay = max(settings.played(time - last), settings.settle)
      plans.append(Plan(action: .close, after: count, delay: delay))
    }
    self.plans = plans
    expected = recorded.bytes(from: role.other)
    masked = settings.mask.ranges(of: recorded, from: role.other, expected)
  }

  // MARK: This end

  /// When the next action is due, or nil if this side is waiting for bytes or has nothing left to do.
  var deadline: Instant? {
    guard next < plans.count, received >= plans[next].after else { return nil }
    return since + plans[next].delay
  }

  /// Returns the action that is due, if any, and marks it as performed.
  mutating func due(at now: Instant) -> Action? {
    guard let deadline, deadline <= now else { return nil }
    next += 1
    since = now
    return plans[next - 1].action
  }

  var missing: Int { expected.count - received }

  /// Whether all bytes have matched the recording, even if the session is still open.
  var isComplete: Bool { next == plans.count && missing == 0 }

  // MARK: The other end

  mutating func receive(_ bytes: RawSpan, at now: Instant) -> ReplayDifference? {
    let waited = next < plans.count && received < plans[next].after
    for index in 0..<bytes.byteCount {
      let got = bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self)
      guard received < expected.count else {
        return difference(.excess(bytes: bytes.byteCount - index), got: bytes.extracting(index..<bytes.byteCount))
      }
      while nextMask < masked.count, masked[nextMask].upperBound <= received { nextMask += 1 }
      let isMasked = nextMask < masked.count && masked[nextMask].contains(received)
      if isMasked { maskedCount += 1 }
      if !isMasked, got != expected[received] {
        return difference(
          .byte(expected: expected[received], got: got), got: bytes.extracting(index..<bytes.byteCount))
      }
      recent.append(got)
      received += 1
    }
    if recent.count > 64 { recent.removeFirst(recent.count - 32) }
    if waited, received >= plans[next].after { since = now }
    return nil
  }

  /// Handles the end of the session, which occurs when the other side closes it or the cable is unplugged.
  func ended(_ how: String) -> ReplayDifference? {
    if isComplete { return nil }
    // The whole recording has been played, except that this side has not closed the session yet.
    if missing == 0, plans[next...].allSatisfy({ $0.action == .close }) { return nil }
    return difference(.ended(how, missing: missing + plans[next...].reduce(0) { $0 + $1.action.count }))
  }

  /// Returns the difference to report when expected bytes have not arrived in time, or nil if no bytes are expected.
  func overdue(within limit: Duration) -> ReplayDifference? {
    if missing > 0, deadline == nil { return difference(.missing(bytes: missing, within: limit)) }
    if isComplete, case .closed(by: role.other, at: _) = recorded.ending {
      return difference(.stayedOpen(within: limit))
    }
    return nil
  }

  private func difference(_ kind: ReplayDifference.Kind, got: RawSpan? = nil) -> ReplayDifference {
    var difference = ReplayDifference(
      kind, session: recorded.number, protocolName: recorded.protocolName, from: role.other)
    difference.offset = received
    var count = 0
    for step in recorded.steps where step.from != role {
      count += step.bytes.count
      if count > received {
        difference.packet = step.packet
        break
      }
    }
    // The context starts at a multiple of sixteen bytes, so that recorded and received bytes line up when printed.
    let lead = min(recent.count, received % 16 + (received >= 16 ? 16 : 0))
    difference.contextOffset = received - lead
    difference.expected = Array(expected[(received - lead)..<min(expected.count, received + 32)])
    difference.got = recent.suffix(lead)
    if let got {
      for index in 0..<min(32, got.byteCount) {
        difference.got.append(got.unsafeLoad(fromByteOffset: index, as: UInt8.self))
      }
    }
    return difference
  }
}

extension ReplayedSession.Action {
  fileprivate var count: Int {
    if case .send(let bytes) = self { bytes.count } else { 0 }
  }
}
