/// The number of a control message. Any number can be carried; easim uses those with a name here.
///
/// ``MessageCatalog`` has the names of all known messages.
public struct MessageID: RawRepresentable, Hashable, Sendable {
  /// The number on the wire.
  public var rawValue: UInt16

  /// The message with this number.
  public init(rawValue: UInt16) {
    self.rawValue = rawValue
  }

  private init(_ value: UInt16) { rawValue = value }

  /// D: asks for the identification.
  public static let startIdentification = MessageID(0x1D00)
  /// A: what the accessory is, see ``Identification``.
  public static let identificationInformation = MessageID(0x1D01)
  /// D: the identification is accepted.
  public static let identificationAccepted = MessageID(0x1D02)
  /// D: the identification is refused, naming parameters.
  public static let identificationRejected = MessageID(0x1D03)
  /// A: the accessory takes its identification back.
  public static let cancelIdentification = MessageID(0x1D05)
  /// A: names and versions changed.
  public static let identificationInformationUpdate = MessageID(0x1D06)
  /// D: asks for the certificate.
  public static let requestAuthenticationCertificate = MessageID(0xAA00)
  /// A: the certificate.
  public static let authenticationCertificate = MessageID(0xAA01)
  /// D: the challenge.
  public static let requestAuthenticationChallengeResponse = MessageID(0xAA02)
  /// A: the response to it.
  public static let authenticationResponse = MessageID(0xAA03)
  /// D: the accessory is not authenticated.
  public static let authenticationFailed = MessageID(0xAA04)
  /// D: the accessory is authenticated.
  public static let authenticationSucceeded = MessageID(0xAA05)
  /// D: an app opened a session.
  public static let startExternalAccessorySession = MessageID(0xEA00)
  /// D: the session is closed.
  public static let stopExternalAccessorySession = MessageID(0xEA01)
  /// A: asks for an app to be launched.
  public static let requestAppLaunch = MessageID(0xEA02)
  /// A: a session is in order, or to be closed.
  public static let externalAccessorySessionStatus = MessageID(0xEA03)
  /// A: subscribes to power news.
  public static let startPowerUpdates = MessageID(0xAE00)
  /// D: power news.
  public static let powerUpdate = MessageID(0xAE01)
  /// A: ends the subscription.
  public static let stopPowerUpdates = MessageID(0xAE02)
  /// A: what the accessory can supply.
  public static let powerSourceUpdate = MessageID(0xAE03)
  /// A: subscribes to what is playing.
  public static let startNowPlayingUpdates = MessageID(0x5000)
  /// D: what is playing.
  public static let nowPlayingUpdate = MessageID(0x5001)
  /// D: the device's name.
  public static let deviceInformationUpdate = MessageID(0x4E09)
  /// D: the device's language.
  public static let deviceLanguageUpdate = MessageID(0x4E0A)
  /// D: the device's clock.
  public static let deviceTimeUpdate = MessageID(0x4E0B)
  /// D: the device's identifier.
  public static let deviceUUIDUpdate = MessageID(0x4E0C)
}

extension MessageID: CustomStringConvertible {
  /// "EA00 StartExternalAccessoryProtocolSession", or the number alone.
  public var description: String {
    let number = Hex.number(rawValue)
    guard let name = MessageCatalog.entry(self)?.name, !name.isEmpty else { return number }
    return "\(number) \(name)"
  }
}
