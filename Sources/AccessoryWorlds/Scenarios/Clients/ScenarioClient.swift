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

/// An app that survives every shipped scenario by following Apple's documentation:
///
/// - it registers for notifications itself, even when other objects in its process have;
/// - it reads the list of accessories at launch and on entering the foreground, because not all connections are
///   announced;
/// - it opens a session only with an accessory whose current publication lists the client's protocol;
/// - it identifies connections by connection ID, never by name or serial number;
/// - when an accessory disconnects, it ends only that connection's session and then looks for other accessories;
/// - it distinguishes the end of a session from the end of a connection;
/// - when a session cannot be opened, it tries again after growing delays, and starts over when an accessory connects;
/// - it waits a moment before it sends, and discards bytes left over from an earlier session;
/// - it writes in small amounts, and never more than the session accepts;
/// - it numbers its requests, so that a late reply is not mistaken for the reply to the current request;
/// - when a session makes no progress for a while, it checks for unannounced bytes and then gives up on the session;
/// - while it needs data, it sends at intervals and on entering the foreground, to detect a session that died silently;
/// - it starts an interrupted upload from the beginning.
///
/// Each client in NaiveClients.swift neglects one of these points.
public class RobustClient: ScenarioClient {
  private var attempts = 0
  /// The number of probes that have been scheduled so far. Only the most recently scheduled probe is performed.
  private var probes = 0

  // MARK: What naive clients do not do

  /// How long a session may stall before the client gives up on it.
  var patience: Duration? { .seconds(5) }
  /// Whether the client checks for bytes that no event announced.
  var looksForBytes: Bool { true }
  var forgetsFailures: Bool { true }
  /// After this many failures to open or keep a session, the client stops trying until something changes.
  var attemptLimit: Int { 8 }
  /// Whether the client checks at intervals that a silent session still works.
  var probesSilentSessions: Bool { true }
  override var window: Int { 1_024 }
  override var nextPayload: [UInt8] { [UInt8(truncatingIfNeeded: requests)] + payload.dropFirst() }
  override var quietTime: Duration { .milliseconds(100) }

  // MARK: Events

  override func launched(_ app: AppView) {
    app.register()
    serve(app)
  }

  override func becameActive(_ app: AppView) {
    if forgetsFailures { attempts = 0 }
    if current?.session.isOpen == false { closeCurrent() }
    serve(app)
    if interval != nil { probe(app) }
  }

  /// Opens a session when an accessory connects and offers the client's protocol.
  public override func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    if forgetsFailures { attempts = 0 }
    serve(app)
  }

  /// Ends the session of the lost connection, and looks for other accessories.
  public override func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {
    if current?.accessory.connectionID == accessory.connectionID { closeCurrent() }
    serve(app)
  }

  override func userWants(_ accessory: PublishedAccessory, _ app: AppView) {
    super.userWants(accessory, app)
    if let patience, let session = current?.session { watch(session, patience, app) }
  }

  override func sessionFailed(_ accessory: PublishedAccessory, _ app: AppView) {
    closeCurrent()
    retry(app)
  }

  override func openingFailed(_ accessory: PublishedAccessory, _ app: AppView) {
    retry(app)
  }

  override func exchangeVerified(_ app: AppView) {
    guard let interval else { return }
    probes += 1
    let number = probes
    later(interval, app) { [weak self] app in if self?.probes == number { self?.probe(app) } }
  }

  // MARK: Actions

  private func probe(_ app: AppView) {
    guard probesSilentSessions, progress == nil, let session = current?.session else { return }
    exchangeAgain(app)
    if let patience { watch(session, patience, app) }
  }

  private func serve(_ app: AppView) {
    guard current == nil, attempts < attemptLimit else { return }
    // Use the newest connection, because if the accessory switched transports, the older one is about to end.
    guard let accessory = app.accessories.last(where: { $0.protocols.contains(protocolName) }) else { return }
    open(accessory, app)
    if let patience, let session = current?.session { watch(session, patience, app) }
  }

  /// Checks at intervals that the exchange is making progress. The checks stop when the exchange is complete or the
  /// session has ended.
  private func watch(_ session: Session, _ patience: Duration, at before: Int? = nil, _ app: AppView) {
    later(patience, app) { [weak self] app in
      guard let self, let current, current.session === session, let reached = progress else { return }
      if reached == before, looksForBytes { lookForBytes() }
      guard let now = progress else { return }
      if now == before { sessionFailed(current.accessory, app) } else { watch(session, patience, at: now, app) }
    }
  }

  private func retry(_ app: AppView) {
    guard attempts < attemptLimit else { return }
    let delay = Duration.milliseconds(500) * (1 << min(attempts, 4))
    attempts += 1
    later(delay, app) { [weak self] app in self?.serve(app) }
  }
}
