internal import AccessoryCore
import Foundation

/// The connected accessories, and notifications when accessories connect and disconnect.
///
/// ```swift
/// NotificationCenter.default.addObserver(forName: .EAAccessoryDidConnect, object: nil, queue: .main) { note in
///   guard let accessory = note.userInfo?[EAAccessoryKey] as? EAAccessory else { return }
///   print(accessory.protocolStrings)
/// }
/// EAAccessoryManager.shared().registerForLocalNotifications()
/// ```
open class EAAccessoryManager: NSObject {
  /// It has a lock, also where the trait AppleSendability forbids to call it Sendable.
  private struct One: @unchecked Sendable { let manager = EAAccessoryManager(isShared: true) }
  private static let one = One()
  private let lock = Lock()
  /// The realms of worlds, the newest last.
  private var worlds: [AccessoryRealm] = []
  private var local: AccessoryRealm?

  /// Do not call. Stops the process, where Apple's framework raises an exception: use ``shared()``.
  public override init() {
    fatalError("EAAccessoryManagerInitException: use EAAccessoryManager.shared()")
  }

  private init(isShared: Bool) { super.init() }

  /// The only manager of the process.
  open class func shared() -> EAAccessoryManager { one.manager }

  /// Starts notifications. Balance each call with ``unregisterForLocalNotifications()``: the whole process shares one
  /// count.
  open func registerForLocalNotifications() { realm.register() }

  /// Undoes one ``registerForLocalNotifications()``.
  open func unregisterForLocalNotifications() { realm.unregister() }

  /// The connected accessories that the app may see. It can change at any time.
  open var connectedAccessories: [EAAccessory] { realm.connectedAccessories }

  /// Shows a picker of the Bluetooth accessories in range whose name the predicate accepts. Calls `completion` on the main
  /// thread when the picker is gone, with nil if an accessory was chosen and connected.
  open func showBluetoothAccessoryPicker(
    withNameFilter predicate: NSPredicate?, completion: EABluetoothAccessoryPickerCompletion? = nil
  ) { realm.showPicker(predicate, completion: completion) }

  /// Shows a picker of Bluetooth accessories, and throws if no accessory was chosen and connected.
  open func showBluetoothAccessoryPicker(withNameFilter predicate: NSPredicate?) async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      realm.showPicker(predicate) { error in
        if let error { continuation.resume(throwing: error) } else { continuation.resume() }
      }
    }
  }

  /// The app is about to wait for its own queue. Only tests notice: see ExternalAccessorySimulation.
  package func noteSyncOnMain() {
    if let world = lock.withLock({ worlds.last }) { world.note(.syncOnMain(CallTrace())) }
  }

  // MARK: Realms

  /// The realm that the manager shows now.
  var realm: AccessoryRealm {
    lock.withLock {
      if let world = worlds.last { return world }
      if let local { return local }
      let made = LocalRealm.make()
      local = made
      return made
    }
  }

  /// Shows the realm of a world until ``remove(_:)``.
  package func install(_ realm: AccessoryRealm) { lock.withLock { worlds.append(realm) } }

  /// Shows again what it showed before the world.
  package func remove(_ realm: AccessoryRealm) { lock.withLock { worlds.removeAll { $0 === realm } } }
}
