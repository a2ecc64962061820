internal import AccessoryCore
internal import AccessoryHost
internal import AccessorySessions
import Foundation
internal import IAP2

/// Carries the bytes of one session between the loop that owns the session and the app's threads that use the session's
/// streams.
///
/// Each direction has a bounded buffer. If the app does not read, the pipe stops reading from the session, and the
/// accessory's packets are no longer acknowledged. If the wire is slow, `write` accepts fewer bytes, as with any
/// stream.
///
/// Either the app or the accessory can end the session. If the app ends the session (``SessionLifetime`` defines when),
/// everything that the app has already written is still sent. If the accessory ends the session, both streams report
/// the end of the stream after the last byte.
final class SessionPipe: SessionHandler, CustomReflectable, @unchecked Sendable {
  /// Whether the session still holds bytes because `incoming` was full, and whether the loop is about to fetch them.
  private enum Backlog {
    case none
    /// The session holds bytes that the loop has not been asked to fetch.
    case waiting
    /// The loop will soon fetch the bytes.
    case coming
  }

  let connectionID: Int
  let protocolName: String
  let opening: SessionOpening
  let input: StreamPort
  let output: StreamPort
  private let realm: AccessoryRealm
  private let session: Session
  private let lock = Lock()

  // Protected by the lock.
  private var incoming = ByteQueue()
  private var outgoing = ByteQueue()
  private var lifetime: SessionLifetime
  private var backlog = Backlog.none
  private var pushIsComing = false
  private var isOver = false
  private var wasNeglectNoted = false
  private var readCount = 0
  /// The bytes that the last short write did not accept and that the app has not written since.
  private var rest = UnwrittenRest()

  // Used only on the event loop.
  private var closesWhenSent = false
  private var outbound = ByteQueue()

  init(
    _ session: Session, of accessory: PublishedAccessory, opened opening: SessionOpening, in realm: AccessoryRealm
  ) {
    self.session = session
    self.opening = opening
    self.realm = realm
    connectionID = accessory.connectionID
    protocolName = session.protocolName
    let name = session.protocolName
    let note = { @Sendable [weak realm] (misuse: StreamMisuse) -> Void in realm?.note(.stream(name, misuse)) }
    input = StreamPort(.input, in: realm, note: note)
    output = StreamPort(.output, in: realm, note: note)
    lifetime = SessionLifetime(realm.settings.lifetime)
  }

  /// Starts receiving the session's events. Called on the event loop.
  func begin() {
    session.handler = self
    output.becomeReady()
    pull()
  }

  // MARK: Calls on the app's threads

  func open(_ stream: SessionLifetime.Stream) {
    port(stream).open()
  }

  func close(_ stream: SessionLifetime.Stream) {
    if stream == .output { noteLostRest() }
    if port(stream).close() { settle(lock.withLock { lifetime.closed(stream) }) }
  }

  /// Handles the release of a stream object. The release counts as closing the stream, except under the rule
  /// ``SessionLifetime/Rule/closedTwice``, which requires `close()`.
  func abandon(_ stream: SessionLifetime.Stream) {
    let port = port(stream)
    let status = port.status
    if status != .closed {
      if stream == .output { noteLostRest() }
      if status != .notOpen { noteNeglect() }
      if realm.settings.lifetime != .closedTwice { settle(lock.withLock { lifetime.closed(stream) }) }
    }
    port.invalidate()
  }

  /// Records that the app released an open stream. This misuse is recorded at most once per session, and only if the
  /// accessory has not already ended the session.
  private func noteNeglect() {
    let isFirst = lock.withLock { () -> Bool in
      defer { wasNeglectNoted = true }
      return !wasNeglectNoted && !isOver
    }
    if isFirst { realm.note(.sessionNotClosed(protocolName)) }
  }

  /// Called when the app closes the output stream. If the app has not written the rest of a short write, records that
  /// those bytes are lost.
  private func noteLostRest() {
    if let lost = lock.withLock({ isOver ? nil : rest.take() }) { realm.note(.shortWrite(protocolName, lost)) }
  }

