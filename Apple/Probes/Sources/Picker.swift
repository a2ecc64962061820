import ExternalAccessory
import Foundation

/// P1 to P3, N6: the Bluetooth picker. Choose an accessory; run the probe again and cancel; run it again and choose an
/// accessory that is already connected.
func probePicker() {
  observe()
  manager.registerForLocalNotifications()
  log("P1: connected before: \(manager.connectedAccessories.map(\.name)); does the picker offer them?")
  manager.showBluetoothAccessoryPicker(withNameFilter: nil) { error in
    log("P2, P3: completion: \(error.map { "\(($0 as NSError).domain) \(($0 as NSError).code)" } ?? "none")")
  }
}

/// Logs what a Wi-Fi browser reports.
final class BrowserListener: NSObject, EAWiFiUnconfiguredAccessoryBrowserDelegate, @unchecked Sendable {
  func accessoryBrowser(
    _ browser: EAWiFiUnconfiguredAccessoryBrowser, didUpdate state: EAWiFiUnconfiguredAccessoryBrowserState
  ) { log("state \(state.rawValue), found \(browser.unconfiguredAccessories.count)") }

  func accessoryBrowser(
    _ browser: EAWiFiUnconfiguredAccessoryBrowser,
    didFindUnconfiguredAccessories accessories: Set<EAWiFiUnconfiguredAccessory>
  ) { log("B2: found \(accessories.map(\.name)) of \(browser.unconfiguredAccessories.count)") }

  func accessoryBrowser(
    _ browser: EAWiFiUnconfiguredAccessoryBrowser,
    didRemoveUnconfiguredAccessories accessories: Set<EAWiFiUnconfiguredAccessory>
  ) { log("B2: gone \(accessories.map(\.name)) of \(browser.unconfiguredAccessories.count)") }

  func accessoryBrowser(
    _ browser: EAWiFiUnconfiguredAccessoryBrowser, didFinishConfiguringAccessory accessory: EAWiFiUnconfiguredAccessory,
    with status: EAWiFiUnconfiguredAccessoryConfigurationStatus
  ) { log("B4: finished \(accessory.name) \(status.rawValue)") }
}

/// B1 to B6: two browsers at once; switch Wi-Fi off and on; configure an accessory in Settings.
func probeWiFi() {
  for queue in [nil, DispatchQueue(label: "probe")] {
    let listener = BrowserListener()
    let browser = EAWiFiUnconfiguredAccessoryBrowser(delegate: listener, queue: queue)
    keep(listener)
    keep(browser)
    browser.startSearchingForUnconfiguredAccessories(matching: nil)
  }
}
