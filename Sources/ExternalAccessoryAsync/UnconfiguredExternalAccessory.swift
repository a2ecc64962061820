public import ExternalAccessory

/// Searches for accessories that wait to be configured, while somebody goes through what it finds.
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
/// It ends when the search does: whoever stops it, and whoever has an accessory configured, ends every search of the
/// process. The names are those of CombineExternalAccessory.
public struct UnconfiguredExternalAccessoryBrowser: AsyncSequence {
  /// What the search tells.
  public enum Event: Sendable {
    /// These came.
    case didFindUnconfiguredAccessories(accessories: [UnconfiguredExternalAccessory])
    /// These went.
    case didRemoveUnconfiguredAccessories(accessories: [UnconfiguredExternalAccessory])
  }

  /// It never fails.
  public typealias Failure = Never

  private let predicate: NSPredicate?

  /// A search that has not begun, for those accessories that the predicate accepts.
  public init(matching predicate: NSPredicate? = nil) {
    self.predicate = predicate
  }

  /// Begins the search.
  public func makeAsyncIterator() -> AsyncStream<Event>.Iterator {
    let (events, continuation) = AsyncStream.makeStream(of: Event.self)
    let listener = Listener(
      found: { continuation.yield(.didFindUnconfiguredAccessories(accessories: $0)) },
      removed: { continuation.yield(.didRemoveUnconfiguredAccessories(accessories: $0)) },
      state: { state in if state != .searching { continuation.finish() } })
    continuation.onTermination = { reason in
      if case .cancelled = reason { listener.browser.stopSearchingForUnconfiguredAccessories() }
      listener.fallSilent()
    }
    listener.browser.startSearchingForUnconfiguredAccessories(matching: predicate)
    return events.makeAsyncIterator()
  }
}

/// An accessory that waits to be configured, as ``UnconfiguredExternalAccessoryBrowser`` finds it.
public typealias UnconfiguredExternalAccessory = EAWiFiUnconfiguredAccessory

extension EAWiFiUnconfiguredAccessory {
  /// Why a configuration did not end well.
  public enum ConfigurationError: Error, Equatable {
    /// The user stopped it.
    case cancelled
    /// It did not work.
    case failed
  }

  /// Has it configured, on a view controller where there is one, and waits for the outcome. Every search of the process
  /// ends.
  public func configure(on viewController: AnyObject) async throws(ConfigurationError) {
    var listener: Listener?
    let status = await withCheckedContinuation {
      (continuation: CheckedContinuation<EAWiFiUnconfiguredAccessoryConfigurationStatus, Never>) in
      let made = Listener(waitingFor: macAddress, finished: { continuation.resume(returning: $0) })
      listener = made
      made.browser.configureAccessory(self, withConfigurationUIOn: viewController)
    }
    // Held until here: a browser does not hold its delegate.
    listener?.fallSilent()
    switch status {
    case .success: return
    case .userCancelledConfiguration: throw .cancelled
    case .failed: throw .failed
    }
  }
}

/// A delegate of closures, with its browser.
private final class Listener: NSObject, EAWiFiUnconfiguredAccessoryBrowserDelegate, @unchecked Sendable {
  let browser = EAWiFiUnconfiguredAccessoryBrowser(delegate: nil, queue: nil)
  private let found: ([UnconfiguredExternalAccessory]) -> Void
  private let removed: ([UnconfiguredExternalAccessory]) -> Void
  private let state: (EAWiFiUnconfiguredAccessoryBrowserState) -> Void
  /// Whose configuration ends it; every browser hears of every configuration.
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

  /// Hears nothing more.
  func fallSilent() { browser.delegate = nil }

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
    fallSilent()
    finished(status)
  }
}
