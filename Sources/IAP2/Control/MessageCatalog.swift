/// The names of everything that may appear in a control session.
///
/// A number that is not listed here is still carried, shown as hex and ignored.
public enum MessageCatalog {
  /// The description of one message.
  public struct Entry: Sendable {
    /// The message's number.
    public let id: MessageID
    /// The message's name; empty if it was seen but no source names it.
    public let name: String
    /// Which role sends the message, if known.
    public let sender: Link.Role?
    /// How many top-level parameters are known to exist.
    public let parameterCount: Int
    let parameterText: String

    init(_ id: UInt16, _ name: String, _ sender: Link.Role?, _ parameterCount: Int, _ parameters: String = "") {
      self.id = MessageID(rawValue: id)
      self.name = name
      self.sender = sender
      self.parameterCount = parameterCount
      parameterText = parameters
    }
  }

  /// How a parameter's value is encoded, in as much detail as is needed to display it.
  public enum ValueKind: String, Sendable {
    /// Text.
    case utf8
    /// A byte.
    case u8
    /// Two bytes.
    case u16
    /// Four bytes.
    case u32
    /// Eight bytes.
    case u64
    /// A byte that may be negative.
    case i8
    /// Two bytes that may be negative.
    case i16
    /// A number of unknown width.
    case number
    /// Packed two-byte numbers.
    case list
    /// Bytes.
    case blob
    /// Parameters.
    case group
    /// No value.
    case none
  }

  /// The description of one parameter.
  public struct ParameterEntry: Equatable, Sendable {
    /// The parameter's number.
    public let id: UInt16
    /// How the parameter's value is written.
    public let kind: ValueKind
    /// The parameter's name; may be empty.
    public let name: String
    /// The parameters of a group, as far as they are known.
    public let group: [ParameterEntry]
  }

  /// The description of a message, if there is one.
  public static func entry(_ id: MessageID) -> Entry? {
    byNumber[id.rawValue]
  }

  /// The message with this name, as in the catalogue.
  public static func named(_ name: String) -> Entry? {
    name.isEmpty ? nil : entries.first { $0.name == name }
  }

  /// All entries, by number.
  public static var all: [Entry] { entries }

  private static let byNumber: [UInt16: Entry] = Dictionary(
    entries.map { ($0.id.rawValue, $0) }, uniquingKeysWith: { first, _ in first })
}

extension MessageCatalog.Entry {
  /// The parameters that have names.
  public var parameters: [MessageCatalog.ParameterEntry] {
    var text = parameterText[...]
    return MessageCatalog.ParameterEntry.read(&text)
  }
}

extension MessageCatalog.ParameterEntry {
  /// Reads "0 u16 component; 1 group range {0 u16 from; 1 u16 to}; 2 none", up to the end or the brace that closes a
  /// group.
  fileprivate static func read(_ text: inout Substring) -> [Self] {
    var entries: [Self] = []
    while let end = text.firstIndex(where: { ";{}".contains($0) }) ?? (text.isEmpty ? nil : text.endIndex) {
      let words = text[..<end].split(separator: " ", maxSplits: 2)
      let mark = end < text.endIndex ? text[end] : ";"
      text = end < text.endIndex ? text[text.index(after: end)...] : ""
      let group = mark == "{" ? read(&text) : []
      if words.count >= 2, let id = UInt16(words[0]), let kind = MessageCatalog.ValueKind(rawValue: String(words[1])) {
        let name = words.count > 2 ? words[2].trimmingSuffix(of: " ") : ""
        entries.append(Self(id: id, kind: kind, name: name, group: group))
      }
      if mark == "}" { break }
    }
    return entries
  }
}

extension Substring {
  fileprivate func trimmingSuffix(of character: Character) -> String {
    var text = self
    while text.last == character { text.removeLast() }
    return String(text)
  }
}

/// The number of a control message. Any number can be carried; easim itself uses those with a name here.
///
/// ``MessageCatalog`` contains the names of all known messages.
public struct MessageID: RawRepresentable, Hashable, Sendable {
  /// The number on the wire.
  public var rawValue: UInt16

  /// The message with this number.
  public init(rawValue: UInt16) {
    self.rawValue = rawValue
  }

  private init(_ value: UInt16) { rawValue = value }

  /// From the device: requests the identification.
  public static let startIdentification = MessageID(0x1D00)
  /// From the accessory: its identification, see ``Identification``.
  public static let identificationInformation = MessageID(0x1D01)
  /// From the device: the identification is accepted.
  public static let identificationAccepted = MessageID(0x1D02)
  /// From the device: the identification is refused, with the offending parameters.
  public static let identificationRejected = MessageID(0x1D03)
  /// From the accessory: withdraws its identification.
  public static let cancelIdentification = MessageID(0x1D05)
  /// From the accessory: names and versions changed.
  public static let identificationInformationUpdate = MessageID(0x1D06)
  /// From the device: requests the certificate.
  public static let requestAuthenticationCertificate = MessageID(0xAA00)
  /// From the accessory: the certificate.
  public static let authenticationCertificate = MessageID(0xAA01)
  /// From the device: the challenge.
  public static let requestAuthenticationChallengeResponse = MessageID(0xAA02)
  /// From the accessory: the response to the challenge.
  public static let authenticationResponse = MessageID(0xAA03)
  /// From the device: the accessory is not authenticated.
  public static let authenticationFailed = MessageID(0xAA04)
  /// From the device: the accessory is authenticated.
  public static let authenticationSucceeded = MessageID(0xAA05)
  /// From the device: an app opened a session.
  public static let startExternalAccessorySession = MessageID(0xEA00)
  /// From the device: the session is closed.
  public static let stopExternalAccessorySession = MessageID(0xEA01)
  /// From the accessory: asks the device to launch an app.
  public static let requestAppLaunch = MessageID(0xEA02)
  /// From the accessory: a session is accepted, or should be closed.
  public static let externalAccessorySessionStatus = MessageID(0xEA03)
  /// From the accessory: subscribes to power updates.
  public static let startPowerUpdates = MessageID(0xAE00)
  /// From the device: a power update.
  public static let powerUpdate = MessageID(0xAE01)
  /// From the accessory: ends the subscription.
  public static let stopPowerUpdates = MessageID(0xAE02)
  /// From the accessory: what it can supply.
  public static let powerSourceUpdate = MessageID(0xAE03)
  /// From the accessory: subscribes to playback updates.
  public static let startNowPlayingUpdates = MessageID(0x5000)
  /// From the device: what is playing.
  public static let nowPlayingUpdate = MessageID(0x5001)
  /// From the device: its name.
  public static let deviceInformationUpdate = MessageID(0x4E09)
  /// From the device: its language.
  public static let deviceLanguageUpdate = MessageID(0x4E0A)
  /// From the device: its clock.
  public static let deviceTimeUpdate = MessageID(0x4E0B)
  /// From the device: its identifier.
  public static let deviceUUIDUpdate = MessageID(0x4E0C)
}

extension MessageID: CustomStringConvertible {
  /// "EA00 StartExternalAccessoryProtocolSession", or just the number if the message has no name.
  public var description: String {
    let number = Hex.number(rawValue)
    guard let name = MessageCatalog.entry(self)?.name, !name.isEmpty else { return number }
    return "\(number) \(name)"
  }
}
