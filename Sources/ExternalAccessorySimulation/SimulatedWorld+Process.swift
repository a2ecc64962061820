import AccessoryCore
import AccessoryHost
import AccessorySessions
import ExternalAccessory
import Foundation

/// The process of the app: killed, crashed, launched again.
///
/// ```swift
/// var app: App? = App()
/// await world.run { app?.session != nil }
/// world.killApp()               // with its session open
/// app = nil                     // in a real process its objects are gone, too
/// world.launchApp()
/// app = App()                   // registers, and reads connectedAccessories
/// ```
///
/// A test has one process, so the objects of the killed app stay until the test releases them. They get nothing any
/// more: no notification, no stream event, no completion. Their streams are closed. Observers that they leave in
/// `NotificationCenter` would get the new app's notifications, which is impossible in a real process: remove them.
extension SimulatedWorld {
  /// What happens to the sessions of an app whose process ends.
  public enum SessionsOfEndedApp: Sendable {
    /// The device closes them, and the accessory is notified.
    case closed
    /// The device keeps them, as some systems were seen to do: the accessory believes that the app is there. To the app
    /// that is launched next they are those of another app, for which `AppRules.otherApps` holds.
    case left
  }

  /// Ends the app as the system or the user does: without a warning, and with its sessions open.
  /// What the app wrote before is still sent.
  public func killApp(sessions: SessionsOfEndedApp = .closed) {
    perform { [realm] _ in realm.settleUnsent(isLost: false) }
    endProcess("was killed", sessions)
  }

  /// Ends the app as a crash does. Bytes that it wrote and that have not left the device are lost.
  public func crashApp(sessions: SessionsOfEndedApp = .closed) {
    perform { [realm] _ in realm.settleUnsent(isLost: true) }
    endProcess("crashed", sessions)
  }

  /// Launches the app again, in the foreground. It is not registered, and connected accessories are in its list
  /// without a notification. Does nothing while the app runs.
  public func launchApp() {
    perform { [realm, settings] inner in
      guard realm.app == nil else { return }
      inner.tell(TimelineEvent(time: inner.loop.now, side: .app, kind: .note("the app is launched")))
      realm.look(at: inner.device, as: settings.app)
    }
    endLife()
  }

  /// Whether the app runs, in the foreground or not.
  public var isAppRunning: Bool { perform { [realm] _ in realm.app != nil } }

  private func endProcess(_ what: String, _ sessions: SessionsOfEndedApp) {
    perform { [realm] inner in
      guard let ended = realm.endProcess() else { return }
      inner.tell(TimelineEvent(time: inner.loop.now, side: .app, kind: .note("the app \(what)")))
      switch sessions {
      case .closed: ended.close("the app \(what)")
      case .left: others.append(ended)
      }
    }
  }
}
