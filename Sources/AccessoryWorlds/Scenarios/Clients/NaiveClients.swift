import AccessoryCore
import AccessoryHost
import AccessorySessions
import IAP2

// Each of these apps makes one mistake that was seen in the field. Each scenario names the client that fails in it.

/// A client that opens a session when an accessory with the client's protocol connects, unless a session is already
/// open. When the session's accessory disconnects, the client closes the session. The client reacts only to connections
/// and disconnections, and never reads the list of accessories.
class NaiveClient: ScenarioClient {
  func opens(at accessory: PublishedAccessory) -> Bool { current == nil && offers(accessory) }

  func closes(at accessory: PublishedAccessory) -> Bool {
    current?.accessory.connectionID == accessory.connectionID
  }

  final func offers(_ accessory: PublishedAccessory) -> Bool { accessory.protocols.contains(protocolName) }

  override func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    guard opens(at: accessory) else { return }
    closeCurrent()
    open(accessory, app)
  }

  override func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {
    if closes(at: accessory) { closeCurrent() }
  }
}

final class OpensAtFirstConnect: NaiveClient {
  override class var mistake: String { "opens a session at the first connect, and gives up if that fails" }
  private var hasTried = false

  override func opens(at accessory: PublishedAccessory) -> Bool {
    defer { hasTried = true }
    return !hasTried
  }
}

final class ComparesSerialNumbers: NaiveClient {
  override class var mistake: String { "treats any disconnect with the same serial number as its own accessory's" }

  override func opens(at accessory: PublishedAccessory) -> Bool { offers(accessory) }
  override func closes(at accessory: PublishedAccessory) -> Bool {
    current?.accessory.serialNumber == accessory.serialNumber
  }
}

final class OpensBlindlyLater: NaiveClient {
  override class var mistake: String { "waits, then opens a session without checking" }
  private var isDone = false

  override func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    guard !isDone, offers(accessory) else { return }
    isDone = true
    later(.seconds(2), app) { [weak self] app in self?.open(accessory, app) }
  }
}

final class GivesUpAfterTenSeconds: NaiveClient {
  override class var mistake: String { "stops listening after ten seconds" }

  override func opens(at accessory: PublishedAccessory) -> Bool {
    loop.now <= beginning + .seconds(10) && offers(accessory)
  }
  override func closes(at accessory: PublishedAccessory) -> Bool { false }
}

final class WaitsForTheDisconnect: NaiveClient {
  override class var mistake: String { "expects a disconnect after the end of every session" }
}

final class ResumesTheUpload: NaiveClient {
  override class var mistake: String { "continues where it stopped writing, assuming that everything written arrived" }
  private var sent = 0

  // The client considers the payload sent as soon as it is written, even if the accessory never receives it.
  override func opens(at accessory: PublishedAccessory) -> Bool { offers(accessory) && sent < payload.count }
  override func closes(at accessory: PublishedAccessory) -> Bool { false }
  override var nextPayload: [UInt8] { Array(payload[sent...]) }
  override func uploadStopped(after sent: Int) { self.sent += sent }
}

/// A client that misses accessories if they are not announced or were connected before the client was launched. The
/// client relies on another object in its process to register for notifications.
final class WaitsForTheConnect: NaiveClient {
  override class var mistake: String { "opens sessions only at connect notifications, and never reads the list" }

  override func opens(at accessory: PublishedAccessory) -> Bool { offers(accessory) }
}

final class KeepsItsSession: NaiveClient {
  override class var mistake: String { "assumes that its session is still open" }

  override func closes(at accessory: PublishedAccessory) -> Bool { false }
}

final class EndsAtAnyDisconnect: NaiveClient {
  override class var mistake: String { "ends its session at the disconnect of any accessory" }

  override func closes(at accessory: PublishedAccessory) -> Bool { true }
}

final class RetriesWithTheOldAccessory: NaiveClient {
  override class var mistake: String { "tries again with the accessory object of an earlier connect" }
  private var isTrying = false

  override func opens(at accessory: PublishedAccessory) -> Bool {
    guard !isTrying, offers(accessory) else { return false }
    isTrying = true
    return true
  }

  override func closes(at accessory: PublishedAccessory) -> Bool { false }

  override func openingFailed(_ accessory: PublishedAccessory, _ app: AppView) {
    later(.seconds(2), app) { [weak self] app in self?.open(accessory, app) }
  }
}

final class AbortsAtItsTimer: NaiveClient {
  override class var mistake: String { "gives up when its timer fires, connected or not" }
  private var hasGivenUp = false

  override func launched(_ app: AppView) {
    later(.seconds(15), app) { [weak self] _ in
      self?.hasGivenUp = true
      self?.closeCurrent()
    }
  }

  override func opens(at accessory: PublishedAccessory) -> Bool { !hasGivenUp && super.opens(at: accessory) }
  override func closes(at accessory: PublishedAccessory) -> Bool { false }
}

final class OpensForEveryRequest: NaiveClient {
  override class var mistake: String { "opens a session for each request and closes it afterwards" }

