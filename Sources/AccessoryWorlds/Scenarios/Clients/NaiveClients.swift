import AccessoryCore
import AccessoryHost

// Apps that make one mistake each, all seen in the field. Each scenario names the client that it breaks.

/// Opens a session at the first connect, whatever protocols are listed then, and gives up when it gets none.
public final class OpensAtFirstConnect: ScenarioClient {
  private var hasTried = false

  /// An accessory appeared.
  public override func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    if hasTried { return }
    hasTried = true
    open(accessory, app)
  }

  /// An accessory disappeared.
  public override func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {
    if current?.accessory.connectionID == accessory.connectionID { closeCurrent() }
  }
}

/// Identifies accessories by serial number: a disconnect of another connection with that number ends its session.
public final class ComparesSerialNumbers: ScenarioClient {
  /// An accessory appeared.
  public override func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    guard accessory.protocols.contains(protocolName) else { return }
    closeCurrent()
    open(accessory, app)
  }

  /// An accessory disappeared.
  public override func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {
    if current?.accessory.serialNumber == accessory.serialNumber { closeCurrent() }
  }
}

/// Waits a fixed time before it opens a session, and does not check that the accessory is still connected.
public final class OpensBlindlyLater: ScenarioClient {
  private var isDone = false

  /// An accessory appeared.
  public override func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    guard !isDone, accessory.protocols.contains(protocolName) else { return }
    isDone = true
    later(.seconds(2), app) { [weak self] app in self?.open(accessory, app) }
  }

  /// An accessory disappeared.
  public override func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {
    if current?.accessory.connectionID == accessory.connectionID { closeCurrent() }
  }
}

/// Shows "not connected" after ten seconds and stops listening.
public final class GivesUpAfterTenSeconds: ScenarioClient {
  /// An accessory appeared.
  public override func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    let hasGivenUp = loop.now > beginning + .seconds(10)
    if !hasGivenUp, accessory.protocols.contains(protocolName) { open(accessory, app) }
  }
}

/// Treats the end of a session as the end of the connection, and waits for a disconnect that never comes.
public final class WaitsForTheDisconnect: ScenarioClient {
  /// An accessory appeared.
  public override func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    if current == nil, accessory.protocols.contains(protocolName) { open(accessory, app) }
  }

  /// An accessory disappeared.
  public override func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {
    closeCurrent()
  }
}

/// Continues an interrupted upload where it stopped, as if everything written had arrived.
public final class ResumesTheUpload: ScenarioClient {
  private var sent = 0

  /// An accessory appeared.
  public override func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    // The payload counts as sent once all of it was written, whether or not it was received.
    guard accessory.protocols.contains(protocolName), sent < payload.count else { return }
    closeCurrent()
    open(accessory, app)
  }

  override var nextPayload: [UInt8] { Array(payload[sent...]) }

  override func uploadStopped(after sent: Int) {
    self.sent += sent
  }
}

/// Opens sessions at connect notifications and at no other time: it misses accessories that were there before it was
/// launched, or that are not announced. It relies on the registration of another object in its process.
public final class WaitsForTheConnect: ScenarioClient {
  /// An accessory appeared.
  public override func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    guard accessory.protocols.contains(protocolName) else { return }
    closeCurrent()
    open(accessory, app)
  }

  /// An accessory disappeared.
  public override func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {
    if current?.accessory.connectionID == accessory.connectionID { closeCurrent() }
  }
}

/// Assumes that going to the background changes nothing, and continues to use its session on return.
public final class KeepsItsSession: ScenarioClient {
  /// An accessory appeared.
  public override func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    if current == nil, accessory.protocols.contains(protocolName) { open(accessory, app) }
  }
}
