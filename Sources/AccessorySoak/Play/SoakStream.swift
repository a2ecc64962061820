import AccessoryCore
import AccessoryFormats
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import IAP2

struct SoakBehavior: AccessoryBehavior {
  let makeHandler: (Session) -> any SessionHandler

  func makeHandler(for session: Session, in context: BehaviorContext) -> any SessionHandler { makeHandler(session) }
}

/// The built-in echo, with counters. The device's end checks the bytes.
final class SoakEcho: SessionHandler {
  private let echo: any SessionHandler
  private let account: SoakAccount
  private let record: SoakRecord

  init(_ session: Session, _ account: SoakAccount, on loop: any EventLoop, _ record: SoakRecord) {
    self.account = account
    self.record = record
    echo = record.echo.makeHandler(for: session, in: BehaviorContext(loop: loop))
    account.open(.accessory, session, record)
  }

  func sessionIsReadable(_ session: Session) {
    echo.sessionIsReadable(session)
    count(session)
  }

  func sessionIsWritable(_ session: Session) {
    echo.sessionIsWritable(session)
    count(session)
  }

  func session(_ session: Session, endedWith end: SessionEnd) {
    echo.session(session, endedWith: end)
    count(session)
    account.simulator.end = end
    record.hash.add(end.description)
  }

  private func count(_ session: Session) {
    account.simulator.read = session.bytesRead
    account.simulator.written = session.bytesWritten
  }
}

/// One end of a soak session, which writes, reads and closes as planned and checks every byte that it reads.
final class SoakStream: SessionHandler {
  private let plan: SoakStreamPlan
  private let account: SoakAccount
  private let end: Cable.End
  private let loop: any EventLoop
  private let record: SoakRecord
  private var random: SeededRandom
  private weak var session: Session?

  private var left: Int
  private var isWaitingForRoom = false
  private var writing: LoopTimer?
  private var reading: LoopTimer?
  private var closing: LoopTimer?
  private var quietTimer: LoopTimer?
  private var verifier: StreamVerifier
  private var readLimit: Int?
  private var isSettling = false

  init(
    _ plan: SoakStreamPlan, _ session: Session, _ account: SoakAccount, _ end: Cable.End,
    seed: UInt64, on loop: any EventLoop, _ record: SoakRecord
  ) {
    self.plan = plan
    self.account = account
    self.end = end
    self.loop = loop
    self.record = record
    self.session = session
    random = SeededRandom(seed: seed)
    verifier = StreamVerifier(account[end.other].stream)
    left = plan.bytes
    if case .stops(let after, _) = plan.reading { readLimit = after }
    account.open(end, session, record)
  }

  func start() {
    if left > 0 { write() } else if plan.closing == .afterWriting { closeSoon(.zero) }
    if case .after(let time) = plan.closing { closeSoon(time) }
  }

  func settle() {
    isSettling = true
    left = 0
    readLimit = nil
    writing?.cancel()
    closing?.cancel()
    reading?.cancel()
    read()
    reportWrongBytes()
  }

  // MARK: Writing

  private func write() {
    guard let session, session.isOpen else { return }
    while left > 0 {
      let most = min(left, plan.chunk, UniqueBuffer.longest)
      let count = most == 1 ? 1 : Int.random(in: 1...most, using: &random)
      let half = account[end]
      let taken = record.scratch.show(half.stream, half.written..<half.written + count) { session.write($0) }
      account[end].written += taken
      left -= taken
      if taken < count, session.isOpen {
        isWaitingForRoom = true
        return
      }
      if left == 0 || plan.think > .zero { break }
    }
    if left > 0 {
      writing = writing ?? loop.makeTimer { [weak self] in self?.write() }
      writing?.arm(at: loop.now + plan.think)
    } else if plan.closing == .afterWriting, !isSettling {
      closeSoon(.zero)
    }
  }

  private func closeSoon(_ time: Duration) {
    closing = loop.makeTimer { [weak self] in self?.session?.close() }
    closing?.arm(at: loop.now + time)
  }

  // MARK: Reading

  private func read() {
    guard let session else { return }
    while true {
      var most = readLimit ?? .max
      if case .slow(let bytes, _) = plan.reading, !isSettling { most = min(most, bytes) }
      if most == 0 {
        if case .stops(_, let resumes?) = plan.reading, reading == nil { readLater(resumes) { $0.readLimit = nil } }
        return
      }
      let count = session.read { bytes in
        let bytes = bytes.extracting(0..<min(bytes.byteCount, most))
        check(bytes)
        return bytes.byteCount
      }
      if count == 0 { return }
      readLimit = readLimit.map { $0 - count }
      if case .slow(_, let every) = plan.reading, !isSettling, session.isOpen { return readLater(every) }
    }
  }

