import AccessoryCore
import AccessoryFormats
import AccessorySessions
import IAP2

/// One end of a session: either an app's end, or the end of an accessory whose sessions a client has taken over.
final class ControlledSession: SessionHandler {
  let id: String
  let session: Session
  let world: ControlWorld
  /// The accessory, or nil if this is an app's end.
  weak var accessory: ControlledAccessory?
  /// The app, or nil if this is an accessory's end.
  weak var app: ControlledApp?
  /// The accessory's connection ID, or nil if this is an accessory's end.
  var connectionID: Int?
  weak var client: ControlClient?
  /// A separate connection that carries the session's bytes. While there is a separate connection, requests cannot read
  /// or write the bytes.
  var port: (any SessionHandler)?
  private var writes: [Write] = []

  private final class Write {
    var bytes: ArraySlice<UInt8>
    var isOver = false
    init(_ bytes: [UInt8]) { self.bytes = bytes[...] }
  }

  init(
    _ id: String, _ session: Session, in world: ControlWorld, accessory: ControlledAccessory?, app: ControlledApp?,
    client: ControlClient?
  ) {
    (self.id, self.session, self.world) = (id, session, world)
    (self.accessory, self.app, self.client) = (accessory, app, client)
  }

  // MARK: Requests

  func read(atMost count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    session.read { span in
      let taken = min(count, span.byteCount)
      bytes = span.extracting(0..<taken).withUnsafeBytes { [UInt8]($0) }
      return taken
    }
    return bytes
  }

  var waitingBytes: Int { writes.reduce(0) { $0 + $1.bytes.count } }

  /// Writes bytes after those of earlier requests. If there is no room for the bytes, waits until the deadline. `done`
  /// receives how many bytes were written.
  func write(_ bytes: [UInt8], until deadline: Instant, by call: ControlCall, done: @escaping (Int) -> Void) {
    let write = Write(bytes)
    writes.append(write)
    pump()
    world.wait(call, until: deadline, isDone: { [session] in write.bytes.isEmpty || !session.isOpen }) {
      [weak self] _, _ in
      write.isOver = true
      self?.writes.removeAll { $0 === write }
      done(bytes.count - write.bytes.count)
      // The next write may be waiting for the current write to finish.
      self?.pump()
    }
  }

  private func pump() {
    for write in writes where !write.isOver && session.isOpen {
      guard !write.bytes.isEmpty else { continue }
      let taken = session.write(write.bytes.span.bytes)
      write.bytes = write.bytes.dropFirst(taken)
      if !write.bytes.isEmpty { return }
    }
  }

  /// Closes the session once it has accepted this many bytes, including those that are still in the session's separate
  /// connection.
  func close(_ reason: String?, afterWriting count: Int, by call: ControlCall, done: @escaping () -> Void) {
    let isComplete = { [session] in session.bytesWritten >= count || !session.isOpen }
    func finish() {
      session.close(reason)
      done()
    }
    if isComplete() { return finish() }
    world.wait(call, until: world.loop.now + .seconds(10), isDone: isComplete) { _, _ in finish() }
    recheckLater(until: isComplete)
  }

  /// Checks again a little later, because a separate connection does not report when it has written its bytes.
  private func recheckLater(until isComplete: @escaping () -> Bool) {
    world.loop.schedule(after: .milliseconds(1)) { [weak self] in
      self?.world.recheck()
      if !isComplete() { self?.recheckLater(until: isComplete) }
    }
  }

  // MARK: SessionHandler

  func sessionIsReadable(_ session: Session) {
    if let port { return port.sessionIsReadable(session) }
    emit("readable")
  }

  func sessionIsWritable(_ session: Session) {
    if let port { return port.sessionIsWritable(session) }
    pump()
    world.recheck()
  }

  func session(_ session: Session, endedWith end: SessionEnd) {
    port?.session(session, endedWith: end)
    emit("ended", reason: session.closingReason ?? end.description)
    world.recheck()
    world.sessionEnded(self)
  }

  func emit(_ name: String, reason: String? = nil) {
    let hasEnded = name == "ended"
    world.add(
      .session(id), name,
      [
        "session": id, "event": name, "app": app?.id, "accessory": accessory?.id,
        "protocol": name == "opened" ? session.protocolName : nil, "reason": reason,
        "bytesRead": hasEnded ? session.bytesRead : nil, "bytesWritten": hasEnded ? session.bytesWritten : nil,
      ], for: client)
    if accessory != nil, let client { world.drawAttention(of: client) }
  }

  var reason: String? { session.end.map { session.closingReason ?? $0.description } }

  static let answer = Answer<SessionState>("session state", "a session and its state") {
    Key("session", .text, "the session's id") { $0.session.id }
    Key("world", .text, "the id of the session's world") { $0.session.world.id }
    Key(optional: "app", .text, "the app, if this is the app's end of the session") { $0.session.app?.id }
    Key(optional: "accessory", .text, "the accessory, if this is the accessory's end of the session") {
      $0.session.accessory?.id
    }
    Key(
      optional: "connectionID", .natural,
      "the accessory's connection ID when the session was opened, if this is the app's end"
    ) { $0.session.connectionID }
    Key("protocol", .text, "the session's protocol") { $0.session.session.protocolName }
    Key("open", .boolean, "whether the session is open") { $0.session.session.isOpen }
    Key(optional: "reason", .text, "why the session ended") { $0.session.reason }
    Key("bytesRead", .natural, "number of bytes read by this end") { $0.session.session.bytesRead }
    Key("bytesWritten", .natural, "number of bytes written by this end") { $0.session.session.bytesWritten }
    Key(
      "unacknowledged", .natural,
      "number of bytes written by this end that the other end has not yet acknowledged"
    ) { $0.session.session.unacknowledged }
    Key("port", .boolean, "whether a separate connection carries the session's bytes") { $0.session.port != nil }
    Key(
      optional: "firstLine", .text,
      "in the response to `app.open` with `port`: the first line to send, as `session.port` describes"
    ) { $0.firstLine }
  }
}

/// A session, and in the response to `app.open` the first line to send on its own connection.
typealias SessionState = (session: ControlledSession, firstLine: String?)
