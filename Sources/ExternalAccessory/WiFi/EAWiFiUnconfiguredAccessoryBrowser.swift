internal import AccessoryCore
import Foundation

/// The features that an unconfigured accessory supports.
public struct EAWiFiUnconfiguredAccessoryProperties: OptionSet, Sendable {
  /// The raw value.
  public let rawValue: UInt

  /// Creates properties from a raw value.
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

  /// Do not call this initializer: it stops the process. Get unconfigured accessories from a browser.
  public override init() {
    fatalError("use EAWiFiUnconfiguredAccessoryBrowser.unconfiguredAccessories")
  }

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
  /// The name of the network that the accessory itself provides for its configuration.
  open var ssid: String { texts.ssid }
  /// The MAC address.
  open var macAddress: String { texts.macAddress }
  /// The features that the accessory supports.
  open var properties: EAWiFiUnconfiguredAccessoryProperties { bits }
}

/// The state of the search for unconfigured accessories.
public enum EAWiFiUnconfiguredAccessoryBrowserState: Int, Sendable {
  case wiFiUnavailable = 0
  case stopped = 1
  case searching = 2
  /// The browser is configuring an accessory, not searching.
  case configuring = 3
}

/// The result of a configuration.
public enum EAWiFiUnconfiguredAccessoryConfigurationStatus: Int, Sendable {
  case success = 0
  case userCancelledConfiguration = 1
  case failed = 2
}

/// Searches for accessories that are not configured for a wireless network yet, and configures them.
///
/// All browsers of a process share one search, but each has its own filter. Stopping the search or configuring an
/// accessory in one browser stops the search in all browsers.
open class EAWiFiUnconfiguredAccessoryBrowser: NSObject, @unchecked Sendable {
  private let lock = Lock()
  private weak var listener: (any EAWiFiUnconfiguredAccessoryBrowserDelegate)?
  private let queue: DispatchQueue?
  private let air: WiFiAir
  private var found: Set<EAWiFiUnconfiguredAccessory> = []
  /// The filter for accessories, or nil while this browser is not searching.
  private var filter: ((EAWiFiUnconfiguredAccessory) -> Bool)?

  /// Creates a browser that calls its delegate on `queue`, or on the main queue if `queue` is nil.
  public init(delegate: (any EAWiFiUnconfiguredAccessoryBrowserDelegate)?, queue: DispatchQueue?) {
    listener = delegate
    self.queue = queue
    air = EAAccessoryManager.shared().realm.air
    super.init()
    air.add(self)
  }

  /// Creates a browser without a delegate.
  public override convenience init() { self.init(delegate: nil, queue: nil) }

  /// The delegate, which is not retained.
  open var delegate: (any EAWiFiUnconfiguredAccessoryBrowserDelegate)? {
    get { lock.withLock { listener } }
    set { lock.withLock { listener = newValue } }
  }

  /// The accessories in range that match the filter.
  open var unconfiguredAccessories: Set<EAWiFiUnconfiguredAccessory> { lock.withLock { found } }

  /// Starts the search. The predicate is evaluated for each `EAWiFiUnconfiguredAccessory`. If the predicate is nil, all
  /// accessories match.
  open func startSearchingForUnconfiguredAccessories(matching predicate: NSPredicate?) {
    lock.withLock {
      filter = { accessory in predicate.map { $0.evaluate(with: accessory) } ?? true }
      found = []
    }
    air.start()
  }

  /// Stops the search.
  open func stopSearchingForUnconfiguredAccessories() { air.stop() }

  /// Configures an accessory and calls the delegate with the result. No user interface is shown, so `viewController`
  /// can be any object.
  open func configureAccessory(
    _ accessory: EAWiFiUnconfiguredAccessory, withConfigurationUIOn viewController: AnyObject
  ) { air.configure(accessory) }

  // MARK: Events from the search

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

  /// Compares the accessories in range with those found earlier. If this browser is searching, it tells the delegate
  /// which accessories have come into range or gone out of range.
  func see(_ all: Set<EAWiFiUnconfiguredAccessory>) {
    // The predicate is the app's code and may call this browser, so it is evaluated without holding the lock.
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
    nonisolated(unsafe) let call = { [weak self] in
      guard let self, let delegate else { return }
      body(self, delegate)
    }
    if let queue { queue.async { call() } } else { air.main.add(call) }
  }
}

/// The delegate of a browser.
public protocol EAWiFiUnconfiguredAccessoryBrowserDelegate: NSObjectProtocol {
  /// The state of the search changed.
  func accessoryBrowser(
    _ browser: EAWiFiUnconfiguredAccessoryBrowser, didUpdate state: EAWiFiUnconfiguredAccessoryBrowserState)
  /// These accessories have come into range since the last call.
  func accessoryBrowser(
    _ browser: EAWiFiUnconfiguredAccessoryBrowser,
    didFindUnconfiguredAccessories accessories: Set<EAWiFiUnconfiguredAccessory>)
  /// These accessories have gone out of range since the last call.
  func accessoryBrowser(
    _ browser: EAWiFiUnconfiguredAccessoryBrowser,
    didRemoveUnconfiguredAccessories accessories: Set<EAWiFiUnconfiguredAccessory>)
  /// A configuration ended.
  func accessoryBrowser(
    _ browser: EAWiFiUnconfiguredAccessoryBrowser,
    didFinishConfiguringAccessory accessory: EAWiFiUnconfiguredAccessory,
    with status: EAWiFiUnconfiguredAccessoryConfigurationStatus)
}

