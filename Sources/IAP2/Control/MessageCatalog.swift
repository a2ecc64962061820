/// The names of all messages and parameters that may appear in a control session.
///
/// Messages that are not listed are still delivered and shown in hex, but otherwise ignored.
public enum MessageCatalog {
  /// Describes one message.
  public struct Entry: Sendable {
    /// The message's number.
    public let id: MessageID
    /// The message's name, or an empty string if no source names the message.
    public let name: String
    /// The role that sends the message, if known.
    public let sender: Link.Role?
    let parameterText: String

    init(_ id: UInt16, _ name: String, _ sender: Link.Role?, _ parameters: String = "") {
      self.id = MessageID(rawValue: id)
      self.name = name
      self.sender = sender
      parameterText = parameters
    }

    /// The message's named parameters.
    public var parameters: [ParameterEntry] {
      var text = parameterText[...]
      return ParameterEntry.read(&text)
    }
  }

  /// How a parameter's value is encoded, in just enough detail to display it.
  public enum ValueKind: String, Sendable {
    case utf8
    case u8
    case u16
    case u32
    case u64
    case i8
    case i16
    /// A number whose width is unknown.
    case number
    /// Packed two-byte numbers.
    case list
    case blob
    case group
    case none
  }

  /// Describes one parameter.
  public struct ParameterEntry: Equatable, Sendable {
    /// The parameter's number.
    public let id: UInt16
    /// How the parameter's value is encoded.
    public let kind: ValueKind
    /// The parameter's name, or an empty string if no source names the parameter.
    public let name: String
    /// The known parameters of a group.
    public let group: [ParameterEntry]

    /// Parses text such as "0 u16 component; 1 group range {0 u16 from; 1 u16 to}; 2 none", up to the end of the text or
    /// a closing brace.
    fileprivate static func read(_ text: inout Substring) -> [Self] {
      var entries: [Self] = []
      while let end = text.firstIndex(where: { ";{}".contains($0) }) ?? (text.isEmpty ? nil : text.endIndex) {
        let words = text[..<end].split(separator: " ")
        let mark = end < text.endIndex ? text[end] : ";"
        text = end < text.endIndex ? text[text.index(after: end)...] : ""
        let group = mark == "{" ? read(&text) : []
        if words.count >= 2, let id = UInt16(words[0]), let kind = ValueKind(rawValue: String(words[1])) {
          let name = words.dropFirst(2).joined(separator: " ")
          entries.append(Self(id: id, kind: kind, name: name, group: group))
        }
        if mark == "}" { break }
      }
      return entries
    }
  }

  /// Returns a message's entry, or nil if the message is not listed.
  public static func entry(_ id: MessageID) -> Entry? {
    byNumber[id.rawValue]
  }

  /// Returns the entry for the message with this name.
  public static func named(_ name: String) -> Entry? {
    name.isEmpty ? nil : all.first { $0.name == name }
  }

  private static let byNumber: [UInt16: Entry] = Dictionary(
    all.map { ($0.id.rawValue, $0) }, uniquingKeysWith: { first, _ in first })
}

/// A control message's number. easim interprets only the messages that have a constant here.
///
/// ``MessageCatalog`` contains the names of all known messages.
public struct MessageID: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  /// The number as sent on the wire.
  public var rawValue: UInt16

  /// Creates a message number.
  public init(rawValue: UInt16) {
    self.rawValue = rawValue
  }

  private init(_ value: UInt16) { rawValue = value }

  /// Sent by the device to request identification.
  public static let startIdentification = MessageID(0x1D00)
  /// Sent by the accessory to provide its ``Identification``.
  public static let identificationInformation = MessageID(0x1D01)
  /// Sent by the device to accept the identification.
  public static let identificationAccepted = MessageID(0x1D02)
  /// Sent by the device to reject the identification and to list the offending parameters.
  public static let identificationRejected = MessageID(0x1D03)
  /// Sent by the accessory to withdraw its identification.
  public static let cancelIdentification = MessageID(0x1D05)
  /// Sent by the accessory when its names or versions have changed.
  public static let identificationInformationUpdate = MessageID(0x1D06)
  /// Sent by the device to request the certificate.
  public static let requestAuthenticationCertificate = MessageID(0xAA00)
  /// Sent by the accessory to provide its certificate.
  public static let authenticationCertificate = MessageID(0xAA01)
  /// Sent by the device to challenge the accessory.
  public static let requestAuthenticationChallengeResponse = MessageID(0xAA02)
  /// Sent by the accessory to answer the challenge.
  public static let authenticationResponse = MessageID(0xAA03)
  /// Sent by the device if authentication failed.
  public static let authenticationFailed = MessageID(0xAA04)
  /// Sent by the device if authentication succeeded.
  public static let authenticationSucceeded = MessageID(0xAA05)
  /// Sent by the device when an app has opened a session.
  public static let startExternalAccessorySession = MessageID(0xEA00)
  /// Sent by the device when a session closes.
  public static let stopExternalAccessorySession = MessageID(0xEA01)
  /// Sent by the accessory to ask the device to launch an app.
  public static let requestAppLaunch = MessageID(0xEA02)
  /// Sent by the accessory to accept or close a session.
  public static let externalAccessorySessionStatus = MessageID(0xEA03)
  /// Sent by the accessory to subscribe to power updates.
  public static let startPowerUpdates = MessageID(0xAE00)
  /// Sent by the device to provide a power update.
  public static let powerUpdate = MessageID(0xAE01)
  /// Sent by the accessory to end its subscription to power updates.
  public static let stopPowerUpdates = MessageID(0xAE02)
  /// Sent by the accessory to subscribe to playback updates.
  public static let startNowPlayingUpdates = MessageID(0x5000)
  /// Sent by the device to report what is playing.
  public static let nowPlayingUpdate = MessageID(0x5001)
  /// Sent by the device to report its name.
  public static let deviceInformationUpdate = MessageID(0x4E09)
  /// Sent by the device to report its language.
  public static let deviceLanguageUpdate = MessageID(0x4E0A)
  /// Sent by the device to report its time.
  public static let deviceTimeUpdate = MessageID(0x4E0B)
  /// Sent by the device to report its identifier.
  public static let deviceUUIDUpdate = MessageID(0x4E0C)

  /// The number and name, such as "EA00 StartExternalAccessoryProtocolSession", or only the number if the message has
  /// no name.
  public var description: String {
    let number = Hex.number(rawValue)
    guard let name = MessageCatalog.entry(self)?.name, !name.isEmpty else { return number }
    return "\(number) \(name)"
  }
}
