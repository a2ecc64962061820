import AccessoryCore
import AccessoryHost

// Apps that make one mistake each, all of them seen in the field. Each scenario names the one that it breaks.

/// Opens a session at the first connect it hears of, whatever the accessory lists then, and gives up when it gets none.
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

/// Knows accessories by serial number: any disconnect of "its" accessory ends the session, be it of another publication.
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

/// Waits a fixed time before it opens a session, and does not look again whether the accessory is still there.
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

/// Shows "not connected" after ten seconds and listens no longer.
public final class GivesUpAfterTenSeconds: ScenarioClient {
  /// An accessory appeared.
  public override func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    let hasGivenUp = loop.now > beginning + .seconds(10)
    if !hasGivenUp, accessory.protocols.contains(protocolName) { open(accessory, app) }
  }
}

/// Takes the end of a session for the end of the connection, and waits for a disconnect that never comes.
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

/// Goes on with an interrupted upload where it stopped, as if everything written had arrived.
public final class ResumesTheUpload: ScenarioClient {
  private var sent = 0

  /// An accessory appeared.
  public override func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    // The payload counts as sent once all of it was written, received or not.
    guard accessory.protocols.contains(protocolName), sent < payload.count else { return }
    closeCurrent()
    open(accessory, app)
  }

  override var nextPayload: [UInt8] { Array(payload[sent...]) }

  override func uploadStopped(after sent: Int) {
    self.sent += sent
  }
}

/// Opens sessions when it is told of a connect and at no other time: what came before it was launched, or without a
/// word, it never sees. Nor does it register for notifications itself, since somebody in its process has.
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

/// Thinks that leaving the screen changes nothing: it keeps the session it has, and finds it in its place on return.
public final class KeepsItsSession: ScenarioClient {
  /// An accessory appeared.
  public override func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    if current == nil, accessory.protocols.contains(protocolName) { open(accessory, app) }
  }
}
