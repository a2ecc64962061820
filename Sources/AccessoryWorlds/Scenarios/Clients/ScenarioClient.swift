import AccessoryCore
import AccessoryFormats
import AccessoryHost
import AccessorySessions
import IAP2

/// An app in a scenario. The app opens a session for one protocol, sends a payload and verifies the echo.
///
/// Subclasses decide how to react when connections are made or lost and when sessions end. This class opens sessions
/// and verifies echoes. ``report`` contains the results.
public class ScenarioClient: AppHandler {
  /// A client's results so far.
  public struct Report: Equatable, Sendable {
    /// The number of payloads whose echoes have been verified.
    public var verified = 0
    /// The number of failed attempts to open a session.
    public var refused = 0
    /// Whether a session is open and its payload has been verified.
    public var isServing = false

    /// The results, as a clause to insert into a sentence.
    public var text: String {
      "the app verified \(verified.counted("echo", "echoes")) and has \(isServing ? "a" : "no") working session at the end"
    }
  }

  final var payload: [UInt8] = []
  /// How often to send the payload over an open session, or nil to send it only once.
  final var interval: Duration?
  final var onCrash: (String) -> Void = { _ in }
  final var beginning: Instant

  final let loop: any EventLoop
  final let protocolName: String
  final private(set) var current: (session: Session, accessory: PublishedAccessory)?
  private var conversation: Conversation?
  private var counted = Report()
  private var lastVerified: Instant?
  final private(set) var requests = 0
  private var hasEnded = false
  private var overdue: [() -> Void] = []

  /// Creates a client that uses this protocol.
  public required init(wanting protocolName: String, on loop: any EventLoop) {
    self.protocolName = protocolName
    self.loop = loop
    beginning = loop.now
  }

  /// The client's results so far.
  public final var report: Report {
    var report = counted
    report.isServing = isServing
    return report
  }

  private var isServing: Bool {
    guard !hasEnded, current?.session.isOpen == true, let lastVerified else { return false }
    guard let interval else { return true }
    return loop.now <= lastVerified + interval + Self.timeOfAnExchange
  }

  private static let timeOfAnExchange = Duration.seconds(10)

  // MARK: What subclasses decide

  /// The mistake of a naive client, in words that complete "the client, which …".
  class var mistake: String { "" }

  func launched(_ app: AppView) {}

  func becameActive(_ app: AppView) {}

  /// Called when an accessory connects. Does nothing unless a subclass overrides it.
  public func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {}

  /// Called when an accessory disconnects. Does nothing unless a subclass overrides it.
  public func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {}

  /// Called when the current session ends unexpectedly or returns a wrong echo.
  func sessionFailed(_ accessory: PublishedAccessory, _ app: AppView) {}

  func exchangeVerified(_ app: AppView) {}

  func userWants(_ accessory: PublishedAccessory, _ app: AppView) {
    closeCurrent()
    open(accessory, app)
  }

  func openingFailed(_ accessory: PublishedAccessory, _ app: AppView) {}

  var nextPayload: [UInt8] { payload }

  /// How many bytes may be sent before their echo arrives.
  var window: Int { .max }

  /// How long the client discards incoming bytes at the start of a session before it sends any.
  var quietTime: Duration { .zero }

  func begin(_ conversation: Conversation, on session: Session) {
    conversation.start(on: session)
  }

  /// Called when a session has ended. The parameter is the number of payload bytes that had been sent.
  func uploadStopped(after sent: Int) {}

  // MARK: What subclasses share

  final func open(_ accessory: PublishedAccessory, _ app: AppView) {
    do {
      let session = try app.openSession(with: accessory, protocolName: protocolName)
      current = (session, accessory)
      guard quietTime > .zero else { return send(over: session, accessory, app) }
      watchForEnd(of: session, accessory, app)
      later(quietTime, app) { [weak self] app in
        guard let self, current?.session === session, session.isOpen else { return }
        send(over: session, accessory, app)
      }
    } catch {
      counted.refused += 1
      openingFailed(accessory, app)
    }
  }

  private func send(over session: Session, _ accessory: PublishedAccessory, _ app: AppView) {
    let conversation = Conversation([.init(echo: nextPayload)], window: window, on: loop) { [unowned self] event in
      finished(event, session, accessory, app)
    }
    self.conversation = conversation
    requests += 1
    begin(conversation, on: session)
  }

  final func exchangeAgain(_ app: AppView) {
    guard conversation == nil, let current, current.session.isOpen else { return }
    send(over: current.session, current.accessory, app)
  }

