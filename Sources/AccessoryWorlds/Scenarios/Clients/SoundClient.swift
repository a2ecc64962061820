import AccessoryCore
import AccessoryHost

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
/// - a session on which nothing moves for a while it gives up, and opens another;
/// - it starts an interrupted upload from the beginning.
public final class SoundClient: ScenarioClient {
  private var attempts = 0

  /// How often a session is asked for in vain, or ends by itself, before nothing is tried until something changes.
  private static let attemptLimit = 8
  /// How long a session may stand still before it is given up.
  private static let patience = Duration.seconds(5)

  override func launched(_ app: AppView) {
    app.register()
    serve(app)
  }

  override func becameActive(_ app: AppView) {
    attempts = 0
    if current?.session.isOpen == false { closeCurrent() }
    serve(app)
  }

  /// An accessory appeared.
  public override func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    attempts = 0
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

  private func serve(_ app: AppView) {
    guard current == nil else { return }
    // The newest: where a transport was switched, the older publication is about to go.
    guard let accessory = app.accessories.last(where: { $0.protocols.contains(protocolName) }) else { return }
    open(accessory, app)
    watch(app, at: progress)
  }

  /// Looks after a while whether the session in use has got any further.
  private func watch(_ app: AppView, at before: Int?) {
    guard let session = current?.session, before != nil else { return }
    later(Self.patience, app) { [weak self] app in
      guard let self, let current, current.session === session, let progress else { return }
      if progress == before { sessionFailed(current.accessory, app) } else { watch(app, at: progress) }
    }
  }

  private func retry(_ app: AppView) {
    guard attempts < Self.attemptLimit else { return }
    let delay = Duration.milliseconds(500) * (1 << min(attempts, 4))
    attempts += 1
    later(delay, app) { [weak self] app in self?.serve(app) }
  }
}
