import AccessoryCore
import AccessoryFormats
import IAP2

/// The fields of a packet and the positions of their bytes, for viewers that show the fields and the bytes side by side.
/// Each field is an object with the keys `name`, `value`, `offset` and `length`, and the nested `fields` if there are
/// any.
package enum PacketFields {
  private static func field(
    _ name: String, _ value: String, _ range: Range<Int>, _ fields: [JSON5Value] = []
  ) -> JSON5Value {
    .object(
      [
        .init("name", .text(name)), .init("value", .text(value)), .init("offset", .number(range.lowerBound)),
        .init("length", .number(range.count)),
      ] + (fields.isEmpty ? [] : [.init("fields", .array(fields))]))
  }

  /// Returns the fields of a packet, or an empty array if the bytes are not a packet.
  package static func of(_ packet: LoggedPacket) -> [JSON5Value] {
    guard let header = packet.header, packet.bytes.count >= PacketHeader.size else { return [] }
    let bytes = packet.bytes
    func number(_ name: String, _ at: Int) -> JSON5Value { field(name, "\(bytes[at])", at..<at + 1) }
    let link = field(
      "link header", "\(header.control)", 0..<PacketHeader.size,
      [
        field("start", "FF 5A", 0..<2),
        field("length", "\(header.length)", 2..<4),
        field("control", "\(header.control)", 4..<5),
        number("sequence number", 5), number("acknowledgement number", 6), number("session", 7),
        field("header checksum", sum(bytes[..<PacketHeader.size]), 8..<9),
      ])
    guard header.payloadCount > 0, bytes.count == Int(header.length) else { return [link] }
    let end = bytes.count - 1
    let payload = self.payload(of: packet, header, PacketHeader.size..<end)
    let sum = field("payload checksum", sum(bytes[PacketHeader.size...]), end..<end + 1)
    return [link] + payload + [sum]
  }

  /// Returns the checksum, and whether it is valid. If the checksum is valid, the sum of all bytes is 0.
  private static func sum(_ bytes: ArraySlice<UInt8>) -> String {
    Hex.plain(bytes.suffix(1)) + (bytes.reduce(0, &+) == 0 ? ", right" : ", wrong")
  }

  private static func payload(of packet: LoggedPacket, _ header: PacketHeader, _ range: Range<Int>) -> [JSON5Value] {
    let bytes = packet.bytes
    func number(_ name: String, _ at: Int) -> JSON5Value { field(name, "\(bytes[at])", at..<at + 1) }
    func word(_ name: String, _ at: Int, _ unit: String = "") -> JSON5Value {
      field(name, "\(Int(bytes[at]) << 8 | Int(bytes[at + 1]))\(unit)", at..<at + 2)
    }
    func count(_ range: Range<Int>) -> String { range.count.counted("byte") }
    let start = range.lowerBound
    if header.control.contains(.syn), range.count >= 10 {
      var fields = [
        number("version", start), number("maximum unacknowledged packets", start + 1),
        word("longest packet", start + 2, " bytes"), word("retransmission timeout", start + 4, " ms"),
        word("maximum acknowledgement delay", start + 6, " ms"), number("retransmissions, at most", start + 8),
        number("maximum packets per acknowledgement", start + 9),
      ]
      for at in stride(from: start + 10, to: range.upperBound - 2, by: 3) {
        let kind =
          switch bytes[at + 1] {
          case 0: "control"
          case 1: "file transfer"
          case 2: "External Accessory"
          default: "type \(bytes[at + 1])"
          }
        fields.append(
          field(
            "session \(bytes[at])", "\(kind), version \(bytes[at + 2])", at..<at + 3,
            [number("id", at), field("type", kind, at + 1..<at + 2), number("version", at + 2)]))
      }
      return [field("link parameters", count(range), range, fields)]
    }
    if header.control.contains(.eak) {
      return [
        field(
          "packets received out of order", bytes[range].map(String.init).joined(separator: " "), range,
          range.map { number("sequence number", $0) })
      ]
    }
    switch packet.kind {
    case .externalAccessory? where range.count >= 2:
      return [
        word("External Accessory session", start),
        field("data", count(start + 2..<range.upperBound), start + 2..<range.upperBound),
      ]
    case .fileTransfer? where range.count >= 2:
      return [
        number("transfer", start), field("step", Hex.plain(bytes[start + 1..<start + 2]), start + 1..<start + 2),
        field("data", count(start + 2..<range.upperBound), start + 2..<range.upperBound),
      ]
    case .control?: return messages(bytes, range)
    case nil where bytes[range].starts(with: [0x40, 0x40]): return messages(bytes, range)
    default: return [field("payload", count(range), range)]
    }
  }

  private static func messages(_ bytes: [UInt8], _ range: Range<Int>) -> [JSON5Value] {
    var fields: [JSON5Value] = []
    var at = range.lowerBound
    while range.upperBound - at >= ControlMessage.headerSize, bytes[at] == 0x40, bytes[at + 1] == 0x40 {
      let length = Int(bytes[at + 2]) << 8 | Int(bytes[at + 3])
      guard length >= ControlMessage.headerSize, at + length <= range.upperBound else { break }
      fields.append(message(bytes, at..<at + length))
      at += length
    }
    if at < range.upperBound {
      let rest = at..<range.upperBound
      fields.append(field("part of a message", rest.count.counted("byte"), rest))
    }
    return fields
  }

  private static func message(_ bytes: [UInt8], _ range: Range<Int>) -> JSON5Value {
    let start = range.lowerBound
    let body = start + ControlMessage.headerSize
    let id = MessageID(rawValue: UInt16(bytes[start + 4]) << 8 | UInt16(bytes[start + 5]))
    let message = ControlMessage(id, body: Array(bytes[body..<range.upperBound]))
    var fields = [
      field("start", "40 40", start..<start + 2),
      field("length", "\(range.count)", start + 2..<start + 4),
      field("message", "\(id)", start + 4..<body),
    ]
    do throws(ParameterError) {
      fields += parameters(try message.decoded(), try ParameterReader.read(message.body, base: body))
    } catch {
      fields.append(field("unreadable", "\(error)", body..<range.upperBound))
    }
    return field("\(id)", range.count.counted("byte"), range, fields)
  }

  /// Combines names and values from one list of parameters with positions from another list of the same parameters.
  private static func parameters(_ decoded: [DecodedParameter], _ placed: [Parameter]) -> [JSON5Value] {
    zip(decoded, placed).map { decoded, placed in
      let range = placed.offset..<placed.offset + 4 + placed.value.count
      let name = decoded.name.isEmpty ? "parameter \(decoded.id)" : "\(decoded.id) \(decoded.name)"
      switch decoded.value {
      case .group(let group):
        return field(name, "", range, parameters(group, (try? placed.group()) ?? []))
      case .text(let text): return field(name, text, range)
      case .number(let number): return field(name, "\(number)", range)
      case .signed(let number): return field(name, "\(number)", range)
      case .list(let list): return field(name, list.map { Hex.number($0) }.joined(separator: " "), range)
      case .present: return field(name, "yes", range)
      case .bytes(let bytes):
        let more = bytes.count > 16 ? " … (\(bytes.count.counted("byte")))" : ""
        return field(name, Hex.spaced(bytes.prefix(16)) + more, range)
      }
    }
  }
}
