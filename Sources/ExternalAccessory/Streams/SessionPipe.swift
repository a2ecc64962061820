internal import AccessoryCore
internal import AccessoryHost
internal import AccessorySessions
import Foundation
internal import IAP2

/// The bytes of one session between the loop, where the session lives, and the threads of the app, where its two
/// streams are used.
///
/// Both ways have a bounded buffer. When the app does not read, the pipe stops taking from the session, whose packets
/// are then no longer acknowledged; when the wire is slow, `write` takes less, as streams do.
///
/// The session ends when the app has let go of it as ``SessionLifetime`` says, after what was written has gone out; or
/// when the other end ends it, and then both streams say so after the last byte.
final class SessionPipe: SessionHandler, @unchecked Sendable {
  let connectionID: Int
  let protocolName: String
  let input: StreamPort
  let output: StreamPort
  private let realm: AccessoryRealm
  private let session: Session
  private let lock = NSLock()

  // Under the lock.
  private var incoming: ByteBuffer
  private var outgoing: ByteBuffer
  private var lifetime: SessionLifetime
  /// The loop has left bytes in the session, for want of room.
  private var isStarved = false
  /// The loop is on its way to bring more of what it has left.
  private var pullIsComing = false
  /// The loop is on its way to take what was written.
  private var pushIsComing = false
  private var isOver = false
  private var isNeglected = false
  private var readCount = 0

  // On the loop.
  private var closesWhenSent = false
  private var outbound: ByteBuffer

  init(_ session: Session, of accessory: PublishedAccessory, in realm: AccessoryRealm) {
    self.session = session
    self.realm = realm
    connectionID = accessory.connectionID
    protocolName = session.protocolName
    input = StreamPort(.input, in: realm)
    output = StreamPort(.output, in: realm)
    incoming = ByteBuffer(capacity: realm.settings.bufferSize)
    outgoing = ByteBuffer(capacity: realm.settings.bufferSize)
    outbound = ByteBuffer(capacity: realm.settings.bufferSize)
    lifetime = SessionLifetime(realm.settings.lifetime)
  }

  /// Takes the session's events. On the loop.
  func begin() {
    session.handler = self
    output.set(isReady: true, isAnew: true)
    pull()
  }

  // MARK: The app's threads

  func open(_ stream: SessionLifetime.Stream) {
    if port(stream).open() { lock.withLock { lifetime.opened(stream) } }
  }

  func close(_ stream: SessionLifetime.Stream) {
    if port(stream).close() { settle(lock.withLock { lifetime.closed(stream) }) }
  }

  /// A stream object is gone. If it was never closed, that is as good as closing it, except where systems were seen to
  /// hold the session for it.
  func abandon(_ stream: SessionLifetime.Stream) {
    let port = port(stream)
    let status = port.status
    if status != .closed {
      if status != .notOpen { noteNeglect() }
      if realm.settings.lifetime != .closedTwice { settle(lock.withLock { lifetime.closed(stream) }) }
    }
    port.invalidate()
  }

  /// Once for a session, and only where there is something to close yet.
  private func noteNeglect() {
    let isFirst = lock.withLock { () -> Bool in
      defer { isNeglected = true }
      return !isNeglected && !isOver
    }
    guard isFirst else { return }
    realm.note(misuse: "a session on \(protocolName) was let go of and never closed: close both of its streams")
  }

  /// How far the app is with what has come.
  var reading: Reading {
    let isOpen = input.status == .open
    return lock.withLock { Reading(isBehind: isOpen && !incoming.isEmpty, isBringing: pullIsComing, count: readCount) }
  }

  /// Whether the app is done with it, though bytes may be on their way still.
  var isLetGo: Bool { lock.withLock { lifetime.isOver } }

  private func port(_ stream: SessionLifetime.Stream) -> StreamPort { stream == .input ? input : output }

  /// The session object is gone.
  func released() { settle(lock.withLock { lifetime.released() }) }

  private func settle(_ isDone: Bool) {
    guard isDone else { return }
    realm.entrance.async { [self] in
      closesWhenSent = true
      push()
    }
  }

  var hasBytes: Bool { lock.withLock { !incoming.isEmpty } }

  /// Where a loss is silent, there seems to be room.
  var hasRoom: Bool {
    lock.withLock { isOver ? realm.settings.lossEvent == .silence : outgoing.room > 0 }
  }

