import AccessoryHost

/// An app that survives every shipped scenario. What it does is what the documentation asks for, and no more:
///
/// - it opens a session only on a publication that lists its protocol;
/// - it tells publications apart by connection ID, never by name or serial number;
/// - at a disconnect it gives up the session of that publication alone, and then looks at what else is there;
/// - it treats the end of a session and the end of a connection as two things;
/// - it starts an interrupted upload from the beginning.
public final class SoundClient: ScenarioClient {
  private var attempts = 0

  /// How often a session that ended by itself is opened again on the same publication.
  private static let attemptLimit = 5

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
  }

  private func retry(_ app: AppView) {
    guard attempts < Self.attemptLimit else { return }
    attempts += 1
    loop.schedule(after: .milliseconds(500)) { [weak self, weak app] in
      if let app { self?.serve(app) }
    }
  }
}