  /// The short-write misuse, if the app was notified of room but did not write the rest of an earlier write.
  var lostRest: Misuse? {
    guard output.status == .open, !output.hasDueEvent else { return nil }
    return lock.withLock { isOver || room == 0 ? nil : rest.lost.map { .shortWrite(protocolName, $0) } }
  }

  var reading: Reading {
    let isOpen = input.status == .open
    return lock.withLock {
      Reading(isBehind: isOpen && !incoming.isEmpty, isFetching: backlog == .coming, count: readCount)
    }
  }

  /// Whether the session is still in use: the app has not closed both streams, and the accessory has not ended the
  /// session.
  var isInUse: Bool {
    let isClosed = input.status == .closed && output.status == .closed
    return lock.withLock { !isClosed && !isOver && !lifetime.isOver }
  }

  /// Whether the app has released the session. Bytes that the app wrote earlier may still be in transit.
  var isLetGo: Bool { lock.withLock { lifetime.isOver } }

  private func port(_ stream: SessionLifetime.Stream) -> StreamPort { stream == .input ? input : output }

  func released() { settle(lock.withLock { lifetime.released() }) }

  private func settle(_ isDone: Bool) {
    guard isDone else { return }
    realm.entrance.async { [self] in
      closesWhenSent = true
      push()
    }
  }

  /// The room for bytes that the app writes. Requires the lock.
  private var room: Int { max(0, realm.settings.sendBufferSize - outgoing.count) }

  var hasBytes: Bool { lock.withLock { !incoming.isEmpty } }

  /// Whether the app may write. With ``FrameworkSettings/LossEvent/silence``, the stream still claims to have room
  /// after the accessory is gone.
  var hasRoom: Bool {
    lock.withLock { isOver ? realm.settings.lossEvent == .silence : room > 0 }
  }

  /// Implements a stream's `read` and returns its result. Zero means either that the stream has ended or that no bytes
  /// have arrived yet.
  func read(_ target: UnsafeMutableRawBufferPointer) -> Int {
    let (count, fetches, isMisuse) = lock.withLock { () -> (Int, Bool, Bool) in
      let count = incoming.read(into: target)
      readCount += 1
      let fetches = backlog == .waiting && incoming.count <= realm.settings.receiveBufferSize / 2
      if fetches { backlog = .coming }
      // The port's state is changed while this lock is held, so that bytes that arrive at the same time are not missed.
      input.wasUsed(isReady: !incoming.isEmpty)
      return (count, fetches, count == 0 && !isOver && target.count > 0)
    }
    if fetches { realm.entrance.async { [self] in pull() } }
    if isMisuse { realm.note(.readWithoutBytes(protocolName)) }
    return count
  }

  func write(_ bytes: UnsafeRawBufferPointer, at place: CallPlace?) -> Int {
    enum Outcome { case taken(Int, push: Bool, lost: LostRest?), failed }
    let outcome = lock.withLock { () -> Outcome in
      if isOver { return .failed }
      let taken = outgoing.append(bytes, atMost: room)
      let lost = rest.wrote(bytes, taken: taken, at: place)
      defer { if taken > 0 { pushIsComing = true } }
      output.wasUsed(isReady: room > 0)
      return .taken(taken, push: taken > 0 && !pushIsComing, lost: lost)
    }
    switch outcome {
    case .failed:
      output.fail(POSIXError(.EPIPE), isEvent: false)
      return -1
    case .taken(let count, let push, let lost):
      if push { realm.entrance.async { [self] in self.push() } }
      if let lost { realm.note(.shortWrite(protocolName, lost)) }
      guard count == 0, bytes.count > 0 else { return count }
      realm.note(.writeWithoutSpace(protocolName))
      return realm.settings.fullWrite.rawValue
    }
  }

  func deliverAllOnMain() {
    input.deliverAllOnMain()
    output.deliverAllOnMain()
  }

  /// Delivers the events that occurred while the app was suspended.
  func resume() {
    input.signalIfDue()
    output.signalIfDue()
  }

  // MARK: Loop

  func dropUnsent() {
    lock.withLock { outgoing = ByteQueue() }
    outbound = ByteQueue()
  }