  /// Detects the end of the session even though no reply is expected.
  private func watchForEnd(of session: Session, _ accessory: PublishedAccessory, _ app: AppView) {
    session.handler = Discarder { [unowned self] in failLater(session, accessory, app) }
  }

  /// Runs `work` after a delay. If the app is suspended when the delay is over, `work` runs when the app resumes.
  final func later(_ delay: Duration, _ app: AppView, _ work: @escaping (AppView) -> Void) {
    loop.schedule(after: delay) { [weak self, weak app] in
      guard let self, let app, !hasEnded else { return }
      if app.state == .suspended { overdue.append { [weak app] in if let app { work(app) } } } else { work(app) }
    }
  }

  final func runAgain() {
    let due = overdue
    overdue = []
    for work in due { work() }
  }

  /// The progress of the exchange in the current session, or nil if the exchange has not started or is complete.
  final var progress: Int? { conversation.map { $0.progress.sent + $0.progress.received } }

  /// Reads the bytes that are available in the current session, even without an event.
  final func lookForBytes() {
    if let conversation, let session = current?.session { conversation.sessionIsReadable(session) }
  }

  private func finished(
    _ event: Conversation.Event, _ session: Session, _ accessory: PublishedAccessory, _ app: AppView
  ) {
    let sent = conversation?.progress.sent ?? 0
    conversation = nil
    if event == .done {
      counted.verified += 1
      lastVerified = loop.now
      watchForEnd(of: session, accessory, app)
      return exchangeVerified(app)
    }
    if case .ended = event { uploadStopped(after: sent) }
    failLater(session, accessory, app)
  }

  /// Reports a failed session in a later turn of the loop, because the next session must not be opened in a handler.
  private func failLater(_ session: Session, _ accessory: PublishedAccessory, _ app: AppView) {
    later(.zero, app) { [weak self] app in
      guard let self, current?.session === session else { return }
      sessionFailed(accessory, app)
    }
  }

  final func closeCurrent() {
    let session = current?.session
    current = nil
    conversation = nil
    session?.handler = nil
    session?.close()
  }

  // MARK: The process

  /// Ends the app's process. The client's code is not called again.
  final func endProcess() {
    hasEnded = true
    conversation = nil
    overdue = []
    current?.session.handler = nil
  }

  /// Crashes the app's process in a later turn of the loop, because other code is still running.
  final func crash(_ reason: String) {
    loop.schedule(after: .zero) { [weak self] in self?.onCrash(reason) }
  }
}

/// The example clients, keyed by name.
public enum ScenarioClients {
  /// The client that survives every scenario.
  public static let robust: (name: String, type: ScenarioClient.Type) = ("RobustClient", RobustClient.self)

  /// Clients that make one mistake each. `mistake` contains words that complete "the client, which …".
  public static let naive: [(name: String, type: ScenarioClient.Type, mistake: String)] = types.map {
    ("\($0)", $0, $0.mistake)
  }

  private static let types: [ScenarioClient.Type] = [
    OpensAtFirstConnect.self, ComparesSerialNumbers.self, OpensBlindlyLater.self,
    GivesUpAfterTenSeconds.self, WaitsForTheDisconnect.self, ResumesTheUpload.self,
    WaitsForTheConnect.self, KeepsItsSession.self, WaitsWithoutEnd.self,
    ReadsOnlyWhenTold.self, NeverForgetsFailures.self, WritesOnceAndTrusts.self,
    WritesAllAtOnce.self, GivesUpSlowUploads.self, BelievesTheFirstByte.self,
    EndsAtAnyDisconnect.self, RetriesWithTheOldAccessory.self, AbortsAtItsTimer.self,
    FreesTheDelegateOfOpenStreams.self, StopsAtTheSecondFailure.self, OpensForEveryRequest.self,
    TakesOneReadForAReply.self, TrustsASilentSession.self,
  ]

  /// Returns the hint to append to "unknown client". The hint gives the new name of a client that was renamed, a
  /// similar name, or all names.
  public static func hint(forUnknown name: String) -> String {
    if name == "sound" { return ": it is now called \(robust.name)" }
    return Suggestion.hint(for: name, in: ["naive", robust.name] + naive.map(\.name))
  }

  /// Returns the type of the client with this name.
  public static func named(_ name: String) -> ScenarioClient.Type? {
    ([robust] + naive.map { ($0.name, $0.type) }).first { $0.name == name }?.type
  }
}
