public import AccessoryHost
public import ExternalAccessory
import ExternalAccessoryAppStandIns
import Foundation

/// The state of the app: foreground, background, suspended.
extension SimulatedWorld {
  /// Moves the app to the foreground or the background, or suspends it.
  ///
  /// For apps that use `ExternalAccessoryAppStandIns` this also posts the notifications of `UIApplication`. When the app
  /// leaves the foreground they come before its accessories disconnect. When it returns, accessories connect after
  /// `willEnterForeground` and before `didBecomeActive`. Nothing happens to an app that does not run.
  public func move(to state: AppState) {
    perform { [realm] _ in
      guard let app = realm.app else { return }
      let (wasShown, isShown) = (app.state == .foreground, state == .foreground)
      if wasShown, !isShown {
        tellApp(.willResignActive)
        tellApp(.didEnterBackground)
      }
      if !wasShown, isShown { tellApp(.willEnterForeground) }
      app.move(to: state)
      if !wasShown, isShown { tellApp(.didBecomeActive) }
    }
  }

  /// The state of the app; nil while it does not run.
  public var appState: AppState? { perform { [realm] _ in realm.app?.state } }

  private func tellApp(_ step: UIApplication.Step) {
    realm.main.add { MainActor.assumeIsolated { UIApplication.shared.take(step) } }
  }

  /// The world ends: `UIApplication` is active again, without notifications.
  func endLife() {
    realm.main.add { MainActor.assumeIsolated { UIApplication.shared.reset() } }
  }
}

extension SimulatedWorld {
  /// What the user does in the Bluetooth picker.
  public enum PickerAnswer: Sendable {
    /// Chooses the accessory with this name.
    case choose(String)
    /// Cancels the picker.
    case cancel
    /// The picker fails with this error.
    case fail(EABluetoothAccessoryPickerError.Code)
  }

  /// Sets how the user answers the Bluetooth picker. It offers the accessories of the world that are not plugged in:
  /// `answer` gets their names. A chosen name that was not offered fails with `resultNotFound`.
  public func answerPicker(_ answer: @escaping @Sendable (_ names: [String]) -> PickerAnswer) {
    let user = PickerUser(self, answer)
    perform { [realm] _ in realm.picker = user }
  }

  private final class PickerUser: PickerAnswering {
    private unowned let world: SimulatedWorld
    private let answer: @Sendable ([String]) -> PickerAnswer

    init(_ world: SimulatedWorld, _ answer: @escaping @Sendable ([String]) -> PickerAnswer) {
      self.world = world
      self.answer = answer
    }

    func pick(matching isOffered: (String) -> Bool, finish: @escaping (PickerOutcome) -> Void) {
      let offered = world.added.filter { !$0.isPluggedIn && isOffered($0.profile.identity.name) }
      switch answer(offered.map(\.profile.identity.name)) {
      case .cancel: finish(.failed(.resultCancelled))
      case .fail(let code): finish(.failed(code))
      case .choose(let name):
        let isThere = world.added.contains { $0.isPluggedIn && $0.profile.identity.name == name }
        guard let chosen = offered.first(where: { $0.profile.identity.name == name }) else {
          return finish(.failed(isThere ? .alreadyConnected : .resultNotFound))
        }
        let serial = chosen.profile.identity.serialNumber
        finish(.chosen(serial: serial) { chosen.plugIn() })
      }
    }
  }
}

/// Wi-Fi accessories that are not configured yet.
extension SimulatedWorld {
  /// Adds an accessory that is not configured for a wireless network yet.
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

  /// The accessory that the app is having configured.
  public var underConfiguration: EAWiFiUnconfiguredAccessory? { realm.air.underConfiguration }

  /// Ends the configuration.
  public func finishConfiguration(_ status: EAWiFiUnconfiguredAccessoryConfigurationStatus) { realm.air.finish(status) }

  /// Switches Wi-Fi on or off. It starts switched on.
  public func turnWiFi(on isOn: Bool) { realm.air.turn(on: isOn) }
}
