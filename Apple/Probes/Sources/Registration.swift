import ExternalAccessory
import Foundation

/// N1, N2, N3, N4, N8, N17: when notifications are posted, depending on the number of registrations. Plug in and unplug
/// once in each phase; a phase lasts 20 seconds.
func probeRegistration() {
  observe()
  log("listed before any registration: \(manager.connectedAccessories.map(line))")
  // N10: whether a delegate is called without a registration, which is the case in the first phase.
  let delegate = Delegate()
  keep(delegate)
  for accessory in manager.connectedAccessories { accessory.delegate = delegate }
  let phases: [(String, () -> Void)] = [
    ("N1: not registered, expect nothing", {}),
    ("N8: registered once; what is attached must not be notified", { manager.registerForLocalNotifications() }),
    (
      "N2: registered twice, unregistered once, expect notifications",
      {
        manager.registerForLocalNotifications()
        manager.unregisterForLocalNotifications()
      }
    ),
    ("N3: unregistered again, expect nothing", { manager.unregisterForLocalNotifications() }),
    (
      "N4: unregistered below zero, then registered: notifications if the count stays at zero",
      {
        manager.unregisterForLocalNotifications()
        manager.registerForLocalNotifications()
      }
    ),
  ]
  for (index, phase) in phases.enumerated() {
    later(Double(index) * 20) {
      phase.1()
      log("PHASE \(phase.0)")
    }
  }
}
