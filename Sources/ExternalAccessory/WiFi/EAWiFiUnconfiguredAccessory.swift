import Foundation

/// What an accessory can do that waits to be configured.
public struct EAWiFiUnconfiguredAccessoryProperties: OptionSet, Sendable {
  /// The bits.
  public let rawValue: UInt

  /// Properties from their bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// AirPlay.
  public static var propertySupportsAirPlay: Self { Self(rawValue: 1 << 0) }
  /// AirPrint.
  public static var propertySupportsAirPrint: Self { Self(rawValue: 1 << 1) }
  /// HomeKit.
  public static var propertySupportsHomeKit: Self { Self(rawValue: 1 << 2) }
}

/// An accessory that waits to be configured for a wireless network.
open class EAWiFiUnconfiguredAccessory: NSObject, @unchecked Sendable {
  private let texts: (name: String, manufacturer: String, model: String, ssid: String, macAddress: String)
  private let bits: EAWiFiUnconfiguredAccessoryProperties

  /// Unconfigured accessories come from a browser alone: this traps.
  public override init() {
    fatalError("unconfigured accessories come from an EAWiFiUnconfiguredAccessoryBrowser")
  }

  /// One that a world made up.
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
  /// The name of the network that it opens for its configuration.
  open var ssid: String { texts.ssid }
  /// Its address.
  open var macAddress: String { texts.macAddress }
  /// What it can do.
  open var properties: EAWiFiUnconfiguredAccessoryProperties { bits }
}

/// What the search for unconfigured accessories is doing.
public enum EAWiFiUnconfiguredAccessoryBrowserState: Int, Sendable {
  /// Wi-Fi is off.
  case wiFiUnavailable = 0
  /// Nobody searches.
  case stopped = 1
  /// A search goes on.
  case searching = 2
  /// An accessory is being configured, and nobody searches.
  case configuring = 3
}

/// How a configuration ended.
public enum EAWiFiUnconfiguredAccessoryConfigurationStatus: Int, Sendable {
  /// The accessory is on the network.
  case success = 0
  /// The user stopped it.
  case userCancelledConfiguration = 1
  /// It did not work.
  case failed = 2
}
