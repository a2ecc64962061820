import AccessoryCore
import AccessoryHost
import AccessorySessions

/// An app that survives every shipped scenario. What it does is what the documentation asks for, and no more:
///
/// - it registers for notifications itself, whoever else in its process has;
/// - it looks at the list of accessories when it is launched and when it comes to the screen, since not every connect
///   is told of;
/// - it opens a session only on a publication that lists its protocol;
/// - it tells publications apart by connection ID, never by name or serial number;
/// - at a disconnect it gives up the session of that publication alone, and then looks at what else is there;
/// - it treats the end of a session and the end of a connection as two things;
/// - where no session is given, it tries again, later each time, and begins anew when an accessory comes;
/// - before it sends, it waits a moment and throws away what a session before has left;
/// - it writes little at a time, and no more than the session takes;
/// - when nothing moves for a while, it looks for bytes that nobody told it of, and then gives the session up;
/// - it starts an interrupted upload from the beginning.
///
/// Clients that lack one of these points are in NearlySoundClients.swift.
public class SoundClient: ScenarioClient {
  private var attempts = 0

  // MARK: What nearly sound clients lack

  /// How long a session may stand still before it is given up.
  var patience: Duration? { .seconds(5) }
  /// Whether it looks for bytes that it was not told of.
  var looksForBytes: Bool { true }
  /// Whether it counts failures anew when an accessory comes.
  var forgetsFailures: Bool { true }
  /// How often a session is asked for in vain, or ends by itself, before nothing is tried until something changes.
  var attemptLimit: Int { 8 }
  override var window: Int { 1_024 }
  override var quietTime: Duration { .milliseconds(100) }

  // MARK: What it hears

  override func launched(_ app: AppView) {
    app.register()
    serve(app)
  }

  override func becameActive(_ app: AppView) {
    if forgetsFailures { attempts = 0 }
    if current?.session.isOpen == false { closeCurrent() }
    serve(app)
  }

  /// An accessory appeared.
  public override func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    if forgetsFailures { attempts = 0 }
    serve(app)
  }

  /// An accessory disappeared.
  public override func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {
    if current?.accessory.connectionID == accessory.connectionID { closeCurrent() }
    serve(app)
  }

  override func sessionFailed(_ accessory: PublishedAccessory, _ app: AppView) {
    closeCurrent()
    retry(app)
  }

  override func openingFailed(_ accessory: PublishedAccessory, _ app: AppView) {
    retry(app)
  }

  // MARK: What it does

  private func serve(_ app: AppView) {
    guard current == nil, attempts < attemptLimit else { return }
    // The newest: where a transport was switched, the older publication is about to go.
    guard let accessory = app.accessories.last(where: { $0.protocols.contains(protocolName) }) else { return }
    open(accessory, app)
    if let patience, let session = current?.session { watch(session, patience, app) }
  }

  /// Looks every now and then whether the session has got any further, until it is through or over.
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
