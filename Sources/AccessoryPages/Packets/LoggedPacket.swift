import AccessoryCore
import IAP2

/// A packet that was sent over a cable, or consecutive bytes that are not part of a packet.
package struct LoggedPacket: Equatable, Sendable {
  package enum Event: String, CaseIterable, Sendable {
    case packet
    case spoiled
    case detection
    case iap1
    case skipped
    case transfer
    /// A fault affected the packet.
    case fault
  }

  package var number = 0
  package var time = Instant.origin
  package var cable = 0
  /// The ID of the accessory or host that the cable belongs to.
  package var accessory = ""
  package var from = Cable.End.accessory
  package var event: Event
  /// The protocol of the native channel on which the packet was sent, or nil if the packet was not sent on a native
  /// channel.
  package var channel: String?
  package var header: PacketHeader?
  /// What kind of data the packet's link session carries, or nil if the log does not contain the link's SYN.
  package var kind: LinkSession.Kind?
  /// The fault that affected the packet, as written for `--fault`.
  package var fault: String?
  /// Whether an earlier packet had this sequence number.
  package var isRepeated = false
  package var bytes: [UInt8] = []
  var told = Told.text("")

  init(_ event: Event, header: PacketHeader? = nil) { (self.event, self.header) = (event, header) }

  enum Told: Equatable {
    case text(String)
    /// The text is created only when it is needed, because few packets are ever displayed. The narrator has already
    /// seen the link's SYN.
    case packet(PacketNarrator, PacketHeader)
  }
}

extension LoggedPacket {
  /// A description of the packet.
  package var text: String {
    switch told {
    case .text(let text): return text
    case .packet(var narrator, let header): return narrator.line(for: header, packet: bytes.span.bytes)
    }
  }

  /// The control messages in the packet.
  package var messages: [MessageID] {
    guard event == .packet, case .packet(let narrator, let header) = told else { return [] }
    return narrator.messages(in: header, packet: bytes.span.bytes).map(\.id)
  }

  /// The maximum number of characters or bytes of session data to show.
  private static let shownText = 200
  private static let shownBytes = 16

  /// The External Accessory session whose data the packet carries, or nil if the packet carries no such data.
  package var externalSession: Int? {
    guard let data = externalData else { return nil }
    return Int(bytes[data.lowerBound - 2]) << 8 | Int(bytes[data.lowerBound - 1])
  }

  /// The session data in readable form: text in quotation marks, or the first few bytes in hex.
  package var data: String? {
    guard let range = externalData ?? (event == .transfer ? bytes.indices : nil), !range.isEmpty else { return nil }
    let isText = bytes[range].allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 }
    if isText, let text = String(validating: bytes[range], as: UTF8.self) {
      return "\"\(text.prefix(Self.shownText))\"" + (text.count > Self.shownText ? " …" : "")
    }
    return Hex.spaced(bytes[range].prefix(Self.shownBytes)) + (range.count > Self.shownBytes ? " …" : "")
  }

  private var externalData: Range<Int>? {
    guard kind == .externalAccessory, event != .spoiled, let header, header.payloadCount >= 2,
      header.control.isDisjoint(with: [.syn, .eak]), bytes.count >= PacketHeader.size + 3
    else { return nil }
    return PacketHeader.size + 2..<bytes.count - 1
  }
}
