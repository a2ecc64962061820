import ExternalAccessory
import Foundation

/// S1 to S9: which notifications a suspended app receives, and when. Open a session, go to the home screen for half a
/// minute, unplug or plug in during that time, and return. Do this once with UIBackgroundModes = external-accessory and
/// once without.
func probeSuspension() {
  observe()
  manager.registerForLocalNotifications()
  let names = ["UIApplicationDidEnterBackgroundNotification", "UIApplicationWillEnterForegroundNotification"]
  for name in names + ["UIApplicationDidBecomeActiveNotification", "UIApplicationWillResignActiveNotification"] {
    keep(NotificationCenter.default.addObserver(forName: .init(name), object: nil, queue: nil) { _ in log(name) })
  }
  openSession(for: "S4: the session, whose events may come in the background")
  // Logs a line each second; gaps show when the app was not running.
  keep(Timer.scheduledTimer(withTimeInterval: 1, repeats: true) { _ in log("runs") })
}

/// S10 to S13: what the app's next process sees. Run the probe, end the app in the app switcher without unplugging,
/// start the app, and run the probe again.
func probeProcess() {
  log("S11: listed at launch: \(manager.connectedAccessories.map(line))")
  observe()
  manager.registerForLocalNotifications()
  guard let session = openSession(for: "S12: a session, right after the launch") else { return }
  later(5) {
    // S13: if you end the app now, the accessory's log shows how much of this arrived.
    let bytes = [UInt8](repeating: 0x53, count: 4096)
    log("S13: wrote \(session.outputStream?.write(bytes, maxLength: bytes.count) ?? 0) bytes: end the app now")
  }
}
