import Foundation

/// Searches for accessories that wait to be configured for a wireless network, and has one configured.
///
/// There is one search in a process, whatever the number of browsers: stopping one stops all, and configuring ends
/// every search. Each browser has its own filter.
open class EAWiFiUnconfiguredAccessoryBrowser: NSObject, @unchecked Sendable {
  private let lock = NSLock()
  private weak var listener: (any EAWiFiUnconfiguredAccessoryBrowserDelegate)?
  private let queue: DispatchQueue?
  private let air: WiFiAir
  private var found: Set<EAWiFiUnconfiguredAccessory> = []
  /// The filter of the search that goes on; nil when this browser does not search.
  private var filter: ((EAWiFiUnconfiguredAccessory) -> Bool)?

  /// A browser that tells its delegate on a queue; on the main queue when nil.
  public init(delegate: (any EAWiFiUnconfiguredAccessoryBrowserDelegate)?, queue: DispatchQueue?) {
    listener = delegate
    self.queue = queue
    air = EAAccessoryManager.shared().realm.air
    super.init()
    air.add(self)
  }

  /// A browser without a delegate.
  public override convenience init() { self.init(delegate: nil, queue: nil) }

  /// Who is told. Not held.
  open var delegate: (any EAWiFiUnconfiguredAccessoryBrowserDelegate)? {
    get { lock.withLock { listener } }
    set { lock.withLock { listener = newValue } }
  }

  /// What the search has found, filtered.
  open var unconfiguredAccessories: Set<EAWiFiUnconfiguredAccessory> { lock.withLock { found } }

  /// Searches. The predicate is asked about each `EAWiFiUnconfiguredAccessory`.
  open func startSearchingForUnconfiguredAccessories(matching predicate: NSPredicate?) {
    lock.withLock {
      filter = { accessory in predicate.map { $0.evaluate(with: accessory) } ?? true }
      found = []
    }
    air.start()
  }

  /// Searches no longer.
  open func stopSearchingForUnconfiguredAccessories() { air.stop() }

  /// Has an accessory configured; the delegate is told how that ended. There is nothing to show here, so any object
  /// does for the view controller.
  open func configureAccessory(
    _ accessory: EAWiFiUnconfiguredAccessory, withConfigurationUIOn viewController: AnyObject
  ) { air.configure(accessory) }

  // MARK: From the air

  func tell(_ state: EAWiFiUnconfiguredAccessoryBrowserState) {
    if state != .searching { lock.withLock { filter = nil } }
    say { browser, delegate in delegate.accessoryBrowser(browser, didUpdate: state) }
  }

  func tellFinished(_ accessory: EAWiFiUnconfiguredAccessory, _ status: EAWiFiUnconfiguredAccessoryConfigurationStatus)
  {
    say { browser, delegate in
      delegate.accessoryBrowser(browser, didFinishConfiguringAccessory: accessory, with: status)
    }
  }

  /// What is in the air now; the difference is told, while this browser searches.
  func see(_ all: Set<EAWiFiUnconfiguredAccessory>) {
    let (new, gone) = lock.withLock {
      () -> (Set<EAWiFiUnconfiguredAccessory>, Set<EAWiFiUnconfiguredAccessory>) in
      guard let filter else { return ([], []) }
      let now = all.filter(filter)
      defer { found = now }
      return (now.subtracting(found), found.subtracting(now))
    }
    if !new.isEmpty { say { $1.accessoryBrowser($0, didFindUnconfiguredAccessories: new) } }
    if !gone.isEmpty { say { $1.accessoryBrowser($0, didRemoveUnconfiguredAccessories: gone) } }
  }

  private func say(
    _ telling: @escaping (EAWiFiUnconfiguredAccessoryBrowser, any EAWiFiUnconfiguredAccessoryBrowserDelegate) -> Void
  ) {
    let words = Words { [weak self] in
      guard let self, let delegate else { return }
      telling(self, delegate)
    }
    if let queue { queue.async { words.say() } } else { air.main.add { words.say() } }
  }

  /// Said once, on the one queue that the browser was given.
  private struct Words: @unchecked Sendable {
    let say: () -> Void
    init(_ say: @escaping () -> Void) { self.say = say }
  }
}

/// What a browser tells.
public protocol EAWiFiUnconfiguredAccessoryBrowserDelegate: NSObjectProtocol {
  /// The search began, ended, or can do nothing.
  func accessoryBrowser(
    _ browser: EAWiFiUnconfiguredAccessoryBrowser, didUpdate state: EAWiFiUnconfiguredAccessoryBrowserState)
  /// These came since the last call.
  func accessoryBrowser(
    _ browser: EAWiFiUnconfiguredAccessoryBrowser,
    didFindUnconfiguredAccessories accessories: Set<EAWiFiUnconfiguredAccessory>)
  /// These went since the last call.
  func accessoryBrowser(
    _ browser: EAWiFiUnconfiguredAccessoryBrowser,
    didRemoveUnconfiguredAccessories accessories: Set<EAWiFiUnconfiguredAccessory>)
  /// A configuration ended.
  func accessoryBrowser(
    _ browser: EAWiFiUnconfiguredAccessoryBrowser,
    didFinishConfiguringAccessory accessory: EAWiFiUnconfiguredAccessory,
    with status: EAWiFiUnconfiguredAccessoryConfigurationStatus)
}
