import AccessoryCore
import AccessoryHost
import AccessorySessions
import IAP2

// More apps that make one mistake each, from the second collection of failures.

/// Ends its session at every disconnect, and does not compare which accessory the notification is about.
public final class EndsAtAnyDisconnect: ScenarioClient {
  /// An accessory appeared.
  public override func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    if current == nil, accessory.protocols.contains(protocolName) { open(accessory, app) }
  }

  /// An accessory disappeared.
  public override func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {
    closeCurrent()
  }
}

/// Tries again with the accessory object of the connect at which it failed, and ignores later connects meanwhile.
public final class RetriesWithTheOldAccessory: ScenarioClient {
  private var isTrying = false

  /// An accessory appeared.
  public override func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    guard !isTrying, accessory.protocols.contains(protocolName) else { return }
    isTrying = true
    open(accessory, app)
  }

  override func openingFailed(_ accessory: PublishedAccessory, _ app: AppView) {
    later(.seconds(2), app) { [weak self] app in self?.open(accessory, app) }
  }
}

/// Starts a timer of fifteen seconds when it is launched, and gives up when it fires, whether or not an accessory has
/// connected by then.
public final class AbortsAtItsTimer: ScenarioClient {
  private var hasGivenUp = false

  override func launched(_ app: AppView) {
    later(.seconds(15), app) { [weak self] _ in
      self?.hasGivenUp = true
      self?.closeCurrent()
    }
  }

  /// An accessory appeared.
  public override func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    guard !hasGivenUp, current == nil, accessory.protocols.contains(protocolName) else { return }
    open(accessory, app)
  }
}

/// Opens a session for each request and closes it after the reply.
public final class OpensForEveryRequest: ScenarioClient {
  /// An accessory appeared.
  public override func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    if current == nil, accessory.protocols.contains(protocolName) { open(accessory, app) }
  }

  /// An accessory disappeared.
  public override func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {
    if current?.accessory.connectionID == accessory.connectionID { closeCurrent() }
  }

  override func exchangeVerified(_ app: AppView) {
    guard let accessory = current?.accessory, let interval else { return }
    closeCurrent()
    later(interval, app) { [weak self] app in self?.open(accessory, app) }
  }
}

/// Opens a second session without closing the first, and frees the object that the streams of the first one call.
public final class FreesTheDelegateOfOpenStreams: ScenarioClient {
  private var delegate: Delegate?

  /// An accessory appeared.
  public override func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    if current == nil, accessory.protocols.contains(protocolName) { open(accessory, app) }
  }

  override func userWants(_ accessory: PublishedAccessory, _ app: AppView) {
    delegate = nil
    open(accessory, app)
  }

  override func begin(_ exchange: Exchange, on session: Session) {
    exchange.start(on: session)
    let delegate = Delegate(exchange)
    self.delegate = delegate
    session.handler = Unretained(delegate) { [weak self] in
      self?.crash("an event of the first session reached a freed object")
    }
  }

  override func exchangeVerified(_ app: AppView) {
    // The exchange is over, and its streams still call the same object.
    guard let session = current?.session, let delegate else { return }
    session.handler = Unretained(delegate) { [weak self] in
      self?.crash("an event of the first session reached a freed object")
    }
  }

  /// What the app gave to its streams.
  private final class Delegate {
    let exchange: Exchange

    init(_ exchange: Exchange) {
      self.exchange = exchange
    }
  }

  /// A stream does not retain its delegate. This one knows when it is gone, where an app's stream calls freed memory.
  private final class Unretained: SessionHandler {
    private weak var delegate: Delegate?
    private let crash: () -> Void

    init(_ delegate: Delegate, crash: @escaping () -> Void) {
      self.delegate = delegate
      self.crash = crash
    }

    private func call(_ body: (Exchange) -> Void) {
      if let delegate { body(delegate.exchange) } else { crash() }
    }

    func sessionIsReadable(_ session: Session) { call { $0.sessionIsReadable(session) } }
    func sessionIsWritable(_ session: Session) { call { $0.sessionIsWritable(session) } }
    func session(_ session: Session, endedWith end: SessionEnd) { call { $0.session(session, endedWith: end) } }
  }
}