  override func exchangeVerified(_ app: AppView) {
    guard let accessory = current?.accessory, let interval else { return }
    closeCurrent()
    later(interval, app) { [weak self] app in self?.open(accessory, app) }
  }
}

final class FreesTheDelegateOfOpenStreams: NaiveClient {
  override class var mistake: String { "frees the delegate of streams that are still open" }

  /// The conversation stands for the delegate of the session's streams.
  private var delegate: Conversation?

  override func closes(at accessory: PublishedAccessory) -> Bool { false }

  override func userWants(_ accessory: PublishedAccessory, _ app: AppView) {
    delegate = nil
    open(accessory, app)
  }

  override func begin(_ conversation: Conversation, on session: Session) {
    conversation.start(on: session)
    delegate = conversation
    handle(session, with: conversation)
  }

  override func exchangeVerified(_ app: AppView) {
    // The conversation is over, but the session's streams still call the same delegate.
    if let session = current?.session, let delegate { handle(session, with: delegate) }
  }

  /// Handles a session through a delegate that its streams do not retain. In a real app, a stream that calls the freed
  /// delegate would access freed memory.
  private func handle(_ session: Session, with delegate: Conversation) {
    let call = { [weak self, weak delegate] (body: (Conversation) -> Void) in
      guard let delegate else {
        return self?.crash("an event of the first session reached an object that was freed") ?? ()
      }
      body(delegate)
    }
    session.handler = SessionEvents(
      readable: { session in call { $0.sessionIsReadable(session) } },
      writable: { session in call { $0.sessionIsWritable(session) } },
      ended: { session, end in call { $0.session(session, endedWith: end) } })
  }
}

// MARK: - Clients that omit one precaution

// These clients differ from ``RobustClient`` only in the behavior that their scenario tests.

final class WaitsWithoutEnd: RobustClient {
  override class var mistake: String { "waits for a reply without a timeout" }
  override var patience: Duration? { nil }
}

final class ReadsOnlyWhenTold: RobustClient {
  override class var mistake: String { "reads only at bytes-available events, and never checks for bytes" }
  override var looksForBytes: Bool { false }
}

final class NeverForgetsFailures: RobustClient {
  override class var mistake: String { "counts failures and never resets the count" }
  override var forgetsFailures: Bool { false }
  override var attemptLimit: Int { 6 }
}

final class WritesOnceAndTrusts: RobustClient {
  override class var mistake: String { "writes once and ignores how much was accepted" }
  override var window: Int { .max }

  override func begin(_ conversation: Conversation, on session: Session) {
    conversation.start(on: session)
    session.handler = SessionEvents(
      readable: conversation.sessionIsReadable, writable: { _ in }, ended: conversation.session(_:endedWith:))
  }
}

final class WritesAllAtOnce: RobustClient {
  override class var mistake: String { "writes as much as the session accepts at once" }
  override var window: Int { .max }
}

final class GivesUpSlowUploads: RobustClient {
  override class var mistake: String { "treats an upload of more than ten seconds as failed" }
  private var hasGivenUp = false
  private weak var app: AppView?

  override func launched(_ app: AppView) {
    self.app = app
    super.launched(app)
  }

  override func begin(_ conversation: Conversation, on session: Session) {
    conversation.start(on: session)
    guard let app else { return }
    later(.seconds(10), app) { [weak self] _ in
      guard let self, current?.session === session, progress != nil else { return }
      hasGivenUp = true
      closeCurrent()
    }
  }

  override var attemptLimit: Int { hasGivenUp ? 0 : super.attemptLimit }
}

final class BelievesTheFirstByte: RobustClient {
  override class var mistake: String { "treats the first bytes of a session as the reply to its " }
  override var quietTime: Duration { .zero }
}

final class StopsAtTheSecondFailure: RobustClient {
  override class var mistake: String { "stops trying at the second failure in a row" }
  override var attemptLimit: Int { 2 }
}

final class TakesOneReadForAReply: RobustClient {
  override class var mistake: String { "treats the bytes read at one event as a whole reply" }

  override func begin(_ conversation: Conversation, on session: Session) {
    conversation.start(on: session)
    var hasRead = false
    session.handler = SessionEvents(
      readable: { session in
        guard hasRead else {
          hasRead = true
          return conversation.sessionIsReadable(session)
        }
        session.read { $0.byteCount }
      }, writable: conversation.sessionIsWritable, ended: conversation.session(_:endedWith:))
  }
}

final class TrustsASilentSession: RobustClient {
  override class var mistake: String { "never checks whether a silent session still works" }
  override var probesSilentSessions: Bool { false }
}

private final class SessionEvents: SessionHandler {
  private let readable: (Session) -> Void
  private let writable: (Session) -> Void
  private let ended: (Session, SessionEnd) -> Void

  init(
    readable: @escaping (Session) -> Void, writable: @escaping (Session) -> Void,
    ended: @escaping (Session, SessionEnd) -> Void
  ) {
    (self.readable, self.writable, self.ended) = (readable, writable, ended)
  }

  func sessionIsReadable(_ session: Session) { readable(session) }
  func sessionIsWritable(_ session: Session) { writable(session) }
  func session(_ session: Session, endedWith end: SessionEnd) { ended(session, end) }
}
