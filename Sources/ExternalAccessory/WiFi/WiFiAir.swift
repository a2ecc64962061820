import Foundation

/// The one search for unconfigured accessories of a realm.
///
/// ```
///   stopped ◀──stop()── searching ◀──start()── any but unavailable
///      ▲                    │ configure(_:)
///      └──finish(_:)── configuring        Wi-Fi off: unavailable, from anywhere
/// ```
package final class WiFiAir: @unchecked Sendable {
  let main: MainDelivery
  private let stoppedFirst: Bool
  private let lock = NSLock()
  private var state = EAWiFiUnconfiguredAccessoryBrowserState.stopped
  private var accessories: Set<EAWiFiUnconfiguredAccessory> = []
  private var browsers: [Weak] = []
  private var configuring: EAWiFiUnconfiguredAccessory?

  private struct Weak { weak var browser: EAWiFiUnconfiguredAccessoryBrowser? }

  init(_ main: MainDelivery, stoppedFirst: Bool) {
    self.main = main
    self.stoppedFirst = stoppedFirst
  }

  func add(_ browser: EAWiFiUnconfiguredAccessoryBrowser) {
    // Held until after the lock: a browser that goes may come back here.
    let held = lock.withLock { () -> [EAWiFiUnconfiguredAccessoryBrowser] in
      let held = browsers.compactMap(\.browser) + [browser]
      browsers = held.map { Weak(browser: $0) }
      return held
    }
    withExtendedLifetime(held) {}
  }

  private var listeners: [EAWiFiUnconfiguredAccessoryBrowser] { lock.withLock { browsers.compactMap(\.browser) } }

  private func move(to next: EAWiFiUnconfiguredAccessoryBrowserState) {
    lock.withLock { state = next }
    for browser in listeners { browser.tell(next) }
  }

  private func look() {
    let all = lock.withLock { state == .searching ? accessories : nil }
    if let all { for browser in listeners { browser.see(all) } }
  }

  // MARK: From browsers

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
    guard currentState != .wiFiUnavailable else {
      for browser in listeners { browser.tellFinished(accessory, .failed) }
      return
    }
    guard currentState != .configuring else {
      // One at a time. Who asks again about this very one hears of its end; any other fails, or nobody would hear.
      if underConfiguration !== accessory { for browser in listeners { browser.tellFinished(accessory, .failed) } }
      return
    }
    lock.withLock { configuring = accessory }
    move(to: .configuring)
  }

  // MARK: From a world

  /// What the search is doing.
  package var currentState: EAWiFiUnconfiguredAccessoryBrowserState { lock.withLock { state } }

  /// What is being configured.
  package var underConfiguration: EAWiFiUnconfiguredAccessory? { lock.withLock { configuring } }

  /// An accessory waits to be configured.
  package func appear(_ accessory: EAWiFiUnconfiguredAccessory) {
    lock.withLock { _ = accessories.insert(accessory) }
    look()
  }

  /// It waits no longer.
  package func disappear(_ accessory: EAWiFiUnconfiguredAccessory) {
    lock.withLock { _ = accessories.remove(accessory) }
    look()
  }

  /// The configuration ends.
  package func finish(_ status: EAWiFiUnconfiguredAccessoryConfigurationStatus) {
    let done = lock.withLock { () -> EAWiFiUnconfiguredAccessory? in
      defer { configuring = nil }
      if status == .success, let configuring { accessories.remove(configuring) }
      return configuring
    }
    guard let done else { return }
    if stoppedFirst { move(to: .stopped) }
    for browser in listeners { browser.tellFinished(done, status) }
    if !stoppedFirst { move(to: .stopped) }
  }

  /// Nobody is there any more to end a configuration or a search.
  func end() {
    finish(.failed)
    stop()
  }

  /// Wi-Fi is switched on or off. What was being configured fails.
  package func turn(on isOn: Bool) {
    if isOn {
      if currentState == .wiFiUnavailable { move(to: .stopped) }
      return
    }
    let lost = lock.withLock { () -> EAWiFiUnconfiguredAccessory? in
      defer { configuring = nil }
      return configuring
    }
    if let lost { for browser in listeners { browser.tellFinished(lost, .failed) } }
    move(to: .wiFiUnavailable)
  }
}
