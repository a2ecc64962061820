// The programs in CombineExternalAccessory's read-me: a list of unconfigured accessories, and the configuration of one.
import ExternalAccessory
import ExternalAccessoryAppStandIns
import ExternalAccessoryAsync

/// The data that such an app's view shows.
@MainActor final class AccessoryList {
  private(set) var allAvailableAccessories = Set<UnconfiguredExternalAccessory>()
  private(set) var isSearching = false
  private(set) var outcome = ""

  // Does the same as the read-me's `scan` and `sink`.
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

  // Does the same as the read-me's `configure(on:)` and its completion.
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
