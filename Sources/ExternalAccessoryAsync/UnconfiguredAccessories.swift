public import ExternalAccessory

/// What a search for unconfigured accessories tells.
public enum UnconfiguredAccessoryEvent: Sendable {
  /// These came.
  case found(Set<EAWiFiUnconfiguredAccessory>)
  /// These went.
  case removed(Set<EAWiFiUnconfiguredAccessory>)
}

/// Why a configuration did not end well.
public enum ConfigurationFailure: Error, Equatable {
  /// The user stopped it.
  case cancelled
  /// It did not work.
  case failed
}

/// Searching for unconfigured accessories and configuring them, async.
public enum UnconfiguredAccessories {
  /// Searches while somebody listens. Ends when the search does: whoever stops it, and whoever has an accessory
  /// configured, ends every search of the process.
  public static func events(matching predicate: NSPredicate? = nil) -> AsyncStream<UnconfiguredAccessoryEvent> {
    AsyncStream { continuation in
      let listener = Listener(
        found: { continuation.yield(.found($0)) }, removed: { continuation.yield(.removed($0)) },
        state: { state in if state != .searching { continuation.finish() } })
      continuation.onTermination = { reason in
        if case .cancelled = reason { listener.browser.stopSearchingForUnconfiguredAccessories() }
        listener.fallSilent()
      }
      listener.browser.startSearchingForUnconfiguredAccessories(matching: predicate)
    }
  }

  /// Has an accessory configured and waits for the outcome.
  ///
  /// - Throws: ``ConfigurationFailure``.
  public static func configure(_ accessory: EAWiFiUnconfiguredAccessory, on viewController: AnyObject) async throws {
    var listener: Listener?
    let status = await withCheckedContinuation {
      (continuation: CheckedContinuation<EAWiFiUnconfiguredAccessoryConfigurationStatus, Never>) in
      let made = Listener(waitingFor: accessory.macAddress, finished: { continuation.resume(returning: $0) })
      listener = made
      made.browser.configureAccessory(accessory, withConfigurationUIOn: viewController)
    }
    // Held until here: a browser does not hold its delegate.
    listener?.fallSilent()
    switch status {
    case .success: return
    case .userCancelledConfiguration: throw ConfigurationFailure.cancelled
    case .failed: throw ConfigurationFailure.failed
    }
  }
}

/// A delegate of closures, with its browser.
private final class Listener: NSObject, EAWiFiUnconfiguredAccessoryBrowserDelegate, @unchecked Sendable {
  let browser = EAWiFiUnconfiguredAccessoryBrowser(delegate: nil, queue: nil)
  private let found: (Set<EAWiFiUnconfiguredAccessory>) -> Void
  private let removed: (Set<EAWiFiUnconfiguredAccessory>) -> Void
  private let state: (EAWiFiUnconfiguredAccessoryBrowserState) -> Void
  /// Whose configuration ends it; every browser hears of every configuration.
  private let wanted: String?
  private let finished: (EAWiFiUnconfiguredAccessoryConfigurationStatus) -> Void

  init(
    waitingFor wanted: String? = nil, found: @escaping (Set<EAWiFiUnconfiguredAccessory>) -> Void = { _ in },
    removed: @escaping (Set<EAWiFiUnconfiguredAccessory>) -> Void = { _ in },
    state: @escaping (EAWiFiUnconfiguredAccessoryBrowserState) -> Void = { _ in },
    finished: @escaping (EAWiFiUnconfiguredAccessoryConfigurationStatus) -> Void = { _ in }
  ) {
    self.wanted = wanted
    self.found = found
    self.removed = removed
    self.state = state
    self.finished = finished
    super.init()
    browser.delegate = self
  }

  /// Hears nothing more.
  func fallSilent() { browser.delegate = nil }

  func accessoryBrowser(
    _ browser: EAWiFiUnconfiguredAccessoryBrowser, didUpdate state: EAWiFiUnconfiguredAccessoryBrowserState
  ) { self.state(state) }

  func accessoryBrowser(
    _ browser: EAWiFiUnconfiguredAccessoryBrowser,
    didFindUnconfiguredAccessories accessories: Set<EAWiFiUnconfiguredAccessory>
  ) { found(accessories) }

  func accessoryBrowser(
    _ browser: EAWiFiUnconfiguredAccessoryBrowser,
    didRemoveUnconfiguredAccessories accessories: Set<EAWiFiUnconfiguredAccessory>
  ) { removed(accessories) }

  func accessoryBrowser(
    _ browser: EAWiFiUnconfiguredAccessoryBrowser,
    didFinishConfiguringAccessory accessory: EAWiFiUnconfiguredAccessory,
    with status: EAWiFiUnconfiguredAccessoryConfigurationStatus
  ) {
    guard accessory.macAddress == wanted else { return }
    fallSilent()
    finished(status)
  }
}
