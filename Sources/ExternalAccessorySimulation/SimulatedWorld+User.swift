import AccessoryCore
public import AccessoryHost
import AccessorySessions
public import ExternalAccessory
import ExternalAccessoryAppStandIns
import Foundation

/// The state of the app: foreground, background, or suspended.
extension SimulatedWorld {
  /// Moves the app to the foreground or the background, or suspends it.
  ///
  /// If the app uses `ExternalAccessoryAppStandIns`, changing its state also posts the `UIApplication` notifications.
  /// When the app leaves the foreground, its accessories disconnect after these notifications. When the app returns,
  /// its accessories connect after `willEnterForeground` and before `didBecomeActive`. If the app is not running,
  /// nothing happens.
  public func move(to state: AppState) {
    perform { [realm] _ in
      guard let app = realm.app else { return }
      let (wasShown, isShown) = (app.state == .foreground, state == .foreground)
      if wasShown, !isShown {
        notifyApp(.willResignActive)
        notifyApp(.didEnterBackground)
      }
      if !wasShown, isShown { notifyApp(.willEnterForeground) }
      app.move(to: state)
      if !wasShown, isShown { notifyApp(.didBecomeActive) }
    }
  }

  /// The state of the app, or nil while it is not running.
  public var appState: AppState? { perform { [realm] _ in realm.app?.state } }

  private func notifyApp(_ step: UIApplication.Step) {
    realm.main.add { MainActor.assumeIsolated { UIApplication.shared.take(step) } }
  }

  /// Makes `UIApplication` active again, without notifications, when the world ends.
  func endLife() {
    realm.main.add { MainActor.assumeIsolated { UIApplication.shared.reset() } }
  }
}

extension SimulatedWorld {
  /// What the user does in the Bluetooth picker.
  public enum PickerAnswer: Sendable {
    case choose(String)
    case cancel
    case fail(EABluetoothAccessoryPickerError.Code)
  }

  /// Sets how the user answers the Bluetooth picker. The picker offers the accessories of the world that are not
  /// plugged in, and `answer` receives their names. Choosing any other name fails with `resultNotFound`.
  public func answerPicker(_ answer: @escaping @Sendable (_ names: [String]) -> PickerAnswer) {
    perform { [realm] _ in realm.picker = { [unowned self] isOffered in pick(answer, matching: isOffered) } }
  }

  private func pick(
    _ answer: (_ names: [String]) -> PickerAnswer, matching isOffered: (String) -> Bool
  ) -> PickerOutcome {
    let offered = added.filter { !$0.isPluggedIn && isOffered($0.profile.identity.name) }
    switch answer(offered.map(\.profile.identity.name)) {
    case .cancel: return .failed(.resultCancelled)
    case .fail(let code): return .failed(code)
    case .choose(let name):
      if let chosen = offered.first(where: { $0.profile.identity.name == name }) {
        return .chosen(serial: chosen.profile.identity.serialNumber) { chosen.plugIn() }
      }
      let isThere = added.contains { $0.isPluggedIn && $0.profile.identity.name == name }
      return .failed(isThere ? .alreadyConnected : .resultNotFound)
    }
  }
}

/// Adds, removes and configures Wi-Fi accessories that have not been configured yet.
extension SimulatedWorld {
  /// Adds an accessory that has not been configured for a wireless network yet.
  @discardableResult
  public func addUnconfigured(
    name: String, manufacturer: String = "Example Works", model: String = "EW-W", ssid: String = "Setup",
    macAddress: String = "02:00:00:00:00:01", properties: EAWiFiUnconfiguredAccessoryProperties = []
  ) -> EAWiFiUnconfiguredAccessory {
    let made = EAWiFiUnconfiguredAccessory(
      name: name, manufacturer: manufacturer, model: model, ssid: ssid, macAddress: macAddress, properties: properties)
    realm.air.appear(made)
    return made
  }

  /// Removes an unconfigured accessory.
  public func removeUnconfigured(_ accessory: EAWiFiUnconfiguredAccessory) { realm.air.disappear(accessory) }

  /// The accessory that the app is configuring, or nil if it is configuring none.
  public var underConfiguration: EAWiFiUnconfiguredAccessory? { realm.air.underConfiguration }

  /// Ends the configuration with the given result.
  public func finishConfiguration(_ status: EAWiFiUnconfiguredAccessoryConfigurationStatus) { realm.air.finish(status) }

  /// Turns Wi-Fi on or off. Wi-Fi is on at the start.
  public func turnWiFi(on isOn: Bool) { realm.air.turn(on: isOn) }
}

/// The app's process, which can be killed, can crash and can be launched again.
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
/// A test has only one process, so the objects of the killed app exist until the test releases them. These objects no
/// longer receive notifications, stream events or completions, and their streams are closed. Remove the killed app's
/// observers from `NotificationCenter`. Observers that are not removed receive the new app's notifications, which
/// cannot happen with real processes.
extension SimulatedWorld {
  /// What happens to an app's sessions when its process ends.
  public enum SessionsOfEndedApp: Sendable {
    /// The device closes the sessions, and the accessory is notified.
    case closed
    /// The device keeps the sessions open, as some real systems do, so the accessory cannot tell that the app has
    /// ended. To the app that is launched next, these sessions belong to another app, so `AppRules.otherApps` applies.
    case left
  }

  /// Ends the app as the system or the user would, without a warning and with its sessions open. Bytes that the app has
  /// already written are still sent.
  public func killApp(sessions: SessionsOfEndedApp = .closed) {
    perform { [realm] _ in realm.settleUnsent(isLost: false) }
    endProcess("was killed", sessions)
  }

  /// Ends the app as a crash would. Bytes that the app has written are lost if the device has not sent them yet.
  public func crashApp(sessions: SessionsOfEndedApp = .closed) {
    perform { [realm] _ in realm.settleUnsent(isLost: true) }
    endProcess("crashed", sessions)
  }

  /// Launches the app again, in the foreground. The launched app is not registered for notifications. The app's list
  /// contains the accessories that are already connected. No notifications are posted for accessories that are already
  /// connected. Does nothing if the app is running.
  public func launchApp() {
    perform { [realm, settings] inner in
      guard realm.app == nil else { return }
      inner.record(TimelineEvent(time: inner.loop.now, side: .app, kind: .note("the app is launched")))
      realm.look(at: inner.device, as: settings.app)
    }
    endLife()
  }

  /// Whether the app is running, in the foreground or not.
  public var isAppRunning: Bool { perform { [realm] _ in realm.app != nil } }

  private func endProcess(_ what: String, _ sessions: SessionsOfEndedApp) {
    perform { [realm] inner in
      guard let ended = realm.endProcess() else { return }
      inner.record(TimelineEvent(time: inner.loop.now, side: .app, kind: .note("the app \(what)")))
      switch sessions {
      case .closed: ended.close("the app \(what)")
      case .left: others.append(ended)
      }
    }
  }
}
