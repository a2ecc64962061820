import ExternalAccessory
import Foundation

/// Logs calls to an accessory's delegate.
final class Delegate: NSObject, EAAccessoryDelegate {
  func accessoryDidDisconnect(_ accessory: EAAccessory) { log("delegate: accessoryDidDisconnect \(line(accessory))") }
}

/// N5, N7, N9 to N16: what notifications contain, and in which order they are posted. Plug in and unplug; switch from
/// USB to Bluetooth and back.
func probeNotifications() {
  observe()
  let delegate = Delegate()
  keep(delegate)
  keep(
    NotificationCenter.default.addObserver(forName: .EAAccessoryDidConnect, object: nil, queue: nil) { note in
      guard let accessory = note.userInfo?[EAAccessoryKey] as? EAAccessory else { return }
      accessory.delegate = delegate
      let session = EASession(accessory: accessory, forProtocol: protocolName)
      log("N9: a session at once: \(session != nil)")
      log("the layout of a description: \(accessory)")
      // N11, N12, N13: the accessory object from this connect, some time after its disconnect.
      later(60) { log("a minute later: \(line(accessory))") }
    })
  keep(
    NotificationCenter.default.addObserver(forName: .EAAccessoryDidConnect, object: manager, queue: nil) { _ in
      log("N5: also to an observer of the manager only")
    })
  manager.registerForLocalNotifications()
}

/// F1, F2, F4 to F7, F10, F11: unexpected connects and disconnects. Plug in ten times; lock the device for a minute.
func probeFlicker() {
  observe()
  manager.registerForLocalNotifications()
  // F4: an accessory that is in the list without a notification.
  for second in stride(from: 0.0, to: 600, by: 5) {
    later(second) { log("list: \(manager.connectedAccessories.map(line))") }
  }
}
