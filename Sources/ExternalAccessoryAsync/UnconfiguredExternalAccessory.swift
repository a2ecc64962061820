public import ExternalAccessory

/// A search for unconfigured Wi-Fi accessories that runs for as long as a `for await` loop does.
///
/// ```swift
/// for await event in UnconfiguredExternalAccessoryBrowser() {
///   switch event {
///   case let .didFindUnconfiguredAccessories(accessories): list.formUnion(accessories)
///   case let .didRemoveUnconfiguredAccessories(accessories): list.subtract(accessories)
///   }
/// }
/// ```
///
/// The sequence ends when the search does. Stopping one search, or configuring an accessory, ends all searches in the
/// process. The API uses the same names as the CombineExternalAccessory package.
public struct UnconfiguredExternalAccessoryBrowser: AsyncSequence {
  /// A change in the set of accessories in range.
  public enum Event: Sendable {
    /// These accessories came into range.
    case didFindUnconfiguredAccessories(accessories: [UnconfiguredExternalAccessory])
    /// These accessories went out of range.
    case didRemoveUnconfiguredAccessories(accessories: [UnconfiguredExternalAccessory])
  }

  /// The sequence does not throw.
  public typealias Failure = Never

  private let predicate: NSPredicate?

  /// Creates a search for accessories that match the predicate. The search starts when the iteration starts.
  public init(matching predicate: NSPredicate? = nil) {
    self.predicate = predicate
  }

  /// Starts the search.
  public func makeAsyncIterator() -> AsyncStream<Event>.Iterator {
    let (events, continuation) = AsyncStream.makeStream(of: Event.self)
    let listener = Listener(
      found: { continuation.yield(.didFindUnconfiguredAccessories(accessories: $0)) },
      removed: { continuation.yield(.didRemoveUnconfiguredAccessories(accessories: $0)) },
      state: { state in if state != .searching { continuation.finish() } })
    continuation.onTermination = { reason in
      if case .cancelled = reason { listener.browser.stopSearchingForUnconfiguredAccessories() }
      listener.stop()
    }
    listener.browser.startSearchingForUnconfiguredAccessories(matching: predicate)
    return events.makeAsyncIterator()
  }
}

/// An accessory that ``UnconfiguredExternalAccessoryBrowser`` found.
public typealias UnconfiguredExternalAccessory = EAWiFiUnconfiguredAccessory

extension EAWiFiUnconfiguredAccessory {
  /// The reason why a configuration failed.
  public enum ConfigurationError: Error, Equatable {
    /// The user cancelled the configuration.
    case cancelled
    /// The configuration failed.
    case failed
  }

  /// Configures the accessory and waits for the result. Ends all searches in the process.
  ///
  /// - Parameter viewController: the view controller on which Apple's systems show the configuration. In this package,
  ///   any object will do.
  public func configure(on viewController: AnyObject) async throws(ConfigurationError) {
    var listener: Listener?
    let status = await withCheckedContinuation {
      (continuation: CheckedContinuation<EAWiFiUnconfiguredAccessoryConfigurationStatus, Never>) in
      let made = Listener(waitingFor: macAddress, finished: { continuation.resume(returning: $0) })
      listener = made
      made.browser.configureAccessory(self, withConfigurationUIOn: viewController)
    }
    // This call also keeps the listener alive up to this point, because a browser does not retain its delegate.
    listener?.stop()
    switch status {
    case .success: return
    case .userCancelledConfiguration: throw .cancelled
    case .failed: throw .failed
    }
  }
}

/// A browser whose delegate methods are closures.
private final class Listener: NSObject, EAWiFiUnconfiguredAccessoryBrowserDelegate, @unchecked Sendable {
  let browser = EAWiFiUnconfiguredAccessoryBrowser(delegate: nil, queue: nil)
  private let found: ([UnconfiguredExternalAccessory]) -> Void
  private let removed: ([UnconfiguredExternalAccessory]) -> Void
  private let state: (EAWiFiUnconfiguredAccessoryBrowserState) -> Void
  /// The MAC address of the accessory whose configuration result is reported. A browser receives the results of all
  /// configurations.
  private let wanted: String?
  private let finished: (EAWiFiUnconfiguredAccessoryConfigurationStatus) -> Void

  init(
    waitingFor wanted: String? = nil, found: @escaping ([UnconfiguredExternalAccessory]) -> Void = { _ in },
    removed: @escaping ([UnconfiguredExternalAccessory]) -> Void = { _ in },
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

  func stop() { browser.delegate = nil }

  func accessoryBrowser(
    _ browser: EAWiFiUnconfiguredAccessoryBrowser, didUpdate state: EAWiFiUnconfiguredAccessoryBrowserState
  ) { self.state(state) }

  func accessoryBrowser(
    _ browser: EAWiFiUnconfiguredAccessoryBrowser,
    didFindUnconfiguredAccessories accessories: Set<EAWiFiUnconfiguredAccessory>
  ) { found(Array(accessories)) }

  func accessoryBrowser(
    _ browser: EAWiFiUnconfiguredAccessoryBrowser,
    didRemoveUnconfiguredAccessories accessories: Set<EAWiFiUnconfiguredAccessory>
  ) { removed(Array(accessories)) }

  func accessoryBrowser(
    _ browser: EAWiFiUnconfiguredAccessoryBrowser,
    didFinishConfiguringAccessory accessory: EAWiFiUnconfiguredAccessory,
    with status: EAWiFiUnconfiguredAccessoryConfigurationStatus
  ) {
    guard accessory.macAddress == wanted else { return }
    stop()
    finished(status)
  }
}
