// swift-format-ignore-file: AlwaysUseLowerCamelCase
import Foundation

extension NSNotification.Name {
  /// An accessory connected. An accessory without protocols is not ready yet, and connects again when it is.
  public static let EAAccessoryDidConnect = NSNotification.Name("EAAccessoryDidConnectNotification")
  /// An accessory disconnected.
  public static let EAAccessoryDidDisconnect = NSNotification.Name("EAAccessoryDidDisconnectNotification")
}

/// The user info key for the `EAAccessory` in both notifications.
public let EAAccessoryKey: String = "EAAccessoryKey"
/// The user info key for the `EAAccessory` in a connect notification, if the user chose the accessory in a picker.
public let EAAccessorySelectedKey: String = "EAAccessorySelectedKey"

extension EAAccessoryManager {
  /// `Foundation.NSNotification.Name.EAAccessoryDidConnect` as a typed message.
  public struct AccessoryDidConnectMessage: NotificationCenter.MainActorMessage {
    /// The type of the object that posts the notification.
    public typealias Subject = EAAccessoryManager
    /// The notification's name.
    public static var name: Notification.Name { .EAAccessoryDidConnect }
    /// The accessory.
    public var accessory: EAAccessory
    /// Whether the user chose the accessory in a picker.
    public var userSelected: Bool

    /// Creates a message.
    public init(accessory: EAAccessory, userSelected: Bool) {
      self.accessory = accessory
      self.userSelected = userSelected
    }

    /// Creates the message for a notification.
    @MainActor public static func makeMessage(_ notification: Notification) -> Self? {
      guard let accessory = notification.userInfo?[EAAccessoryKey] as? EAAccessory else { return nil }
      return Self(accessory: accessory, userSelected: notification.userInfo?[EAAccessorySelectedKey] != nil)
    }

    /// Creates the notification for a message.
    @MainActor public static func makeNotification(_ message: Self) -> Notification {
      var info: [AnyHashable: Any] = [EAAccessoryKey: message.accessory]
      if message.userSelected { info[EAAccessorySelectedKey] = message.accessory }
      return Notification(name: name, object: EAAccessoryManager.shared(), userInfo: info)
    }
  }

  /// `Foundation.NSNotification.Name.EAAccessoryDidDisconnect` as a typed message.
  public struct AccessoryDidDisconnectMessage: NotificationCenter.MainActorMessage {
    /// The type of the object that posts the notification.
    public typealias Subject = EAAccessoryManager
    /// The notification's name.
    public static var name: Notification.Name { .EAAccessoryDidDisconnect }
    /// The accessory.
    public var accessory: EAAccessory

    /// Creates a message.
    public init(accessory: EAAccessory) { self.accessory = accessory }

    /// Creates the message for a notification.
    @MainActor public static func makeMessage(_ notification: Notification) -> Self? {
      (notification.userInfo?[EAAccessoryKey] as? EAAccessory).map { Self(accessory: $0) }
    }

    /// Creates the notification for a message.
    @MainActor public static func makeNotification(_ message: Self) -> Notification {
      Notification(name: name, object: EAAccessoryManager.shared(), userInfo: [EAAccessoryKey: message.accessory])
    }
  }
}

extension NotificationCenter.MessageIdentifier
where Self == NotificationCenter.BaseMessageIdentifier<EAAccessoryManager.AccessoryDidConnectMessage> {
  /// An accessory connected.
  public static var accessoryDidConnect: Self { .init() }
}

extension NotificationCenter.MessageIdentifier
where Self == NotificationCenter.BaseMessageIdentifier<EAAccessoryManager.AccessoryDidDisconnectMessage> {
  /// An accessory disconnected.
  public static var accessoryDidDisconnect: Self { .init() }
}