  /// What streams return from `read`: 0 for the end as well as for nothing yet.
  func read(_ target: UnsafeMutableRawBufferPointer) -> Int {
    let (count, isNeeded, misread) = lock.withLock { () -> (Int, Bool, Bool) in
      let count = incoming.read(into: target)
      readCount += 1
      let isNeeded = isStarved && incoming.count <= incoming.capacity / 2
      if isNeeded { (isStarved, pullIsComing) = (false, true) }
      // Under the lock, as everywhere: what the loop says of its bytes must not be taken back by an older look.
      input.set(isReady: !incoming.isEmpty, isAnew: true)
      return (count, isNeeded, count == 0 && !isOver && target.count > 0)
    }
    if isNeeded { realm.entrance.async { [self] in pull() } }
    if misread { realm.note(misuse: "read without bytes available on \(protocolName): Apple's stream would wait") }
    return count
  }

  /// What streams return from `write`.
  func write(_ bytes: UnsafeRawBufferPointer) -> Int {
    enum Outcome { case taken(Int, push: Bool), failed }
    let outcome = lock.withLock { () -> Outcome in
      if isOver { return .failed }
      let taken = outgoing.append(bytes)
      defer { if taken > 0 { pushIsComing = true } }
      output.set(isReady: outgoing.room > 0, isAnew: true)
      return .taken(taken, push: taken > 0 && !pushIsComing)
    }
    switch outcome {
    case .failed:
      output.fail(POSIXError(.EPIPE), tells: false)
      return -1
    case .taken(let count, let push):
      if push { realm.entrance.async { [self] in self.push() } }
      guard count == 0, bytes.count > 0 else { return count }
      realm.note(misuse: "write without space available on \(protocolName): wait for hasSpaceAvailable")
      return realm.settings.fullWrite.rawValue
    }
  }

  /// Tells what is due on the main thread now.
  func tellMainNow() {
    input.tellAllOnMain()
    output.tellAllOnMain()
  }

  /// Tells what fell due while the app was suspended.
  func goOn() {
    input.kick()
    output.kick()
  }

  // MARK: The loop

  func sessionIsReadable(_ session: Session) { pull() }

  func sessionIsWritable(_ session: Session) { push() }

  func session(_ session: Session, endedWith end: SessionEnd) {
    // What had arrived is the app's to read; the session's own bound is the bound of what comes here.
    pull(isForced: true)
    guard realm.settings.endOrder == .notificationFirst else { return finish(end) }
    // The disconnect, where there is one, is told of in this turn.
    realm.entrance.loop.schedule(after: .zero) { [self] in
      realm.main.add { [self] in finish(end) }
    }
  }

  private func pull(isForced: Bool = false) {
    lock.withLock { pullIsComing = false }
    while true {
      let count = session.read { bytes in
        bytes.withUnsafeBytes { bytes in
          lock.withLock {
            let taken = incoming.append(bytes, isForced: isForced)
            isStarved = taken < bytes.count
            if taken > 0 { input.set(isReady: true, isAnew: false) }
            return taken
          }
        }
      }
      if count == 0 { break }
    }
  }

  private func push() {
    while true {
      lock.withLock {
        pushIsComing = false
        if outbound.isEmpty { swap(&outbound, &outgoing) }
      }
      if outbound.isEmpty { break }
      outbound.consume { session.write($0) }
      if !outbound.isEmpty { break }
    }
    lock.withLock { if outgoing.room > 0, !isOver { output.set(isReady: true, isAnew: false) } }
    if closesWhenSent, outbound.isEmpty || !session.isOpen { session.close("the app closed it") }
  }

  /// Nothing more comes from the other end.
  private func finish(_ end: SessionEnd) {
    lock.withLock { isOver = true }
    switch end.isLoss ? realm.settings.lossEvent : .endEncountered {
    case .endEncountered:
      input.end()
      output.end()
    case .errorOccurred:
      input.fail(POSIXError(.ECONNRESET), tells: true)
      output.fail(POSIXError(.ECONNRESET), tells: true)
    case .silence: break
    }
    // In a later turn: the disconnect of this one looks for what ended.
    realm.entrance.async { [self] in realm.entrance.loop.schedule(after: .zero) { [self] in realm.forget(self) } }
  }
}

/// How far an app is with the bytes that have come for it.
package struct Reading {
  /// Whether bytes wait in an open stream.
  package var isBehind = false
  /// Whether the loop is about to bring more.
  package var isBringing = false
  /// Grows with each read.
  package var count = 0

  /// Of two sessions.
  static func + (one: Reading, other: Reading) -> Reading {
    Reading(
      isBehind: one.isBehind || other.isBehind, isBringing: one.isBringing || other.isBringing,
      count: one.count + other.count)
  }
}

/// As with ``AccessoryRealm``: what is behind a stream is not to be looked into.
extension SessionPipe: CustomReflectable {
  var customMirror: Mirror { Mirror(self, children: []) }
}

extension SessionEnd {
  /// Whether the accessory went, and did not only end the session.
  fileprivate var isLoss: Bool {
    switch self {
    case .linkDown, .channelEnded: true
    case .closedByDevice, .closedByAccessory, .refused, .notRead: false
    }
  }
}
