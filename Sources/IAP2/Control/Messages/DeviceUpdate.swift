/// Updates that a device sends to an accessory that lists the message as received (4E09 to 4E0C have no start
/// message).
public enum DeviceUpdate: Hashable, Sendable {
  /// 4E09: the device's name.
  case name(String)
  /// 4E0A: the language in use, such as "en".
  case language(String)
  /// 4E0B: seconds since 1970, minutes from UTC, minutes of daylight saving.
  case time(seconds: UInt64, zoneMinutes: Int16, daylightMinutes: Int8)
  /// 4E0C: the device's identifier.
  case uuid(String)

  /// The number of the message that carries it.
  public var messageID: MessageID {
    switch self {
    case .name: .deviceInformationUpdate
    case .language: .deviceLanguageUpdate
    case .time: .deviceTimeUpdate
    case .uuid: .deviceUUIDUpdate
    }
  }

  /// The message as the device sends it.
  public var message: ControlMessage {
    ControlMessage(messageID) { writer in
      switch self {
      case .name(let text), .language(let text), .uuid(let text): writer.text(0, text)
      case .time(let seconds, let zone, let daylight):
        writer.number(0, seconds)
        writer.number(1, zone)
        writer.number(2, daylight)
      }
    }
  }

  /// Reads one of the four messages; nil for any other.
  public init?(_ message: ControlMessage) throws(ParameterError) {
    switch message.id {
    case .deviceInformationUpdate: self = .name(try Self.text(of: message))
    case .deviceLanguageUpdate: self = .language(try Self.text(of: message))
    case .deviceUUIDUpdate: self = .uuid(try Self.text(of: message))
    case .deviceTimeUpdate:
      let parameters = try ParameterReader.read(message.body)
      self = .time(
        seconds: try parameters.only(0, "seconds").number(), zoneMinutes: try parameters.first(1)?.number() ?? 0,
        daylightMinutes: try parameters.first(2)?.number() ?? 0)
    default: return nil
    }
  }

  private static func text(of message: ControlMessage) throws(ParameterError) -> String {
    try ParameterReader.read(message.body).only(0, "text").text()
  }
}
