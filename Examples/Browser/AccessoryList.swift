// The programs of CombineExternalAccessory's read-me: a list of what waits to be configured, and a configuration.
import ExternalAccessory
import ExternalAccessoryAppStandIns
import ExternalAccessoryAsync

/// What the view of such an app shows.
@MainActor final class AccessoryList {
  private(set) var allAvailableAccessories = Set<UnconfiguredExternalAccessory>()
  private(set) var isSearching = false
  private(set) var outcome = ""

  // The read-me's `scan` and `sink`.
  func browse() async {
    isSearching = true
    for await event in UnconfiguredExternalAccessoryBrowser() {
      var copy = allAvailableAccessories
      switch event {
      case let .didFindUnconfiguredAccessories(accessories):
        copy = copy.union(accessories)
      case let .didRemoveUnconfiguredAccessories(accessories):
        copy.subtract(accessories)
      }
      allAvailableAccessories = copy
    }
    isSearching = false
  }

  // The read-me's `configure(on:)` and its completion.
  func set(up device: UnconfiguredExternalAccessory, on viewController: UIViewController) async {
    do {
      try await device.configure(on: viewController)
      outcome = "finished"
    } catch {
      switch error {
      case .cancelled:
        outcome = "cancelled"
      case .failed:
        outcome = "failed"
      }
    }
  }
}
