import AccessoryCore
import AccessoryFormats
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
  /// How many bytes this end reads before it stops, or nil if it never stops.
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

  /// Starts the stream. The stream must already be the session's handler.
  func start() {
    if left > 0 { write() } else if plan.closing == .afterWriting { closeSoon(.zero) }
    if case .after(let time) = plan.closing { closeSoon(time) }
  }

  /// Stops writing, cancels any planned close, and reads everything that arrives, because the world is about to end.
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
      if most == 0 { return stopReading() }
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

  private func stopReading() {
    guard case .stops(_, let resumes?) = plan.reading, reading == nil else { return }
    readLater(resumes) { stream in stream.readLimit = nil }
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
    guard end == .device || reason.isNoticedByOneEndOnly else { return }
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

extension SessionEnd {
  fileprivate var isNoticedByOneEndOnly: Bool {
    if case .notRead = self { true } else { false }
  }
}
