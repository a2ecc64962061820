internal import AccessoryCore
import Foundation

/// Provides the connected accessories, and posts notifications when accessories connect and disconnect.
///
/// ```swift
/// NotificationCenter.default.addObserver(forName: .EAAccessoryDidConnect, object: nil, queue: .main) { note in
///   guard let accessory = note.userInfo?[EAAccessoryKey] as? EAAccessory else { return }
///   print(accessory.protocolStrings)
/// }
/// EAAccessoryManager.shared().registerForLocalNotifications()
/// ```
open class EAAccessoryManager: NSObject {
  /// Holds the shared manager. The manager is safe to share between threads because it uses a lock, even if the trait
  /// AppleSendability makes its class non-Sendable.
  private struct One: @unchecked Sendable { let manager = EAAccessoryManager(isShared: true) }
  private static let one = One()
  private let lock = Lock()
  /// The realms of the current worlds, newest last.
  private var worlds: [AccessoryRealm] = []
  private var local: AccessoryRealm?

  /// Do not call this initializer: it stops the process, whereas Apple's framework raises an exception. Use
  /// ``shared()``.
  public override init() {
    fatalError("EAAccessoryManagerInitException: use EAAccessoryManager.shared()")
  }

  private init(isShared: Bool) { super.init() }

  /// Returns the process's only manager.
  open class func shared() -> EAAccessoryManager { one.manager }

  /// Starts notifications. Balance each call with a call to ``unregisterForLocalNotifications()``. The whole process
  /// shares one counter.
  open func registerForLocalNotifications() { realm.register() }

  /// Reverses one call to ``registerForLocalNotifications()``.
  open func unregisterForLocalNotifications() { realm.unregister() }

  /// The connected accessories that are visible to the app. The list can change at any time.
  open var connectedAccessories: [EAAccessory] { realm.connectedAccessories }

  /// Shows a picker for the Bluetooth accessories in range whose names match the predicate. Calls `completion` on the
  /// main thread after the picker has closed. The error is nil if an accessory was chosen and connected.
  open func showBluetoothAccessoryPicker(
    withNameFilter predicate: NSPredicate?, completion: EABluetoothAccessoryPickerCompletion? = nil
  ) { realm.showPicker(predicate, completion: completion) }

  /// Shows a picker for Bluetooth accessories. Throws if no accessory was chosen and connected.
  open func showBluetoothAccessoryPicker(withNameFilter predicate: NSPredicate?) async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      realm.showPicker(predicate) { error in
        if let error { continuation.resume(throwing: error) } else { continuation.resume() }
      }
    }
  }

  /// Records a misuse: the app is about to call `DispatchQueue.main.sync` on the main queue. Recorded misuses are
  /// visible only in tests; see ExternalAccessorySimulation.
  package func noteSyncOnMain() {
    if let world = lock.withLock({ worlds.last }) { world.note(.syncOnMain(CallTrace())) }
  }

  // MARK: Realms

  var realm: AccessoryRealm {
    lock.withLock {
      if let world = worlds.last { return world }
      if let local { return local }
      let made = LocalRealm.make()
      local = made
      return made
    }
  }

  /// Makes the manager show a world's realm until ``remove(_:)`` is called.
  package func install(_ realm: AccessoryRealm) { lock.withLock { worlds.append(realm) } }

  /// Reverses ``install(_:)`` for this realm.
  package func remove(_ realm: AccessoryRealm) { lock.withLock { worlds.removeAll { $0 === realm } } }
}