  private func readLater(_ time: Duration, _ before: @escaping (SoakStream) -> Void = { _ in }) {
    reading =
      reading
      ?? loop.makeTimer { [weak self] in
        guard let self else { return }
        before(self)
        read()
      }
    reading?.arm(at: loop.now + time)
  }

  private func check(_ bytes: RawSpan) {
    defer {
      account[end].read += bytes.byteCount
      record.coverage[.bytesDelivered] += bytes.byteCount
    }
    if account.isHostile { return }
    let half = account[end]
    let other = account[end.other]
    if !verifier.check(bytes, record.scratch) {
      if verifier.isFull { reportWrongBytes() }
      quietTimer = quietTimer ?? loop.makeTimer { [weak self] in self?.reportWrongBytes() }
      quietTimer?.arm(at: loop.now + Self.quiet)
    }
    let read = half.read + bytes.byteCount
    if read > other.written {
      record.violation(
        .bytes, "\(account.name): \(read) bytes were read, but only \(other.written) written", at: loop.now)
    }
  }

  /// How long the session must be quiet after a wrong byte before the mistake is diagnosed.
  private static let quiet = Duration.milliseconds(500)

  private func reportWrongBytes() {
    quietTimer?.cancel()
    for finding in verifier.conclude() {
      record.violation(.bytes, "\(account.name): \(finding.text())", at: loop.now)
    }
  }

  // MARK: Session

  func sessionIsReadable(_ session: Session) {
    if reading?.deadline == nil { read() }
  }

  func sessionIsWritable(_ session: Session) {
    guard isWaitingForRoom else { return }
    isWaitingForRoom = false
    write()
  }

  func session(_ session: Session, endedWith reason: SessionEnd) {
    settle()
    account[end].end = reason
    record.hash.add(reason.description)
    // Only one end notices that bytes were not read.
    let isCounted = if case .notRead = reason { true } else { end == .device }
    guard isCounted else { return }
    switch reason {
    case .refused: record.coverage[.sessionRefused] += 1
    case .notRead: record.coverage[.sessionEndedUnread] += 1
    case .closedByDevice: record.coverage[.sessionClosedByDevice] += 1
    case .closedByAccessory: record.coverage[.sessionClosedByAccessory] += 1
    case .linkDown: record.coverage[.sessionEndedByLink] += 1
    case .channelEnded: record.coverage[.sessionEndedByCable] += 1
    }
  }
}

/// A record of one session: what each end wrote and read, and why the session ended at each end.
///
/// Invariant, which is checked at every read: the bytes that one end has read are a prefix of the bytes that the other
/// end has written.
final class SoakAccount {
  final class Half {
    let stream: UniqueStream
    var written = 0
    var read = 0
    var end: SessionEnd?
    weak var session: Session?
    /// Whether the session was opened at this end. If the accessory refuses or ignores a session, the session is not
    /// opened at the accessory's end.
    var isOpen = false

    /// Whether the session is open at this end and everything that this end wrote has been acknowledged. In this state,
    /// an end cannot detect that its peer is gone.
    var isAtRest: Bool { end == nil && (session?.unacknowledged ?? 0) == 0 }

    init(_ stream: UniqueStream) {
      self.stream = stream
    }
  }

  let accessory: Int
  let id: UInt16
  let name: String
  let device: Half
  let simulator: Half
  let isEcho: Bool
  /// Whether the accessory leaves requests unanswered or handles the session without this record.
  let isIgnored: Bool
  /// Whether packets may be corrupted without either end noticing. If so, wrong bytes do not break a rule.
  let isHostile: Bool
  /// How many times the link had already gone down when this session was opened.
  let linkDownsBefore: Int

  init(accessory: Int, _ plan: SoakPlan, isHostile: Bool, id: UInt16, number: Int, linkDowns: Int) {
    self.accessory = accessory
    self.id = id
    isEcho = plan.accessories[accessory].streams == nil
    self.isHostile = isHostile
    let trouble = plan.accessories[accessory].profile.quirks.session?.answer
    isIgnored = trouble == .ignore || trouble == .silent
    linkDownsBefore = linkDowns
    name = "session \(id) of accessory \(accessory)"
    device = Half(UniqueStream(seed: plan.seed, session: 2 * number))
    // An echo sends back the bytes that it receives from the device.
    simulator = Half(UniqueStream(seed: plan.seed, session: 2 * number + (isEcho ? 0 : 1)))
  }

  subscript(end: Cable.End) -> Half { end == .device ? device : simulator }

