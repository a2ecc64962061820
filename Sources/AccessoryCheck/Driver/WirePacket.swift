import AccessoryCore
import IAP2

package enum WireDirection: String, Sendable {
  case fromAccessory = "accessory"
  case fromDevice = "device"
}

/// A packet, a frame, or other consecutive bytes on the wire during an attachment.
struct WirePacket {
  enum Kind: Equatable {
    case packet(PacketHeader)
    case spoiled(PacketHeader)
    case detection
    /// An iAP1 frame other than the detection sequence.
    case legacy
    /// Bytes outside packets: `count` is the number of bytes, and `bytes` contains up to 16 of them.
    case garbage(count: Int)
    /// Bytes that the device intentionally sent outside a packet.
    case raw
  }

  let index: Int
  let time: Instant
  let direction: WireDirection
  let bytes: [UInt8]
  let kind: Kind
  var remark = ""

  var header: PacketHeader? { if case .packet(let header) = kind { header } else { nil } }

  var isFromAccessory: Bool { direction == .fromAccessory }

  /// The payload of a complete packet, or no bytes for anything else.
  var payload: ArraySlice<UInt8> {
    guard let header, header.payloadCount > 0 else { return [] }
    return bytes[PacketHeader.size..<PacketHeader.size + header.payloadCount]
  }

  /// Whether the packet has a payload and uses up a sequence number, unlike a SYN or an acknowledgement.
  var isData: Bool {
    guard let header else { return false }
    return header.payloadCount > 0 && header.control.isDisjoint(with: [.syn, .eak, .rst, .slp])
  }

  var text: String {
    let what =
      switch kind {
      case .packet(let header): Self.text(header, payload)
      case .spoiled(let header): Self.text(header, []) + ", wrong payload checksum"
      case .detection: "detection sequence"
      case .legacy: "frame of iAP1"
      case .garbage(let count): "\(count) bytes that are not a packet"
      case .raw: "\(bytes.count) bytes"
      }
    return remark.isEmpty ? what : "\(what) (\(remark))"
  }

  private static func text(_ header: PacketHeader, _ payload: ArraySlice<UInt8>) -> String {
    var text = "\(header.control) sequence \(Hex.number(header.sequence))"
    if header.control.contains(.ack) { text += " acknowledges \(Hex.number(header.acknowledgement))" }
    if header.payloadCount > 0 { text += ", session \(header.session), \(header.payloadCount) bytes" }
    if payload.count >= 6, payload.starts(with: [0x40, 0x40]) {
      let id = payload.startIndex + 4
      text += ": \(MessageID(rawValue: UInt16(payload[id]) << 8 | UInt16(payload[id + 1])))"
    }
    return text
  }
}

extension WirePacket {
  enum Part {
    static let length = 2..<4
    static let control = 4..<5
    static let sequence = 5..<6
    static let acknowledgement = 6..<7
    static let session = 7..<8
    static let headerSum = 8..<9
  }

  /// Returns this packet as proof, with its time relative to `start`.
  func proof(since start: Instant, marking marks: [Range<Int>] = [], _ remark: String = "") -> CheckProof {
    CheckProof(
      time: time - start, direction: direction, bytes: Array(bytes.prefix(Self.shownBytes)), length: wholeLength,
      text: remark.isEmpty ? text : "\(text): \(remark)",
      marks: marks.map { $0.clamped(to: 0..<min(bytes.count, Self.shownBytes)) }.filter { !$0.isEmpty })
  }

  private var wholeLength: Int { if case .garbage(let count) = kind { count } else { bytes.count } }
  private static let shownBytes = 256
}
