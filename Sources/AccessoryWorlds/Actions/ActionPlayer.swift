import AccessoryHost
import AccessorySimulator

/// Performs all actions.
///
/// The caller provides the objects that actions name. A process that handles only one side of a scenario has only some
/// of the objects. The other process performs the actions on all other objects.
package struct ActionPlayer {
  /// Returns the accessory with this name, or nil if the accessory is in another process.
  package var accessory: (String) -> SimulatedAccessory? = { _ in nil }
  var device: Device?
  /// Returns the serial number that the device uses to identify an accessory.
  package var serial: (String) -> String? = { _ in nil }
  package var pull: (_ name: String, _ unnoticed: Bool) -> Void = { _, _ in }
  var change: ([CableFault], String) -> Void = { _, _ in }
  var app: (AppAction, WorldAction.Role) -> Void = { _, _ in }

  package init() {}

  /// Creates a player for a world. If `pull` is given, it unplugs cables in place of the world.
  package init(
    in world: World, accessory: @escaping (String) -> SimulatedAccessory?,
    pull: ((_ name: String, _ unnoticed: Bool) -> Void)? = nil,
    app: @escaping (AppAction, WorldAction.Role) -> Void = { _, _ in }
  ) {
    (self.accessory, self.app, device) = (accessory, app, world.device)
    serial = { accessory($0)?.profile.identity.serialNumber }
    self.pull =
      pull
      ?? { [unowned world] name, unnoticed in
        if let found = accessory(name) { world.pull(found, unnoticed: unnoticed) }
      }
    change = { [unowned world] faults, name in
      if let found = accessory(name) { world.change(faults: faults, of: found) }
    }
  }

  /// Performs an action, or throws an error if a port cannot be opened.
  package func perform(_ action: WorldAction, _ reason: String = "unplugged") throws {
    switch action {
    case .accessory(let action, let name): try accessory(name)?.perform(action, reason)
    case .pull(let name, let unnoticed): pull(name, unnoticed)
    case .faults(let faults, let name): change(faults, name)
    case .resetLink(let name): if let serial = serial(name) { device?.resetLinks(serial: serial) }
    case .noticeCables(let notices): device?.noticesCables = notices
    case .deviceMessage(let sent, let name):
      if let serial = serial(name), let message = sent.send.messageID {
        device?.send(message, sent.elements, toSerial: serial)
      }
    case .app(let action, let role): app(action, role)
    }
  }
}
