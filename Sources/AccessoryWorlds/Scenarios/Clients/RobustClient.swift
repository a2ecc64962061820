import AccessoryCore
import AccessoryHost
import AccessorySessions

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