  func open(_ end: Cable.End, _ session: Session, _ record: SoakRecord) {
    self[end].isOpen = true
    self[end].session = session
    record.leaks.watch(session, "session", Int(id))
  }

  var isDelivered: Bool { device.read == simulator.written && simulator.read == device.written }

  func isSettled(linkWentDown: Bool) -> Bool {
    switch (device.end == nil, simulator.isOpen && simulator.end == nil) {
    case (true, true): isDelivered
    case (false, false): true
    case (true, false): device.isAtRest && (linkWentDown || (isIgnored && !simulator.isOpen))
    case (false, true): simulator.isAtRest && linkWentDown
    }
  }

  /// Returns the rule that the outcome of the session breaks, or nil if it breaks none.
  ///
  /// A link has no keep-alive, so one side cannot tell that the other has given up unless it is waiting for an
  /// acknowledgement. At an end that is not waiting for an acknowledgement, the session may stay open.
  func fault(linkWentDown: Bool) -> SoakViolation? {
    for (half, other, names) in [
      (simulator, device, ("accessory", "device")), (device, simulator, ("device", "accessory")),
    ] where simulator.isOpen && other.end == nil {
      guard let end = half.end else { continue }
      if linkWentDown, other.isAtRest { return nil }
      return SoakViolation(
        .ending, "\(name) ended for the \(names.0) (\(end)) but not for the \(names.1): \(account)")
    }
    if device.end == nil, !simulator.isOpen, !linkWentDown, !isIgnored {
      return SoakViolation(.ending, "\(name) is open for the device, but was never opened for the accessory")
    }
    if device.end == nil, simulator.isOpen, simulator.end == nil, !isDelivered {
      return SoakViolation(
        .delivery, "\(name) is open, but some bytes were not delivered: \(account)")
    }
    // Bytes that were written before a clean close must arrive before the close. An echo is an exception because it
    // drops bytes that it can no longer send back.
    if simulator.end == .closedByDevice, !isEcho, simulator.read < device.written {
      return SoakViolation(
        .delivery, "\(name) was closed cleanly by the device, but earlier bytes are missing: \(account)")
    }
    if device.end == .closedByAccessory, device.read < simulator.written {
      return SoakViolation(
        .delivery, "\(name) was closed cleanly by the accessory, but earlier bytes are missing: \(account)")
    }
    return nil
  }

  var account: String {
    "the accessory read \(simulator.read) of \(device.written) bytes, the device \(device.read) of \(simulator.written)"
  }
}

/// An app in a seeded world, which opens the sessions in its plan as accessories appear.
final class SoakApp: AppHandler {
  private let plan: SoakPlan.App
  private let loop: any EventLoop
  private let record: SoakRecord
  private let opened: (Session, PublishedAccessory, SoakStreamPlan) -> Void
  private var next = 0
  private var timers: [LoopTimer] = []

  /// `opened` is called with each new session before the session receives any events.
  init(
    _ plan: SoakPlan.App, on loop: any EventLoop, _ record: SoakRecord,
    opened: @escaping (Session, PublishedAccessory, SoakStreamPlan) -> Void
  ) {
    self.plan = plan
    self.loop = loop
    self.record = record
    self.opened = opened
  }

  func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    if accessory.protocols.isEmpty {
      guard plan.isRude else { return }
      do {
        _ = try app.openSession(with: accessory, protocolName: "com.example.soak0")
        record.violation(
          .opening, "an app opened a session with an accessory that offers no protocols", at: loop.now)
      } catch {
        record.coverage[.sessionDeniedByAPI] += 1
      }
      return
    }
    openLater(accessory, app, plan.patience)
  }

  func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {}

  func settle() {
    next = plan.sessions.count
    for timer in timers { timer.cancel() }
    timers.removeAll()
  }

  private func openLater(_ accessory: PublishedAccessory, _ app: AppView, _ time: Duration) {
    guard next < plan.sessions.count else { return }
    timers.removeAll { $0.deadline == nil }
    timers.append(
      loop.schedule(after: time) { [weak self, weak app] in
        if let self, let app { open(accessory, app) }
      })
  }

  private func open(_ accessory: PublishedAccessory, _ app: AppView) {
    guard next < plan.sessions.count else { return }
    let stream = plan.sessions[next]
    let name = accessory.protocols[stream.protocolNumber % accessory.protocols.count]
    do {
      let session = try app.openSession(with: accessory, protocolName: name)
      next += 1
      opened(session, accessory, stream)
      openLater(accessory, app, plan.patience)
    } catch {
      // The accessory has since disconnected. The app tries again when an accessory next connects.
      record.coverage[.sessionDeniedByAPI] += 1
    }
  }
}
