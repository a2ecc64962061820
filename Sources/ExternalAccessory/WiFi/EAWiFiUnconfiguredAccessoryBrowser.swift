internal import AccessoryCore
import Foundation

/// What an unconfigured accessory supports.
public struct EAWiFiUnconfiguredAccessoryProperties: OptionSet, Sendable {
  /// The bits.
  public let rawValue: UInt

  /// Properties from their bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// AirPlay.
  public static var propertySupportsAirPlay: Self { Self(rawValue: 1 << 0) }
  /// AirPrint.
  public static var propertySupportsAirPrint: Self { Self(rawValue: 1 << 1) }
  /// HomeKit.
  public static var propertySupportsHomeKit: Self { Self(rawValue: 1 << 2) }
}

/// An accessory that is not configured for a wireless network yet.
open class EAWiFiUnconfiguredAccessory: NSObject, @unchecked Sendable {
  private let texts: (name: String, manufacturer: String, model: String, ssid: String, macAddress: String)
  private let bits: EAWiFiUnconfiguredAccessoryProperties

  /// Do not call. Stops the process: unconfigured accessories come from a browser.
  public override init() {
    fatalError("use EAWiFiUnconfiguredAccessoryBrowser.unconfiguredAccessories")
  }

  /// An accessory of a world.
  package init(
    name: String, manufacturer: String, model: String, ssid: String, macAddress: String,
    properties: EAWiFiUnconfiguredAccessoryProperties
  ) {
    texts = (name, manufacturer, model, ssid, macAddress)
    bits = properties
    super.init()
  }

  /// The name.
  open var name: String { texts.name }
  /// The manufacturer.
  open var manufacturer: String { texts.manufacturer }
  /// The model.
  open var model: String { texts.model }
  /// The name of the accessory's own network, which is used to configure it.
  open var ssid: String { texts.ssid }
  /// The MAC address.
  open var macAddress: String { texts.macAddress }
  /// What it supports.
  open var properties: EAWiFiUnconfiguredAccessoryProperties { bits }
}

/// The state of the search for unconfigured accessories.
public enum EAWiFiUnconfiguredAccessoryBrowserState: Int, Sendable {
  /// Wi-Fi is off.
  case wiFiUnavailable = 0
  /// Not searching.
  case stopped = 1
  /// Searching.
  case searching = 2
  /// Configuring an accessory, not searching.
  case configuring = 3
}

/// How a configuration ended.
public enum EAWiFiUnconfiguredAccessoryConfigurationStatus: Int, Sendable {
  /// The accessory is on the network.
  case success = 0
  /// The user cancelled the configuration.
  case userCancelledConfiguration = 1
  /// It failed.
  case failed = 2
}

/// Searches for accessories that are not configured for a wireless network yet, and configures them.
///
/// All browsers of a process share one search: stopping it in one browser stops it in all, and so does configuring an
/// accessory. Each browser has its own filter.
open class EAWiFiUnconfiguredAccessoryBrowser: NSObject, @unchecked Sendable {
  private let lock = Lock()
  private weak var listener: (any EAWiFiUnconfiguredAccessoryBrowserDelegate)?
  private let queue: DispatchQueue?
  private let air: WiFiAir
  private var found: Set<EAWiFiUnconfiguredAccessory> = []
  /// The filter; nil while this browser does not search.
  private var filter: ((EAWiFiUnconfiguredAccessory) -> Bool)?

  /// A browser that calls its delegate on `queue`; nil means the main queue.
  public init(delegate: (any EAWiFiUnconfiguredAccessoryBrowserDelegate)?, queue: DispatchQueue?) {
    listener = delegate
    self.queue = queue
    air = EAAccessoryManager.shared().realm.air
    super.init()
    air.add(self)
  }

  /// A browser without a delegate.
  public override convenience init() { self.init(delegate: nil, queue: nil) }

  /// The delegate. It is not retained.
  open var delegate: (any EAWiFiUnconfiguredAccessoryBrowserDelegate)? {
    get { lock.withLock { listener } }
    set { lock.withLock { listener = newValue } }
  }

  /// The accessories in range that pass the filter.
  open var unconfiguredAccessories: Set<EAWiFiUnconfiguredAccessory> { lock.withLock { found } }

