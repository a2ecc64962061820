internal import AccessoryCore
import Foundation

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
