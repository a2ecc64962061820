/// The SDP record of the service of an accessory or of an Apple device.
public struct ServiceRecord: Equatable, Sendable {
  /// Its UUID.
  public var service: String
  /// The RFCOMM channel that it listens on.
  public var channel: UInt8
  /// Its name.
  public var name: String

  /// A record.
  public init(service: String, channel: UInt8, name: String) {
    self.service = service
    self.channel = channel
    self.name = name
  }

  /// The options for BlueZ. Both are needed: without `Channel` BlueZ does not listen, and without the record it does not
  /// publish the serial port profile, which many hosts look for.
  var options: [String: BusValue] {
    [
      "Name": .string(name), "Role": .string("server"), "Channel": .uint16(UInt16(channel)),
      "ServiceRecord": .string(xml), "RequireAuthentication": .bool(true), "RequireAuthorization": .bool(false),
    ]
  }

  /// The record in BlueZ's XML: service class, protocols (L2CAP, RFCOMM on the channel), browse group 1002, languages,
  /// serial port profile 1101 in version 1.2, name.
  var xml: String {
    """
    <?xml version="1.0" encoding="UTF-8"?>
    <record>
      <attribute id="0x0001"><sequence><uuid value="\(service)"/></sequence></attribute>
      <attribute id="0x0004"><sequence>
        <sequence><uuid value="0x0100"/></sequence>
        <sequence><uuid value="0x0003"/><uint8 value="\(channel)"/></sequence>
      </sequence></attribute>
      <attribute id="0x0005"><sequence><uuid value="0x1002"/></sequence></attribute>
      <attribute id="0x0006"><sequence>
        <uint16 value="0x656e"/><uint16 value="0x006a"/><uint16 value="0x0100"/>
      </sequence></attribute>
      <attribute id="0x0009"><sequence>
        <sequence><uuid value="0x1101"/><uint16 value="0x0102"/></sequence>
      </sequence></attribute>
      <attribute id="0x0100"><text value="\(Self.escaped(name))"/></attribute>
    </record>
    """
  }

  private static func escaped(_ text: String) -> String {
    text.unicodeScalars.reduce(into: "") { escaped, scalar in
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      // XML has no control characters.
      case _ where scalar.value < 0x20: escaped += " "
      default: escaped.unicodeScalars.append(scalar)
      }
    }
  }
}