/// The search for unconfigured Wi-Fi accessories. All browsers of a realm share this search.
///
/// ```
///   stopped ◀──stop()── searching ◀──start()── any but unavailable
///      ▲                    │ configure(_:)
///      └──finish(_:)── configuring        Wi-Fi off: unavailable, from anywhere
/// ```
package final class WiFiAir: @unchecked Sendable {
  let main: MainDelivery
  private let stoppedFirst: Bool
  private let lock = Lock()
  private var state = EAWiFiUnconfiguredAccessoryBrowserState.stopped
  private var accessories: Set<EAWiFiUnconfiguredAccessory> = []
  private var browsers: [Weak<EAWiFiUnconfiguredAccessoryBrowser>] = []
  private var configuring: EAWiFiUnconfiguredAccessory?

  init(_ main: MainDelivery, stoppedFirst: Bool) {
    self.main = main
    self.stoppedFirst = stoppedFirst
  }

  func add(_ browser: EAWiFiUnconfiguredAccessoryBrowser) {
    // Browsers are released only after the lock has been unlocked, because a browser's deinit may call this object.
    let held = lock.withLock { () -> [EAWiFiUnconfiguredAccessoryBrowser] in
      let held = browsers.compactMap(\.object) + [browser]
      browsers = held.map { Weak($0) }
      return held
    }
    withExtendedLifetime(held) {}
  }

  private var listeners: [EAWiFiUnconfiguredAccessoryBrowser] { lock.withLock { browsers.compactMap(\.object) } }

  private func move(to next: EAWiFiUnconfiguredAccessoryBrowserState) {
    lock.withLock { state = next }
    for browser in listeners { browser.report(next) }
  }

  private func tell(_ accessory: EAWiFiUnconfiguredAccessory, _ status: EAWiFiUnconfiguredAccessoryConfigurationStatus)
  {
    for browser in listeners { browser.reportFinished(accessory, status) }
  }

  /// Ends the configuration in progress. Returns its accessory, or nil if there is none.
  private func endConfiguration() -> EAWiFiUnconfiguredAccessory? {
    lock.withLock {
      defer { configuring = nil }
      return configuring
    }
  }

  private func look() {
    let all = lock.withLock { state == .searching ? accessories : nil }
    if let all { for browser in listeners { browser.see(all) } }
  }

  // MARK: Calls from browsers

  func start() {
    guard currentState != .configuring else { return }
    guard currentState != .wiFiUnavailable else { return move(to: .wiFiUnavailable) }
    move(to: .searching)
    look()
  }

  func stop() {
    if currentState == .searching { move(to: .stopped) }
  }

  func configure(_ accessory: EAWiFiUnconfiguredAccessory) {
    guard currentState != .wiFiUnavailable else { return tell(accessory, .failed) }
    guard currentState != .configuring else {
      // The search configures only one accessory at a time. A second request for the same accessory gets the result of
      // the first request. A request for a different accessory fails.
      if underConfiguration !== accessory { tell(accessory, .failed) }
      return
    }
    lock.withLock { configuring = accessory }
    move(to: .configuring)
  }

  // MARK: Calls from a world

  package var currentState: EAWiFiUnconfiguredAccessoryBrowserState { lock.withLock { state } }

  package var underConfiguration: EAWiFiUnconfiguredAccessory? { lock.withLock { configuring } }

  package func appear(_ accessory: EAWiFiUnconfiguredAccessory) {
    lock.withLock { _ = accessories.insert(accessory) }
    look()
  }

  package func disappear(_ accessory: EAWiFiUnconfiguredAccessory) {
    lock.withLock { _ = accessories.remove(accessory) }
    look()
  }

  package func finish(_ status: EAWiFiUnconfiguredAccessoryConfigurationStatus) {
    guard let done = endConfiguration() else { return }
    if status == .success { lock.withLock { _ = accessories.remove(done) } }
    if stoppedFirst { move(to: .stopped) }
    tell(done, status)
    if !stoppedFirst { move(to: .stopped) }
  }

  /// Fails any configuration in progress and stops the search, because the world is ending.
  func end() {
    finish(.failed)
    stop()
  }

  /// Turns Wi-Fi on or off. If a configuration is in progress, turning Wi-Fi off makes it fail.
  package func turn(on isOn: Bool) {
    if isOn {
      if currentState == .wiFiUnavailable { move(to: .stopped) }
      return
    }
    if let lost = endConfiguration() { tell(lost, .failed) }
    move(to: .wiFiUnavailable)
  }
}
