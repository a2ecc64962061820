import Foundation

/// Which accessories there are, and word of those that come and go.
///
/// ```swift
/// NotificationCenter.default.addObserver(forName: .EAAccessoryDidConnect, object: nil, queue: .main) { note in
///   guard let accessory = note.userInfo?[EAAccessoryKey] as? EAAccessory else { return }
///   print(accessory.protocolStrings)
/// }
/// EAAccessoryManager.shared().registerForLocalNotifications()
/// ```
open class EAAccessoryManager: NSObject, @unchecked Sendable {
  private static let one = EAAccessoryManager(isShared: true)
  private let lock = NSRecursiveLock()
  /// The realms of worlds, the current one last.
  private var worlds: [AccessoryRealm] = []
  private var bench: AccessoryRealm?

  /// There is one manager, ``shared()``: this traps, as Apple's raises an exception.
  public override init() {
    fatalError("EAAccessoryManagerInitException: use EAAccessoryManager.shared()")
  }

  private init(isShared: Bool) { super.init() }

  /// The manager of this process.
  open class func shared() -> EAAccessoryManager { one }

  /// Asks for notifications. Each call needs its ``unregisterForLocalNotifications()``; the count is the process's.
  open func registerForLocalNotifications() { realm.register() }

  /// Takes one ``registerForLocalNotifications()`` back.
  open func unregisterForLocalNotifications() { realm.unregister() }

  /// The accessories that are connected and the app's to see. Changes at any time.
  open var connectedAccessories: [EAAccessory] { realm.connectedAccessories }

  /// Has the user choose among the Bluetooth accessories in reach whose name the predicate accepts. The completion is
  /// called on the main thread when the picker is gone; nil when one was chosen and connected.
  open func showBluetoothAccessoryPicker(
    withNameFilter predicate: NSPredicate?, completion: EABluetoothAccessoryPickerCompletion? = nil
  ) { realm.showPicker(predicate, completion: completion) }

  /// The same, async.
  open func showBluetoothAccessoryPicker(withNameFilter predicate: NSPredicate?) async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      realm.showPicker(predicate) { error in
        if let error { continuation.resume(throwing: error) } else { continuation.resume() }
      }
    }
  }

  // MARK: Which realm

  /// What is shown now.
  var realm: AccessoryRealm {
    lock.withLock {
      if let world = worlds.last { return world }
      if let bench { return bench }
      let made = BenchRealm.make()
      bench = made
      return made
    }
  }

  /// Shows a world from now on, until ``remove(_:)``.
  package func install(_ realm: AccessoryRealm) { lock.withLock { worlds.append(realm) } }

  /// Shows a world no longer.
  package func remove(_ realm: AccessoryRealm) { lock.withLock { worlds.removeAll { $0 === realm } } }
}