  /// Starts the search. The predicate is evaluated with each `EAWiFiUnconfiguredAccessory`; nil accepts all.
  open func startSearchingForUnconfiguredAccessories(matching predicate: NSPredicate?) {
    lock.withLock {
      filter = { accessory in predicate.map { $0.evaluate(with: accessory) } ?? true }
      found = []
    }
    air.start()
  }

  /// Stops the search.
  open func stopSearchingForUnconfiguredAccessories() { air.stop() }

  /// Configures an accessory and calls the delegate with the result. Nothing is shown, so `viewController` can be any
  /// object.
  open func configureAccessory(
    _ accessory: EAWiFiUnconfiguredAccessory, withConfigurationUIOn viewController: AnyObject
  ) { air.configure(accessory) }

  // MARK: From the search

  func report(_ state: EAWiFiUnconfiguredAccessoryBrowserState) {
    if state != .searching { lock.withLock { filter = nil } }
    callDelegate { browser, delegate in delegate.accessoryBrowser(browser, didUpdate: state) }
  }

  func reportFinished(
    _ accessory: EAWiFiUnconfiguredAccessory, _ status: EAWiFiUnconfiguredAccessoryConfigurationStatus
  ) {
    callDelegate { browser, delegate in
      delegate.accessoryBrowser(browser, didFinishConfiguringAccessory: accessory, with: status)
    }
  }

  /// Compares what is in range with what was found before, and calls the delegate with the difference if this browser
  /// is searching.
  func see(_ all: Set<EAWiFiUnconfiguredAccessory>) {
    // The predicate is the app's code and may call this browser, so it is evaluated outside the lock.
    guard let filter = lock.withLock({ filter }) else { return }
    let now = all.filter(filter)
    let (new, gone) = lock.withLock {
      () -> (Set<EAWiFiUnconfiguredAccessory>, Set<EAWiFiUnconfiguredAccessory>) in
      if self.filter == nil { return ([], []) }
      defer { found = now }
      return (now.subtracting(found), found.subtracting(now))
    }
    if !new.isEmpty { callDelegate { $1.accessoryBrowser($0, didFindUnconfiguredAccessories: new) } }
    if !gone.isEmpty { callDelegate { $1.accessoryBrowser($0, didRemoveUnconfiguredAccessories: gone) } }
  }

  private func callDelegate(
    _ body: @escaping (EAWiFiUnconfiguredAccessoryBrowser, any EAWiFiUnconfiguredAccessoryBrowserDelegate) -> Void
  ) {
    let call = DelegateCall { [weak self] in
      guard let self, let delegate else { return }
      body(self, delegate)
    }
    if let queue { queue.async { call.run() } } else { air.main.add { call.run() } }
  }

  /// Runs once, on the browser's queue.
  private struct DelegateCall: @unchecked Sendable {
    let run: () -> Void
    init(_ run: @escaping () -> Void) { self.run = run }
  }
}

/// The delegate of a browser.
public protocol EAWiFiUnconfiguredAccessoryBrowserDelegate: NSObjectProtocol {
  /// The state of the search changed.
  func accessoryBrowser(
    _ browser: EAWiFiUnconfiguredAccessoryBrowser, didUpdate state: EAWiFiUnconfiguredAccessoryBrowserState)
  /// These accessories came into range since the last call.
  func accessoryBrowser(
    _ browser: EAWiFiUnconfiguredAccessoryBrowser,
    didFindUnconfiguredAccessories accessories: Set<EAWiFiUnconfiguredAccessory>)
  /// These accessories went out of range since the last call.
  func accessoryBrowser(
    _ browser: EAWiFiUnconfiguredAccessoryBrowser,
    didRemoveUnconfiguredAccessories accessories: Set<EAWiFiUnconfiguredAccessory>)
  /// A configuration ended.
  func accessoryBrowser(
    _ browser: EAWiFiUnconfiguredAccessoryBrowser,
    didFinishConfiguringAccessory accessory: EAWiFiUnconfiguredAccessory,
    with status: EAWiFiUnconfiguredAccessoryConfigurationStatus)
}
