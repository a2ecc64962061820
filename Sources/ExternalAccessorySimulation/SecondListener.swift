import AccessoryCore
import ExternalAccessory
import Foundation

/// Another SDK in the app's process, which shares `EAAccessoryManager.shared()` with the app. The SDK has its own
/// observers and can open sessions. The SDK's registrations and the app's registrations share one counter.
///
/// ```swift
/// let sdk = SecondListener(opening: "com.example.other")
/// sdk.register()
/// sdk.unregister(times: 2)          // once too often: no listener of the process gets notifications
/// #expect(app.connects == 0)
/// ```
///
/// The listener receives no notifications after ``stop()`` is called or after the listener has been released.
public final class SecondListener: @unchecked Sendable {
  /// One notification.
  public struct Notice: Equatable, Sendable {
    /// Whether the accessory connected, rather than disconnected.
    public let isConnect: Bool
    /// The accessory's name.
    public let name: String
    /// The accessory's connection ID.
    public let connectionID: Int
  }

  private let wanted: String?
  private let lock = Lock()
  private var tokens: [any NSObjectProtocol] = []
  private var list: [Notice] = []
  private var opened: [EASession] = []

  /// Creates a listener that is not registered yet. If a protocol is given, the listener opens a session whenever an
  /// accessory that offers this protocol connects.
  public init(opening wanted: String? = nil) {
    self.wanted = wanted
    for (name, isConnect) in [(Notification.Name.EAAccessoryDidConnect, true), (.EAAccessoryDidDisconnect, false)] {
      tokens.append(
        NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { [weak self] note in
          guard let accessory = note.userInfo?[EAAccessoryKey] as? EAAccessory else { return }
          self?.handle(isConnect, accessory)
        })
    }
  }

  deinit { stop() }

  /// The notifications that the listener received, in order.
  public var notices: [Notice] { lock.withLock { list } }
  /// The sessions that the listener opened.
  public var sessions: [EASession] { lock.withLock { opened } }

  /// Registers for notifications, and opens sessions with accessories that are already connected.
  public func register() {
    EAAccessoryManager.shared().registerForLocalNotifications()
    for accessory in EAAccessoryManager.shared().connectedAccessories { open(accessory) }
  }

  /// Unregisters `times` times.
  public func unregister(times: Int = 1) {
    for _ in 0..<times { EAAccessoryManager.shared().unregisterForLocalNotifications() }
  }

  /// Closes the listener's sessions and removes its observers. The registration remains.
  public func stop() {
    let (tokens, sessions) = lock.withLock {
      defer { (self.tokens, opened) = ([], []) }
      return (self.tokens, opened)
    }
    for token in tokens { NotificationCenter.default.removeObserver(token) }
    for session in sessions {
      session.inputStream?.close()
      session.outputStream?.close()
    }
  }

  private func handle(_ isConnect: Bool, _ accessory: EAAccessory) {
    let notice = Notice(isConnect: isConnect, name: accessory.name, connectionID: accessory.connectionID)
    lock.withLock { list.append(notice) }
    if isConnect { open(accessory) }
  }

  private func open(_ accessory: EAAccessory) {
    guard let wanted, accessory.protocolStrings.contains(wanted),
      let session = EASession(accessory: accessory, forProtocol: wanted)
    else { return }
    session.inputStream?.open()
    session.outputStream?.open()
    lock.withLock { opened.append(session) }
  }
}
