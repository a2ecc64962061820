internal import AccessoryHost
internal import AccessoryProfiles
@_exported import Foundation

// swift-format-ignore: AlwaysUseLowerCamelCase
/// What `connectionID` is when there is no connection.
public var EAConnectionIDNone: Int { 0 }

/// One appearance of an accessory: from a connect to its disconnect. When the accessory comes back, it is a new object
/// with a new ``connectionID``.
///
/// The texts are for display. Whether an app can talk to the accessory is said by ``protocolStrings`` alone, which is
/// empty while the accessory is not authenticated yet.
open class EAAccessory: NSObject, @unchecked Sendable {
  /// What was published; nothing in it changes.
  let published: PublishedAccessory
  let realm: AccessoryRealm
  private let delegateLock = NSLock()
  private weak var delegateObject: (any EAAccessoryDelegate)?

  /// Accessories come from ``EAAccessoryManager`` alone: this traps, as Apple's raises an exception.
  public override init() {
    fatalError("EAAccessoryInitException: accessories come from EAAccessoryManager.shared().connectedAccessories")
  }

  init(_ published: PublishedAccessory, in realm: AccessoryRealm) {
    self.published = published
    self.realm = realm
    super.init()
  }

  /// Whether the accessory is connected still, and the app's to use.
  open var isConnected: Bool { realm.isConnected(published.connectionID) }
  /// The number of this appearance; it keeps it after the disconnect.
  open var connectionID: Int { published.connectionID }
  /// The manufacturer.
  open var manufacturer: String { published.manufacturer }
  /// The name.
  open var name: String { published.name }
  /// The model.
  open var modelNumber: String { published.modelNumber }
  /// The serial number.
  open var serialNumber: String { published.serialNumber }
  /// The firmware that runs.
  open var firmwareRevision: String { published.firmwareRevision }
  /// The hardware.
  open var hardwareRevision: String { published.hardwareRevision }
  /// Empty: no accessory of today has a dock.
  @available(iOS, introduced: 9.0, deprecated: 13.0, message: "Not supported")
  open var dockType: String { "" }
  /// The protocols that sessions can be opened for now.
  open var protocolStrings: [String] { published.protocols }

  /// Who hears of the disconnect. Not held.
  open var delegate: (any EAAccessoryDelegate)? {
    get { delegateLock.withLock { delegateObject } }
    set { delegateLock.withLock { delegateObject = newValue } }
  }

  /// The accessory as Apple's framework prints it.
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
    dump.generation =
      switch realm.settings.layout {
      case .a: .a
      case .b: .b
      case .c: .c
      }
    return dump.text
  }

  /// The same.
  open override var debugDescription: String { description }
}

/// What an accessory tells its delegate.
public protocol EAAccessoryDelegate: NSObjectProtocol {
  /// The accessory is gone. Told on the main thread, and without any registration for notifications.
  func accessoryDidDisconnect(_ accessory: EAAccessory)
}

extension EAAccessoryDelegate {
  /// Nothing: the method is optional.
  public func accessoryDidDisconnect(_ accessory: EAAccessory) {}
}
