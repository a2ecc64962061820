// swift-format-ignore-file: AlwaysUseLowerCamelCase
internal import AccessoryCore
internal import AccessoryHost
internal import AccessoryProfiles
@_exported import Foundation

/// The connection ID that represents no connection.
public var EAConnectionIDNone: Int { 0 }

/// One connection of an accessory, from connect to disconnect. When an accessory reconnects, a new object with a new
/// ``connectionID`` represents it.
///
/// Use names and numbers for display only. To decide whether to open a session, check ``protocolStrings``, which is
/// empty until the accessory is authenticated.
open class EAAccessory: NSObject {
  /// The properties that the device published, which never change.
  let published: PublishedAccessory
  let realm: AccessoryRealm
  private let delegateLock = Lock()
  private weak var delegateObject: (any EAAccessoryDelegate)?

  /// Do not call this initializer: it stops the process, whereas Apple's framework raises an exception. Get accessories
  /// from ``EAAccessoryManager``.
  public override init() {
    fatalError("EAAccessoryInitException: accessories come from EAAccessoryManager.shared().connectedAccessories")
  }

  init(_ published: PublishedAccessory, in realm: AccessoryRealm) {
    self.published = published
    self.realm = realm
    super.init()
  }

  /// Whether the accessory is still connected and visible to the app.
  open var isConnected: Bool { realm.isConnected(published.connectionID) }
  /// The number of this connection, which stays the same after the accessory disconnects.
  open var connectionID: Int { published.connectionID }
  /// The manufacturer.
  open var manufacturer: String { published.manufacturer }
  /// The name.
  open var name: String { published.name }
  /// The model number.
  open var modelNumber: String { published.modelNumber }
  /// The serial number.
  open var serialNumber: String { published.serialNumber }
  /// The firmware revision.
  open var firmwareRevision: String { published.firmwareRevision }
  /// The hardware revision.
  open var hardwareRevision: String { published.hardwareRevision }
  /// Always empty.
  @available(iOS, introduced: 9.0, deprecated: 13.0, message: "Not supported")
  open var dockType: String { "" }
  /// The protocols for which the app can open sessions.
  open var protocolStrings: [String] { published.protocols }

  /// The delegate, which is notified when the accessory disconnects. The delegate is not retained.
  open var delegate: (any EAAccessoryDelegate)? {
    get { delegateLock.withLock { delegateObject } }
    set { delegateLock.withLock { delegateObject = newValue } }
  }

  /// A description of the accessory in the format of Apple's framework.
  open override var description: String {
    var identity = Profile.Identity(
      name: name, manufacturer: manufacturer, modelNumber: modelNumber, serialNumber: serialNumber,
      firmwareRevision: firmwareRevision, hardwareRevision: hardwareRevision)
    identity.productPlanUID = published.productPlanUID
    var dump = AccessoryDescription(identity: identity, protocols: protocolStrings)
    dump.address = UInt64(UInt(bitPattern: ObjectIdentifier(self)))
    dump.isConnected = isConnected
    dump.connectionID = UInt64(connectionID)
    dump.certSerial = published.certificateSerialCount
    dump.certData = published.certificateCount
    dump.delegate = delegate.map { "\($0)" }
    dump.generation = realm.settings.layout
    return dump.text
  }

  /// The same as `description`.
  open override var debugDescription: String { description }
}

/// The delegate of an accessory.
public protocol EAAccessoryDelegate: NSObjectProtocol {
  /// The accessory disconnected. Called on the main thread, even if the app has not registered for notifications.
  func accessoryDidDisconnect(_ accessory: EAAccessory)
}

extension EAAccessoryDelegate {
  /// The default implementation does nothing.
  public func accessoryDidDisconnect(_ accessory: EAAccessory) {}
}
