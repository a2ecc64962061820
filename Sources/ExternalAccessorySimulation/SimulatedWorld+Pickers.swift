public import ExternalAccessory
import Foundation

extension SimulatedWorld {
  /// What the user does with the Bluetooth picker.
  public enum PickerAnswer: Sendable {
    /// Takes the accessory with this name.
    case choose(String)
    /// Puts the picker away.
    case cancel
    /// The picker ends with this error.
    case fail(EABluetoothAccessoryPickerError.Code)
  }

  /// Has the picker offer those accessories of the world that are not plugged in, and answers it: `answer` is given
  /// their names. A name that is not offered counts as not found.
  public func answerPicker(_ answer: @escaping @Sendable (_ names: [String]) -> PickerAnswer) {
    let stage = Stage(self, answer)
    perform { [realm] _ in realm.picker = stage }
  }

  private final class Stage: PickerStage {
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

  // MARK: Wi-Fi

  /// An accessory that waits to be configured for a wireless network.
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

  /// The accessory waits no longer, without a configuration.
  public func removeUnconfigured(_ accessory: EAWiFiUnconfiguredAccessory) { realm.air.disappear(accessory) }

  /// What the app has the system configure now.
  public var underConfiguration: EAWiFiUnconfiguredAccessory? { realm.air.underConfiguration }

  /// The user and the accessory are done with the configuration.
  public func finishConfiguration(_ status: EAWiFiUnconfiguredAccessoryConfigurationStatus) { realm.air.finish(status) }

  /// Switches Wi-Fi on or off; it is on at first.
  public func turnWiFi(on isOn: Bool) { realm.air.turn(on: isOn) }
}