  /// Called when the app's process ends. Stops all reads, writes and events.
  func die() {
    lock.withLock { isOver = true }
    session.handler = nil
    input.invalidate()
    output.invalidate()
  }

  func sessionIsReadable(_ session: Session) { pull() }

  func sessionIsWritable(_ session: Session) { push() }

  func session(_ session: Session, endedWith end: SessionEnd) {
    // Even if `incoming` is full, the app may read everything that has arrived. The session limits how many bytes can
    // arrive.
    pull(isForced: true)
    guard realm.settings.endOrder == .notificationFirst else { return finish(end) }
    // If there is a disconnect notification, it is queued in the current turn of the loop, so wait for the next turn.
    realm.entrance.loop.schedule(after: .zero) { [self] in
      realm.main.add { [self] in finish(end) }
    }
  }

  private func pull(isForced: Bool = false) {
    lock.withLock { if backlog == .coming { backlog = .none } }
    while true {
      let count = session.read { bytes in
        bytes.withUnsafeBytes { bytes in
          lock.withLock {
            let room = isForced ? bytes.count : realm.settings.receiveBufferSize - incoming.count
            let taken = incoming.append(bytes, atMost: room)
            backlog = taken < bytes.count ? .waiting : .none
            if taken > 0 { input.becomeReady() }
            return taken
          }
        }
      }
      if count == 0 { break }
    }
  }

  func push() {
    while true {
      lock.withLock {
        pushIsComing = false
        if outbound.isEmpty { swap(&outbound, &outgoing) }
      }
      if outbound.isEmpty { break }
      outbound.consume { session.write($0) }
      if !outbound.isEmpty { break }
    }
    lock.withLock { if room > 0, !isOver { output.becomeReady() } }
    if closesWhenSent, outbound.isEmpty || !session.isOpen { session.close("the app closed it") }
  }

  /// Called when the accessory ends the session.
  private func finish(_ end: SessionEnd) {
    lock.withLock { isOver = true }
    let event: FrameworkSettings.LossEvent =
      switch end {
      case .linkDown, .channelEnded: realm.settings.lossEvent
      // The accessory is still connected.
      case .closedByDevice, .closedByAccessory, .refused, .notRead: .endEncountered
      }
    switch event {
    case .endEncountered:
      input.end()
      output.end()
    case .errorOccurred:
      input.fail(POSIXError(.ECONNRESET), isEvent: true)
      output.fail(POSIXError(.ECONNRESET), isEvent: true)
    case .silence: break
    }
    // The pipe is removed in a later turn of the loop, because a disconnect that is handled in this turn still needs
    // the pipes of the sessions it ended.
    realm.entrance.async { [self] in realm.entrance.loop.schedule(after: .zero) { [self] in realm.forget(self) } }
  }

  /// The mirror is empty for the same reason as the mirror of ``AccessoryRealm``.
  var customMirror: Mirror { Mirror(self, children: []) }
}

/// An app's progress in reading incoming bytes.
package struct Reading {
  /// Whether bytes are waiting in an open stream.
  package var isBehind = false
  /// Whether the loop is about to fetch more bytes.
  package var isFetching = false
  package var count = 0

  static func + (one: Reading, other: Reading) -> Reading {
    Reading(
      isBehind: one.isBehind || other.isBehind, isFetching: one.isFetching || other.isFetching,
      count: one.count + other.count)
  }
}

extension ByteQueue {
  /// Appends at most `limit` bytes. Returns the number of bytes that it appended.
  fileprivate mutating func append(_ source: UnsafeRawBufferPointer, atMost limit: Int) -> Int {
    let taken = max(0, min(limit, source.count))
    append(UnsafeRawBufferPointer(rebasing: source[..<taken]).bytes)
    return taken
  }

  /// Moves as many bytes as `target` can hold. Returns the number of bytes that it moved.
  fileprivate mutating func read(into target: UnsafeMutableRawBufferPointer) -> Int {
    consume { span in
      let taken = min(span.byteCount, target.count)
      span.extracting(first: taken).withUnsafeBytes { target.copyMemory(from: $0) }
      return taken
    }
  }
}
